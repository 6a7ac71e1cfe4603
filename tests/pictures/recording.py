"""A command on a terminal, kept as it ran: the screens that it showed, and when."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tests.pictures import drawing
from tests.pictures.drawing import Frame, Line
from tests.terminal.screen import PATIENCE_S, Screen

CAST_VERSION: Final = 2
"""Of asciinema's file format."""


@dataclass(frozen=True, slots=True)
class Take:
    """What was seen, at most one frame each `every` seconds, and those after the last change."""

    frames: tuple[Frame, ...]
    columns: int
    exit_code: int | None


def take(shown: Screen, *, every: float, patience: float = PATIENCE_S) -> Take:
    """Watch a command to its end."""
    began = time.monotonic()
    frames: list[Frame] = []
    while shown.alive:
        now = time.monotonic() - began
        assert now < patience, f"it does not end:\n{shown.text}"
        shown.watch()
        if not frames or now - frames[-1].at >= every:
            _keep(frames, drawing.frame(shown.terminal, now))
    _keep(frames, drawing.frame(shown.terminal, time.monotonic() - began))
    return Take(tuple(frames), shown.terminal.columns, shown.end())


def _keep(frames: list[Frame], new: Frame) -> None:
    """Unless it shows nothing, or nothing new."""
    if any(new.lines) and (not frames or frames[-1].lines != new.lines):
        frames.append(new)


def cast(taken: Take, title: str) -> str:
    """The frames as an asciinema recording: each tells only the lines that are new."""
    rows = max(len(each.lines) for each in taken.frames)
    head = {"version": CAST_VERSION, "width": taken.columns, "height": rows, "title": title}
    first = taken.frames[0].at
    former: Sequence[Line] = ()
    events = []
    for each in taken.frames:
        events.append([round(each.at - first, 2), "o", "".join(_changes(former, each.lines))])
        former = each.lines
    return "\n".join(json.dumps(each) for each in (head, *events)) + "\n"


def _changes(former: Sequence[Line], lines: Sequence[Line]) -> Iterator[str]:
    if not former:
        yield "\x1b[2J"
    for row, line in enumerate(lines):
        if row >= len(former) or former[row] != line:
            yield f"\x1b[{row + 1};1H\x1b[2K"
            yield from _written(line)


def _written(line: Line) -> Iterator[str]:
    for span in line:
        marks = ["1"] if span.bold else []
        marks += [] if span.ink == drawing.INK else [f"38;2;{_rgb(span.ink)}"]
        marks += [] if span.paper is None else [f"48;2;{_rgb(span.paper)}"]
        look = f"\x1b[{';'.join(marks)}m" if marks else ""
        yield f"\x1b[{span.column + 1}G{look}{span.text}{look and chr(27) + '[0m'}"


def _rgb(colour: str) -> str:
    return ";".join(str(each) for each in bytes.fromhex(colour.removeprefix("#")))
