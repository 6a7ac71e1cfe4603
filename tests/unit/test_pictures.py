"""Pictures of the documents: drawing and recording say what the terminal showed."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import pyte
import pytest

from tests.pictures import drawing, recording
from tests.pictures.drawing import Frame
from tests.repo import tree

COLUMNS, ROWS = 40, 4
SVG = "{http://www.w3.org/2000/svg}"
SCREENS = (
    "three nodes",
    "three nodes\r\n\x1b[1;31mn2  is gone\x1b[0m  & <others>",
    "two nodes\r\n\x1b[7mn2\x1b[0m is back",
)
PICTURES = sorted((tree.ROOT / "docs" / "pictures").iterdir())
BYTES_MAX = {".svg": 60 << 10, ".cast": 300 << 10}
FILM_BYTES_MAX = 300 << 10


def shown(text: str, at: float = 0.0) -> Frame:
    """A terminal after these bytes."""
    screen = pyte.Screen(COLUMNS, ROWS)
    pyte.Stream(screen).feed(text)
    return drawing.frame(screen, at)


def frames() -> list[Frame]:
    return [shown(text, float(number)) for number, text in enumerate(SCREENS)]


def texts(svg: str) -> list[tuple[float, str]]:
    """Words and the columns that they begin in."""
    found = ET.fromstring(svg).iter(f"{SVG}text")
    return [(float(each.get("x", "0")) / drawing.CELL[0], each.text or "") for each in found]


def test_words_stand_in_the_columns_of_the_terminal() -> None:
    svg = drawing.picture(shown(SCREENS[1]).lines, columns=COLUMNS, title="t")
    assert (0, "three nodes") in texts(svg)
    assert {(0, "n2"), (4, "is gone"), (13, "& <others>")} <= set(texts(svg))
    assert 'font-weight="bold"' in svg
    assert drawing.PALETTE["red"] in svg


def test_a_film_draws_each_line_once_and_ends_with_the_last_screen() -> None:
    svg = drawing.film(frames(), columns=COLUMNS, title="t")
    assert [text for _, text in texts(svg)].count("three nodes") == 1
    steps = re.findall(r"([\d.]+)%\{transform:translateX\((-?\d+)px\)", svg)
    assert [int(place) for _, place in steps] == [0, -320, -640]
    assert [float(share) for share, _ in steps] == sorted(float(share) for share, _ in steps)
    assert ".f{transform:translateX(-640px)}" in svg


def replayed(lines: Sequence[str]) -> list[str]:
    """What stands on a terminal after each event of a recording."""
    screen, seen = pyte.Screen(COLUMNS, ROWS), []
    stream = pyte.Stream(screen)
    for line in lines:
        stream.feed(json.loads(line)[2])
        seen.append("\n".join(each.rstrip() for each in screen.display).rstrip())
    return seen


def test_a_recording_shows_the_same_screens() -> None:
    taken = recording.Take(tuple(frames()), COLUMNS, 0)
    head, *events = recording.cast(taken, "t").splitlines()
    assert json.loads(head) == {"version": 2, "width": COLUMNS, "height": ROWS, "title": "t"}
    assert [json.loads(each)[0] for each in events] == [0.0, 1.0, 2.0]
    assert replayed(events) == [drawing.plain(each.lines).rstrip() for each in frames()]


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.name)
def test_a_picture_is_small_and_on_a_page(picture: Path) -> None:
    limit = FILM_BYTES_MAX if picture.name == "demo.svg" else BYTES_MAX[picture.suffix]
    assert picture.stat().st_size < limit
    pages = (path.read_text("utf-8") for path in tree.files(".md"))
    assert any(f"pictures/{picture.name})" in page for page in pages)
