"""What differs from run to run on a screen, taken out of it, so that the rest can be compared."""

import re
from typing import Final

_SAME_WIDTH: Final = (
    (re.compile(r"\d\d:\d\d:\d\d"), "00:00:00"),
    (re.compile(r"127\.0\.0\.1:\d{5}\b"), "127.0.0.1:PORT_"),
    (re.compile(r"(?<=\{1:)\d{3}(?=\})"), "###"),
    (re.compile(r"(?<![\w.:])\d{3}(?![\w.:])"), "###"),
    # A vote: whoever hears of the leader first gives none.
    (re.compile(r"(?:\bn\d|(?<= \d )- )(?= +\{1:)"), "n_"),
    (re.compile(r"(?<=term[ =])\d\b|(?<=:)\d(?=>)"), "T"),
    (re.compile(r"( r[ow] +)\d\b"), r"\1T"),
    (re.compile(r"^( +)\d(?= n\d +00:)"), r"\1T"),
)
"""Times of day, ports, positions, votes (who joins after the first election has spent its own, on
itself), terms (a busy machine may need two): their place on the screen stays compared."""
_ANY_WIDTH: Final = re.compile(
    r"(?<![\w.])(\d+h\d\dm|\d+m\d\ds|\d+(?:\.\d)?(?:us|ms|s|m)|\d+(?:\.\d)?[BKMG])(?![\w/])"
)
"""Durations and sizes. In a node's row they stand at the right of their column; in other lines
where one stands the blanks are no longer counted."""
_ROW: Final = re.compile(r"[*!x> ]{2,4}n\d ")


def masked(screen: str) -> str:
    """The screen without what nobody can foresee, and without empty lines at its end."""
    return "\n".join(_line(each) for each in screen.rstrip("\n").split("\n")) + "\n"


def _line(line: str) -> str:
    for pattern, by in _SAME_WIDTH:
        line = pattern.sub(by, line)
    if _ROW.match(line):
        return _ANY_WIDTH.sub(lambda found: "~".rjust(len(found[0])), line).rstrip()
    found = _ANY_WIDTH.sub("~", line)
    return line.rstrip() if found == line else re.sub(r" {2,}", "  ", found).rstrip()
