"""Something that comes between two lines of the client, as a signal does."""

import contextlib
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

CLIENT: Final = "/qsync/client/"
TURN: Final = "_turn"
"""Where it says that a call is under way, Python looks for no signal between two lines."""


def at_line(place: int, call: Callable[[], object], act: Callable[[], object]) -> bool:
    """Act at the line of that number in the client; return whether the call has so many."""
    left = place

    def enter(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if CLIENT not in frame.f_code.co_filename or frame.f_code.co_name == TURN:
            return None
        left -= event == "line"
        if left == 0:
            sys.settrace(None)
            act()
        return enter

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            call()
    finally:
        sys.settrace(before)
    return left <= 0


def interrupt() -> None:
    """Press Ctrl-C."""
    raise KeyboardInterrupt
