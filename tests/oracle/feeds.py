"""A feed of changes is ordered, gives everything once, and nothing that was rolled back."""

from collections.abc import Container, Iterable

from admin.checker.exhibit import EvidenceRow, exhibit
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import TXN, LogTable, RunTables, number
from admin.evidence.tables import Row
from tests.oracle.fates import replay

FEED = "feed-complete"
USER_SPACE_MIN = 512
"""What is written to lower ones a feed may leave out."""
Place = tuple[int, int]


def find(run: RunTables) -> RuleFinding:
    """Each answer goes on where the last one ended, with all that is in the log between, once."""
    found = RuleFinding(lacks="" if run.feeds else "no feed was read")
    if found.lacks:
        return found
    log, upto = _longest(run)
    if log is None:
        return RuleFinding(lacks="no complete log has a confirmed entry")
    gone = replay(log, upto).rolled_back_by
    given: dict[Place, int] = {
        (log.index[place], log.term[place]): place
        for place, kind in enumerate(log.kind)
        if kind == TXN and log.index[place] <= upto and log.index[place] not in gone
    }
    due = sorted(
        index for (index, _), at in given.items() if (log.space[at] or 0) >= USER_SPACE_MIN
    )
    last: dict[int, Row] = {}
    broken: set[int] = set()
    for row in sorted(run.feeds, key=lambda each: number(each, "number")):
        reader, after, end = (number(row, name) for name in ("reader", "after", "upto"))
        found.facts += 1
        before = last.get(reader)
        last[reader] = row
        rows = [exhibit("feeds", each) for each in (before, row) if each is not None]
        if before is not None and number(before, "upto") != after:
            why = f"was given up to {number(before, 'upto')}, and goes on after {after}"
            index = min(number(before, "upto"), after) + 1
            _broken(found, broken, index, f"reader {reader} of the feed {why}", rows)
        if end <= upto:
            index, why = wrong(row, given, [each for each in due if after < each <= end])
            if why:
                shown = [given[place] for place in given if place[0] == index]
                text = f"reader {reader} of the feed {why}"
                _broken(found, broken, index, text, rows + log.shows(*shown))
    return found


def wrong(row: Row, given: Container[Place], due: Iterable[int]) -> tuple[int, str]:
    """The first index at which an answer is not what the log has there, and how."""
    after, end = number(row, "after"), number(row, "upto")
    listed = row.get("places")
    places = [(int(one), int(two)) for one, two in listed] if isinstance(listed, list) else []
    for index, term in places:
        if not after < index <= end:
            return index, f"was given {index}, which is not between {after} and {end}"
        after = index
        if (index, term) not in given:
            return index, f"was given {index} of term {term}, which is no confirmed transaction"
    had = {index for index, _ in places}
    missed = next((each for each in due if each not in had), None)
    return (0, "") if missed is None else (missed, f"was not given {missed}")


def _broken(
    found: RuleFinding, broken: set[int], index: int, message: str, rows: list[EvidenceRow]
) -> None:
    """The first answer that is wrong about an entry stands for all that are."""
    if index not in broken:
        broken.add(index)
        found.broken(FEED, message, rows, index=index)


def _longest(run: RunTables) -> tuple[LogTable | None, int]:
    confirmed = run.confirmed
    reach = {
        whose: min(confirmed.get(whose, 0), log.last)
        for whose, log in run.logs.items()
        if log.first == 1
    }
    upto = max(reach.values(), default=0)
    whose = min((each for each in reach if reach[each] == upto and upto), default=(0, 0))
    return run.logs.get(whose), upto
