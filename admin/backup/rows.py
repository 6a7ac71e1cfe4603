"""The rows of a backup as they come, byte by byte: chunks verified one by one, and all together."""

import struct
from collections.abc import Iterable, Iterator
from typing import Final

from admin.backup.failures import BackupDamaged
from qsync.errors import Damaged
from qsync.store.seals import Sums
from qsync.store.snapshot import (
    CHUNK_BYTES_MAX,
    HEAD_BYTES_MAX,
    SnapshotHead,
    added_up,
    check_all,
    check_next,
    decode_chunk,
    decode_head,
)

_LENGTH: Final = struct.Struct(">I")


class SnapshotFrames:
    """Cuts a snapshot file, which comes in pieces of any size, into its head and chunks."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._most = HEAD_BYTES_MAX

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield the head and the chunks that are complete now. Raises BackupDamaged."""
        self._rest += piece
        while len(self._rest) >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(self._rest)
            if size > self._most:
                raise BackupDamaged(f"a chunk of the rows says that it has {size} bytes")
            stop = _LENGTH.size + size
            if len(self._rest) < stop:
                return
            frame = bytes(self._rest[_LENGTH.size : stop])
            del self._rest[:stop]
            self._most = CHUNK_BYTES_MAX
            yield frame

    def finish(self) -> None:
        """End the file. Raises BackupDamaged if its last chunk is cut off."""
        if self._rest:
            raise BackupDamaged(f"the rows end within a chunk, {len(self._rest)} bytes into it")


def frames_of(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Head and chunks, unverified. Raises BackupDamaged when the end is cut off."""
    frames = SnapshotFrames()
    for piece in pieces:
        yield from frames.feed(piece)
    frames.finish()


class RowsCheck:
    """Reads all rows and keeps none: they must be those that the head tells of."""

    head: SnapshotHead
    """There once the first chunk is."""

    def __init__(self) -> None:
        self._frames = SnapshotFrames()
        self._is_begun = False
        self._taken = 0
        self._sums = Sums()

    def feed(self, piece: bytes) -> None:
        """Some more bytes. Raises BackupDamaged."""
        try:
            for frame in self._frames.feed(piece):
                if not self._is_begun:
                    self.head, self._is_begun = decode_head(frame), True
                    continue
                chunk = decode_chunk(frame)
                check_next(self.head, self._taken, chunk)
                self._sums, self._taken = added_up(self._sums, chunk.rows), chunk.number
        except Damaged as error:
            raise BackupDamaged(error.message) from error

    def finish(self) -> None:
        """All is here. Raises BackupDamaged unless it is whole."""
        self._frames.finish()
        if not self._is_begun:
            raise BackupDamaged("the rows have no head")
        try:
            check_all(self.head, self._sums)
        except Damaged as error:
            raise BackupDamaged(error.message) from error
