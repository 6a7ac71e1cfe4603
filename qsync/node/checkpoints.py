"""Which snapshots are on the disk, as the node knows without asking the disk each time."""

from dataclasses import dataclass
from pathlib import Path

from election.messages import Index
from qsync.errors import Damaged, StoreError
from qsync.node.timeline import Timeline
from qsync.store import faults
from qsync.store.snapfiles import SnapshotFile, read_snapshot, snapshot_files


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One file. `time`: when it was written, in seconds since 1970."""

    index: Index
    vclock: dict[int, int]
    bytes_used: int
    time: float


class Checkpoints:
    """`look` whenever a file came or went."""

    def __init__(self, folder: Path | None, *, timeline: Timeline) -> None:
        """`folder`: None where nothing is written beside the log."""
        self.stored: tuple[Checkpoint, ...] = ()
        """Those whose head can be read, oldest first."""
        self._folder = folder
        self._timeline = timeline
        self._unreadable: set[Path] = set()
        self.look()

    @property
    def newest(self) -> Checkpoint | None:
        """The last one that was written."""
        return self.stored[-1] if self.stored else None

    def look(self) -> None:
        """Read the heads of all files. One that cannot be read counts as none."""
        if self._folder is None:
            return
        known = {each.index: each for each in self.stored}
        found: list[Checkpoint] = []
        try:
            files = snapshot_files(self._folder)
        except StoreError as error:
            self._timeline.append("snapshot_unreadable", {"why": error.message})
            return
        for file in files:
            try:
                found.append(known.get(file.index) or _read(file))
            except StoreError as error:
                if file.path not in self._unreadable:
                    self._unreadable.add(file.path)
                    fields = {"file": file.path.name, "why": error.message}
                    self._timeline.append("snapshot_unreadable", fields)
        self.stored = tuple(found)


def _read(file: SnapshotFile) -> Checkpoint:
    head, frames = read_snapshot(file.path)
    del frames
    if head.start.index != file.index:
        raise Damaged(f"{file.path} holds the snapshot at {head.start.index}")
    try:
        stat = file.path.stat()
    except OSError as error:
        raise faults.typed(error, file.path) from error
    return Checkpoint(
        index=file.index,
        vclock={int(origin): int(lsn) for origin, lsn in head.start.vclock},
        bytes_used=stat.st_size,
        time=stat.st_mtime,
    )
