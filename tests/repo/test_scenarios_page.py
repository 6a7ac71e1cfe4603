"""The page of scenarios: every number once, and a transcript for all that is held or different."""

import re
from typing import NamedTuple

from tests.repo import tree

PAGE = tree.ROOT / "docs/reference/scenarios.md"
TRANSCRIPTS = tree.ROOT / "tests/scenarios"
HELD, DIFFERENT, NOT_APPLICABLE = "held", "different", "not applicable"
HEADER = re.compile(r"# (S\d{3}(?:, S\d{3})*): \S")
LINK = re.compile(r"\[[^\]]+\]\(\.\./\.\./tests/scenarios/(\w+)\.txt\)")


class Row(NamedTuple):
    """A line of a table. `why` is what its last cell says beside links."""

    number: str
    there: str
    here: str
    transcripts: set[str]
    why: str


def sections() -> dict[str, tuple[list[str], list[Row]]]:
    """By title: the numbers that the section says it has, and its rows."""
    found: dict[str, tuple[list[str], list[Row]]] = {}
    for part in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        title, _, text = part.partition("\n")
        listed = re.search(r"(?m)^Numbers: `([S\d ]+)`$", text)
        assert listed is not None, f"{title}: no line with its numbers"
        lines = re.findall(r"(?m)^\| (S\d+) \| (.+) \| (.+) \| (.*) \|$", text)
        found[title] = (listed[1].split(), [row(*line) for line in lines])
    return found


def row(number: str, there: str, here: str, last: str) -> Row:
    return Row(number, there, here, set(LINK.findall(last)), LINK.sub("", last).strip(" ,;"))


def rows() -> list[Row]:
    return [each for _, found in sections().values() for each in found]


def carried() -> dict[str, set[str]]:
    """The transcripts that carry each number in their header."""
    found: dict[str, set[str]] = {}
    for path in sorted(TRANSCRIPTS.glob("*.txt")):
        header = HEADER.match(path.read_text(encoding="utf-8"))
        for number in header[1].split(", ") if header else ():
            found.setdefault(number, set()).add(path.stem)
    return found


def test_every_listed_number_has_its_row_in_order() -> None:
    for title, (listed, found) in sections().items():
        assert [each.number for each in found] == listed, title
    numbers = [number for listed, _ in sections().values() for number in listed]
    assert numbers == sorted(set(numbers))


def test_every_row_says_what_becomes_of_it_and_why() -> None:
    for each in rows():
        assert each.here in {HELD, DIFFERENT, NOT_APPLICABLE}, each
        assert bool(each.transcripts) == (each.here != NOT_APPLICABLE), each
        assert each.here == HELD or each.why, f"{each.number}: why?"


def test_rows_and_headers_of_transcripts_name_each_other() -> None:
    headers = carried()
    for each in rows():
        assert each.transcripts == headers.get(each.number, set()), each.number


def test_no_transcript_carries_a_number_that_the_page_passes_over() -> None:
    listed = {each.number for each in rows()}
    missing = {number for number in carried() if number <= max(listed)} - listed
    assert not missing


def test_a_transcript_that_mentions_a_number_first_has_it_in_its_header() -> None:
    for path in sorted(TRANSCRIPTS.glob("*.txt")):
        first = path.read_text(encoding="utf-8").partition("\n")[0]
        if re.search(r"\bS\d{3}\b", first):
            assert HEADER.match(first), f"{tree.name(path)}: {first}"
