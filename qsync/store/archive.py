"""The archive: entries that were cut off the log, kept for people to look at."""

import struct
from collections.abc import Iterable
from pathlib import Path

from election.messages import Index, Term
from qsync.errors import Damaged
from qsync.store import faults
from qsync.store.contract import Tail
from qsync.store.environment import sync_directory, write_whole

# first, last, term of the cut, wall-clock seconds, length of the reason; reason and batch follow.
# Behind the reason, after a NUL, stands how many asynchronous transactions had been answered.
_HEAD = struct.Struct(">QQQdI")
KEY = struct.Struct(">Q")
SUFFIX = ".tail"


def pack(tail: Tail) -> bytes:
    """The stored form; the number is its key."""
    reason = f"{tail.reason}\0{tail.answered}".encode()
    head = _HEAD.pack(tail.first, tail.last, tail.term, tail.time, len(reason))
    return b"".join((head, reason, tail.raw))


def unpack(number: int, stored: bytes) -> Tail:
    """A tail from its stored form. Raises Damaged."""
    if len(stored) < _HEAD.size:
        raise Damaged(f"archived tail {number} is torn")
    first, last, term, time, length = _HEAD.unpack_from(stored)
    end = _HEAD.size + length
    text = stored[_HEAD.size : end].decode(errors="replace")
    reason, nul, answered = text.rpartition("\0")
    if not nul:
        reason, answered = text, ""
    return Tail(
        number=number,
        first=Index(first),
        last=Index(last),
        term=Term(term),
        time=time,
        reason=reason,
        raw=stored[end:],
        answered=int(answered) if answered.isdecimal() else 0,
    )


def export(tails: Iterable[Tail], into: Path) -> list[Path]:
    """Write each tail to `into/<number>-<first>-<last>-<term>.tail`; what is there stays."""
    written = []
    try:
        into.mkdir(parents=True, exist_ok=True)
        for tail in tails:
            path = into / f"{tail.number}-{tail.first}-{tail.last}-{tail.term}{SUFFIX}"
            if not path.exists():
                write_whole(path, pack(tail))
            written.append(path)
        sync_directory(into)
    except OSError as error:
        raise faults.typed(error, into) from error
    return written


def load_all(folder: Path) -> list[Tail]:
    """The exported tails of a folder, by number; none where there is no folder."""
    try:
        found = [each for each in folder.iterdir() if each.name.endswith(SUFFIX)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise faults.typed(error, folder) from error
    return sorted((load(each) for each in found), key=lambda tail: tail.number)


def load(path: Path) -> Tail:
    """An exported tail."""
    try:
        stored = path.read_bytes()
    except OSError as error:
        raise faults.typed(error, path) from error
    number = path.name.split("-", 1)[0]
    return unpack(int(number) if number.isdigit() else 0, stored)
