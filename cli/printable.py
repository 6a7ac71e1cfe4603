"""Texts of others on a terminal: whatever would steer it is shown as an escape."""

import re
from typing import Final

_STEERING: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Controls but tabs and ends of lines, and marks that reverse what stands behind them."""
_IN_LINE: Final = re.compile(r"[\t\n]")


def printable(text: str) -> str:
    r"""Return text with controls escaped as in JSON (ESC is `\u001b`): a terminal obeys none."""
    return _STEERING.sub(_escape, text)


def one_line(text: str) -> str:
    """Return printable text in one line."""
    return _IN_LINE.sub(_escape, printable(text))


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
