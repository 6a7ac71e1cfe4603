"""Snapshots in files of DIR/snap: written whole or not at all, and read back a chunk at a time."""

import contextlib
import os
import struct
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from election.messages import Index
from qsync.core.logstart import LogStart
from qsync.errors import Damaged, StoreError
from qsync.store import faults
from qsync.store.beside import SlowCall
from qsync.store.contract import Spaces, Wait
from qsync.store.environment import sync_directory
from qsync.store.seals import Sums
from qsync.store.snapshot import (
    CHUNK_BYTES_MAX,
    HEAD_BYTES_MAX,
    RowsView,
    SnapshotHead,
    added_up,
    check_all,
    check_next,
    chunks,
    decode_chunk,
    decode_head,
)

SNAPSHOTS: Final = "snap"
"""The folder in a node's directory."""
SUFFIX: Final = ".snap"
UNREADY: Final = ".part"
_LENGTH = struct.Struct(">I")
LENGTH_SIZE: Final = _LENGTH.size
"""Before the head, and before each chunk."""
_DIGITS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFile:
    """One snapshot file, by its name alone: nothing was read."""

    path: Path
    index: Index

    @property
    def bytes_used(self) -> int:
        """The bytes that it takes of the disk. Raises StoreError."""
        try:
            return self.path.stat().st_size
        except OSError as error:
            raise faults.typed(error, self.path) from error


def write_snapshot(folder: Path, view: RowsView, start: LogStart) -> SnapshotFile:
    """Write all rows of a view; on the disk when this returns. `start`: where a log goes on.

    Raises StoreError, and then no file is there.
    """
    steps = writing_snapshot(folder, view, start)
    while True:
        try:
            wait = next(steps)
        except StopIteration as done:
            found: SnapshotFile = done.value
            return found
        wait()


def writing_snapshot(
    folder: Path, view: RowsView, start: LogStart
) -> Generator[Wait, None, SnapshotFile]:
    """Write a snapshot chunk by chunk, each to be waited for (see `Wait`); whole or not at all."""
    assert view.folded == start.index, (view.folded, start.index)
    path = snapshot_path(folder, start.index)
    unready = path.with_suffix(UNREADY)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with unready.open("wb") as file:
            write_frame(file, SnapshotHead(start=start.alone(), sums=view.sums).encode())
            chunk_file = _ChunkFile(file, view)
            while not chunk_file.is_whole:
                step = SlowCall(chunk_file.write_next)
                yield step.wait
                step.result()
        unready.rename(path)
        sync_directory(folder)
    except OSError as error:
        raise faults.typed(error, path) from error
    finally:
        # On a disk that takes no change it stays, and goes with the next one (`remove_old`).
        with contextlib.suppress(OSError):
            unready.unlink(missing_ok=True)
    return SnapshotFile(path=path, index=start.index)


class _ChunkFile:
    """A file that a view is written to, flushed with each chunk so that the disk keeps up."""

    def __init__(self, file: BinaryIO, view: RowsView) -> None:
        self.is_whole = False
        self._file = file
        self._chunks = chunks(view)

    def write_next(self) -> None:
        """Write one more chunk, until there is none."""
        chunk = next(self._chunks, None)
        if chunk is not None:
            write_frame(self._file, chunk.encode())
        self._file.flush()
        os.fsync(self._file.fileno())
        self.is_whole = chunk is None


def snapshot_path(folder: Path, index: Index) -> Path:
    """Return the path of the snapshot at that index."""
    return folder / f"{index:0{_DIGITS}}{SUFFIX}"


def snapshot_files(folder: Path) -> list[SnapshotFile]:
    """Return the snapshot files, oldest first. Raises StoreError."""
    try:
        found = [
            SnapshotFile(path=each, index=Index(int(each.stem)))
            for each in (folder.iterdir() if folder.is_dir() else ())
            if each.suffix == SUFFIX and each.stem.isdecimal()
        ]
    except OSError as error:
        raise faults.typed(error, folder) from error
    return sorted(found, key=lambda each: each.index)


def remove_old(folder: Path, *, keep: int) -> list[SnapshotFile]:
    """Remove all but the newest `keep`, and what was half written; the ones that went."""
    assert keep >= 1
    going = snapshot_files(folder)[:-keep]
    try:
        for each in going:
            each.path.unlink()
        for half in folder.glob(f"*{UNREADY}"):
            half.unlink()
        if folder.is_dir():
            sync_directory(folder)
    except OSError as error:
        raise faults.typed(error, folder) from error
    return going


def read_snapshot(path: Path) -> tuple[SnapshotHead, Iterator[bytes]]:
    """The head, and the chunks as they were encoded, unverified. Raises Damaged, StoreError."""
    frames = _frames(path)
    head = next(frames, None)
    if head is None:
        raise Damaged(f"{path} is empty")
    return decode_head(head), frames


def verify_snapshot(path: Path) -> SnapshotHead:
    """Read all of it. Raises Damaged when a byte is not as it was written, StoreError."""
    head, frames = read_snapshot(path)
    sums, taken = Sums(), 0
    for frame in frames:
        chunk = decode_chunk(frame)
        check_next(head, taken, chunk)
        sums, taken = added_up(sums, chunk.rows), chunk.number
    check_all(head, sums)
    return head


def restore_rows(spaces: Spaces, path: Path) -> SnapshotHead:
    """Replace the stored rows by those of a file. Raises Damaged, StoreError."""
    head, frames = read_snapshot(path)
    rows = spaces.importing(head)
    try:
        if not rows.finished:
            for number, frame in enumerate(frames, 1):
                if number > rows.taken:
                    rows.take_chunk(frame)
            rows.finish()
    finally:
        rows.close()
    spaces.install(rows)
    return head


def write_frame(file: BinaryIO, content: bytes) -> None:
    """With its length before it."""
    file.write(_LENGTH.pack(len(content)))
    file.write(content)


def frame_ends(file: BinaryIO) -> Iterator[int]:
    """Return the ends of the head and of each whole chunk. Raises OSError."""
    size, end = file.seek(0, os.SEEK_END), 0
    while size - end >= LENGTH_SIZE:
        file.seek(end)
        end += LENGTH_SIZE + int(_LENGTH.unpack(file.read(LENGTH_SIZE))[0])
        if end > size:
            return
        yield end


def _frames(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            most = HEAD_BYTES_MAX
            while length := file.read(_LENGTH.size):
                size = _LENGTH.unpack(length)[0] if len(length) == _LENGTH.size else most + 1
                content = file.read(size) if size <= most else b""
                if len(content) < size:
                    raise Damaged(f"{path} ends within a chunk, or its length is damaged")
                yield content
                most = CHUNK_BYTES_MAX
    except OSError as error:
        raise faults.unreadable(error, path) from error


def newest_whole(
    folder: Path, *, least: Index, most: Index
) -> tuple[SnapshotFile | None, list[str]]:
    """The newest file of `least..most` in which every byte holds; what is wrong with others."""
    wrong: list[str] = []
    for each in reversed(snapshot_files(folder)):
        if not least <= each.index <= most:
            continue
        try:
            verify_snapshot(each.path)
        except StoreError as error:
            wrong.append(error.message)
        else:
            return each, wrong
    return None, wrong
