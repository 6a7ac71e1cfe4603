"""The snapshots of a directory, as its node writes, counts and removes them."""

from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple, Protocol

from qsync.core.logstart import LogStart
from qsync.store import faults
from qsync.store.contract import Wait
from qsync.store.environment import sync_directory
from qsync.store.snapfiles import (
    SnapshotFile,
    read_snapshot,
    remove_old,
    snapshot_files,
    writing_snapshot,
)
from qsync.store.snapshot import RowsView, SnapshotHead


class StoredSnapshot(NamedTuple):
    """One snapshot by its head. `time`: when it was written, in seconds since 1970."""

    head: SnapshotHead
    bytes_used: int
    time: float


class SnapshotFolder(Protocol):
    """Each snapshot is there whole, or not at all. All may raise StoreError."""

    def settle(self) -> None:
        """Before any is counted: those that are there stay, whatever comes."""

    def files(self) -> list[SnapshotFile]:
        """Return the snapshot files, oldest first."""

    def look(self, file: SnapshotFile) -> StoredSnapshot:
        """Read its head. Raises Damaged."""

    def writing(self, view: RowsView, start: LogStart) -> Generator[Wait, None, SnapshotFile]:
        """Write one in steps (see `contract.Wait`); it is there, and stays, when they are over."""

    def remove_old(self, *, keep: int) -> list[SnapshotFile]:
        """Remove all but the newest `keep`; the ones that went."""


class DiskFolder:
    """See `SnapshotFolder`: files of DIR/snap."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def settle(self) -> None:
        """A file that had its name just before a kill may not have it after a power cut."""
        try:
            if self.path.is_dir():
                sync_directory(self.path)
        except OSError as error:
            raise faults.typed(error, self.path) from error

    def files(self) -> list[SnapshotFile]:
        """Return the snapshot files by their names alone."""
        return snapshot_files(self.path)

    def look(self, file: SnapshotFile) -> StoredSnapshot:
        """The head, and what the file system knows."""
        head, frames = read_snapshot(file.path)
        del frames
        try:
            stat = file.path.stat()
        except OSError as error:
            raise faults.typed(error, file.path) from error
        return StoredSnapshot(head, stat.st_size, stat.st_mtime)

    def writing(self, view: RowsView, start: LogStart) -> Generator[Wait, None, SnapshotFile]:
        """See `snapfiles.writing_snapshot`."""
        return writing_snapshot(self.path, view, start)

    def remove_old(self, *, keep: int) -> list[SnapshotFile]:
        """Remove old ones, and unfinished ones."""
        return remove_old(self.path, keep=keep)
