"""Sources of a snapshot's chunks: a file of DIR/snap, or the rows."""

import os
from array import array
from pathlib import Path
from typing import Protocol

from election.messages import Index
from qsync.core.logstart import LogStart
from qsync.errors import Damaged, StoreError
from qsync.store import faults
from qsync.store.snapfiles import LENGTH_SIZE, frame_ends, snapshot_files
from qsync.store.snapshot import (
    RowsView,
    SnapshotHead,
    SnapshotName,
    check_seal,
    chunks,
    decode_head,
)


class SnapshotSource(Protocol):
    """A snapshot that can be read from any chunk on, in any thread, one call at a time."""

    text: bytes
    """The head, encoded."""
    head: SnapshotHead
    chunks: int
    """The number of chunks; 0 if it is not known."""
    snapshot_bytes: int
    """Size of all chunks; 0 if it is not known."""

    def read_chunk(self, number: int) -> bytes:
        """Return that chunk, counted from 1; an empty one behind the last.

        Raises Damaged, StoreError, and SnapshotLost when it can be read no more.
        """

    def bytes_of(self, count: int) -> int:
        """Size of the first `count` chunks."""

    def close(self) -> None:
        """Close it; nothing more is read."""


class FileSource:
    """See `SnapshotSource`. The file may be removed meanwhile."""

    def __init__(self, path: Path) -> None:
        """Raises Damaged, StoreError."""
        self.path = path
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise faults.typed(error, path) from error
        try:
            self._ends = array("Q", frame_ends(self._file))
            size = self._file.seek(0, os.SEEK_END)
            if not self._ends or self._ends[-1] != size:
                raise Damaged(f"{path} ends within a chunk, or its length is damaged")
            self.text = self._frame(0, self._ends[0])
            self.head = decode_head(self.text)
        except OSError as error:
            self.close()
            raise faults.unreadable(error, path) from error
        except StoreError:
            self.close()
            raise
        self.chunks = len(self._ends) - 1
        self.snapshot_bytes = self.bytes_of(self.chunks)

    def read_chunk(self, number: int) -> bytes:
        """Return that chunk, whose checksum is right."""
        if number > self.chunks:
            return b""
        try:
            chunk = self._frame(self._ends[number - 1], self._ends[number])
        except OSError as error:
            raise faults.unreadable(error, self.path) from error
        check_seal(chunk)
        return chunk

    def bytes_of(self, count: int) -> int:
        """Return the bytes up to a chunk, by where chunks end."""
        return int(self._ends[count] - self._ends[0]) - count * LENGTH_SIZE

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _frame(self, begin: int, end: int) -> bytes:
        self._file.seek(begin + LENGTH_SIZE)
        return self._file.read(end - begin - LENGTH_SIZE)


class ViewSource:
    """See `SnapshotSource`: of rows as they were when it was made. It keeps what is overwritten."""

    chunks = 0
    snapshot_bytes = 0

    def __init__(self, view: RowsView, start: LogStart) -> None:
        """`start`: where a log goes on behind the rows."""
        assert view.folded == start.index, (view.folded, start.index)
        self.head = SnapshotHead(start=start.alone(), sums=view.sums)
        self.text = self.head.encode()
        self._view = view
        self._chunks = chunks(view)
        self._next = 1
        self._sizes = [0]

    def read_chunk(self, number: int) -> bytes:
        """Return that chunk; for an earlier one the rows are read again."""
        if number != self._next:
            self._chunks = chunks(self._view, first=number)
        self._next = number + 1
        chunk = next(self._chunks, None)
        text = b"" if chunk is None else chunk.encode()
        if number == len(self._sizes):
            self._sizes.append(self._sizes[-1] + len(text))
        return text

    def bytes_of(self, count: int) -> int:
        """Return the bytes of the chunks that were read."""
        return self._sizes[min(count, len(self._sizes) - 1)]

    def close(self) -> None:
        """Let what was overwritten be used again."""
        self._view.close()


def find_file(
    folder: Path, *, least: Index, wanted: SnapshotName | None, damaged: dict[Path, str]
) -> FileSource | None:
    """The file of the snapshot that is wanted, else the newest that a log from `least` on follows.

    Those that are `damaged` are left out, and what is found to be is added, with the reason. Raises
    StoreError when the folder cannot be read.
    """
    found = [each for each in reversed(snapshot_files(folder)) if each.index >= least]
    found.sort(key=lambda each: wanted is None or each.index != wanted.index)
    for each in found:
        if each.path in damaged:
            continue
        try:
            return FileSource(each.path)
        except StoreError as error:
            damaged[each.path] = error.message
    return None
