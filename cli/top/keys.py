"""Keys from a terminal: bytes become names, and the terminal is left as it was found."""

import os
import termios
import tty
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import trio

ESCAPE_S = 0.05
"""An escape without a following byte in this time is the Escape key itself."""
_READ_BYTES = 256
_ESC = 0x1B
_NAMED = {
    b"\r": "enter",
    b"\n": "enter",
    b"\x7f": "backspace",
    b"\x08": "backspace",
    b"\x03": "ctrl-c",
    b"\x1b[A": "up",
    b"\x1b[B": "down",
    b"\x1b[C": "right",
    b"\x1b[D": "left",
    b"\x1bOA": "up",
    b"\x1bOB": "down",
    b"\x1bOC": "right",
    b"\x1bOD": "left",
    b"\x1b[5~": "pageup",
    b"\x1b[6~": "pagedown",
    b"\x1b[H": "home",
    b"\x1b[F": "end",
    b"\x1bOH": "home",
    b"\x1bOF": "end",
    b"\x1b[1~": "home",
    b"\x1b[4~": "end",
}
_SEQUENCE_BYTES_MAX = 16


def decode(data: bytes, *, last: bool) -> tuple[list[str], bytes]:
    """The keys in what was read, and the beginning of one that is not whole yet.

    `last`: nothing follows, so an escape is the key itself. Unknown sequences are left out.
    """
    keys: list[str] = []
    while data:
        size = _size(data)
        if size is None:
            if not last and len(data) < _SEQUENCE_BYTES_MAX:
                return keys, data
            size = 1 if data[0] == _ESC else len(data)
        one, data = data[:size], data[size:]
        if one == b"\x1b":
            keys.append("escape")
        elif one in _NAMED:
            keys.append(_NAMED[one])
        else:
            text = one.decode("utf-8", "ignore")
            keys += [text] if text.isprintable() and len(text) == 1 else []
    return keys, b""


def _size(data: bytes) -> int | None:
    """How many bytes the first key has; None when it is not whole."""
    if data[0] == _ESC:
        return _escape_size(data)
    if data[0] < 0x80:  # noqa: PLR2004 - one byte of UTF-8
        return 1
    wanted = 2 if data[0] < 0xE0 else 3 if data[0] < 0xF0 else 4  # noqa: PLR2004 - UTF-8
    return wanted if len(data) >= wanted else None


def _escape_size(data: bytes) -> int | None:
    """CSI and SS3 sequences; an escape before anything else is a key of its own."""
    if len(data) == 1:
        return None
    if data[1:2] == b"O":
        return 3 if len(data) > 2 else None  # noqa: PLR2004 - ESC O letter
    if data[1:2] != b"[":
        return 1
    for at, byte in enumerate(data[2:], start=2):
        if 0x40 <= byte <= 0x7E:  # noqa: PLR2004 - what ends a CSI sequence
            return at + 1
    return None


@contextmanager
def cbreak(fd: int) -> Iterator[None]:
    """Key by key, without echo; Ctrl-C still interrupts."""
    before = termios.tcgetattr(fd)
    tty.setcbreak(fd)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


async def read(fd: int) -> AsyncIterator[str]:
    """Keys as they are pressed, until the terminal is gone."""
    rest = b""
    while True:
        with trio.move_on_after(ESCAPE_S if rest else float("inf")) as patience:
            await trio.lowlevel.wait_readable(fd)
        if patience.cancelled_caught:
            fresh = b""
        else:
            fresh = os.read(fd, _READ_BYTES)
            if not fresh:
                return
        keys, rest = decode(rest + fresh, last=patience.cancelled_caught)
        for key in keys:
            yield key
