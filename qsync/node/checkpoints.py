"""The snapshots on disk, remembered so that the disk need not be asked each time."""

from dataclasses import dataclass
from pathlib import Path

from election.messages import Index
from qsync.errors import Damaged, StoreError
from qsync.node.timeline import Timeline
from qsync.store.snapfiles import SnapshotFile
from qsync.store.snapfolder import SnapshotFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One snapshot file. `time`: when it was written, in seconds since 1970."""

    index: Index
    vclock: dict[int, int]
    bytes_used: int
    time: float


class Checkpoints:
    """The list of snapshot files. Call `look` whenever a file came or went."""

    def __init__(self, folder: SnapshotFolder | None, *, timeline: Timeline) -> None:
        """`folder`: None where nothing is written beside the log."""
        self.stored: tuple[Checkpoint, ...] = ()
        """Those whose head can be read, oldest first."""
        self._folder = folder
        self._timeline = timeline
        self._unreadable: set[Path] = set()
        self.look()

    @property
    def newest(self) -> Checkpoint | None:
        """The newest snapshot file."""
        return self.stored[-1] if self.stored else None

    def look(self) -> None:
        """Read the heads of all files. A file that cannot be read does not count."""
        if self._folder is None:
            return
        known = {each.index: each for each in self.stored}
        found: list[Checkpoint] = []
        try:
            # Also one whose name a kill, or a failed flush, has left half-way: the log is trimmed
            # by what is here.
            self._folder.settle()
            files = self._folder.files()
        except StoreError as error:
            self._timeline.append("snapshot_unreadable", {"why": error.message})
            return
        for file in files:
            try:
                found.append(known.get(file.index) or _read(self._folder, file))
            except StoreError as error:
                if file.path not in self._unreadable:
                    self._unreadable.add(file.path)
                    fields = {"file": file.path.name, "why": error.message}
                    self._timeline.append("snapshot_unreadable", fields)
        self.stored = tuple(found)


def _read(folder: SnapshotFolder, file: SnapshotFile) -> Checkpoint:
    head, bytes_used, time = folder.look(file)
    if head.start.index != file.index:
        raise Damaged(f"{file.path} holds the snapshot at {head.start.index}")
    return Checkpoint(
        index=file.index,
        vclock={int(origin): int(lsn) for origin, lsn in head.start.vclock},
        bytes_used=bytes_used,
        time=time,
    )
