"""The beginning of a trimmed log: a small file beside the segments, replaced as a whole."""

import struct
from pathlib import Path
from typing import Final, NamedTuple

from qsync.checksum import crc32
from qsync.core.logstart import LogStart, decode
from qsync.errors import Damaged
from qsync.store import faults
from qsync.store.environment import sync_directory, write_whole

BEGINNING: Final = "begin"
"""On the disk before any segment goes: what is below it is not missing but trimmed."""
OLDER: Final = "older"
"""Beside it: the terms and rolled-back stretches of older entries, where they are known. A release
that knows nothing of that leaves it alone, and tells less of receipts; see `LogStart.told_by`."""
TAILS: Final = "tails"
"""The folder with the archived tails of segments that are gone."""
_MAGIC: Final = b"qsyncbgn"
_VERSION: Final = 1
# magic, version, log, the first valid segment, the archived tails before it, bytes of the
# start; the start and a CRC-32 of all that follow.
_HEAD = struct.Struct(">8sH16sQQI")
_CRC = struct.Struct(">I")


class LogBeginning(NamedTuple):
    """The log begins behind `start`, in segment `first`; `tails` were archived before that."""

    log: bytes
    first: int
    tails: int
    start: LogStart

    def pack(self) -> bytes:
        """Encode it as it is stored."""
        body = self.start.alone().encode()
        head = _HEAD.pack(_MAGIC, _VERSION, self.log, self.first, self.tails, len(body))
        return head + body + _CRC.pack(crc32(head + body))


def unpack_beginning(stored: bytes) -> LogBeginning | None:
    """Decode it; None when its checksum is wrong."""
    if len(stored) < _HEAD.size + _CRC.size:
        return None
    body, (checksum,) = stored[: -_CRC.size], _CRC.unpack_from(stored, len(stored) - _CRC.size)
    if crc32(body) != checksum:
        return None
    magic, version, log, first, tails, size = _HEAD.unpack_from(body)
    if magic != _MAGIC or version != _VERSION or len(body) != _HEAD.size + size:
        return None
    try:
        return LogBeginning(log, first, tails, decode(body[_HEAD.size :]))
    except Damaged:
        return None


def read_beginning(folder: Path) -> bytes | None:
    """The bytes of the file; None when the log was never trimmed. Raises StoreError."""
    return _read(folder / BEGINNING)


def with_older(beginning: LogBeginning, stored: bytes | None) -> LogBeginning:
    """With what the file beside it tells of older entries: nothing if it does not verify."""
    try:
        told = None if stored is None else decode(stored)
    except Damaged:
        told = None  # nothing is known of receipts that old
    return beginning if told is None else beginning._replace(start=beginning.start.told_by(told))


def read_older(folder: Path) -> bytes | None:
    """The bytes of the file beside it; None when there is none. Raises StoreError."""
    return _read(folder / OLDER)


def write_beginning(folder: Path, beginning: LogBeginning) -> None:
    """On the disk when this returns, the former one or this one at every moment."""
    if beginning.start.terms:
        # First: what it tells of all that is before a later entry holds of an earlier one, too.
        write_whole(folder / OLDER, beginning.start.encode())
        sync_directory(folder)
    write_whole(folder / BEGINNING, beginning.pack())
    sync_directory(folder)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise faults.unreadable(error, path) from error
