"""Snapshots on a simulated disk: names that were not flushed may be lost with the power."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from election.messages import Index
from qsync.core.logstart import LogStart
from qsync.errors import StoreError
from qsync.sim.dice import RandomStream
from qsync.sim.kernel.process import KernelProcess
from qsync.store import longkeys, seals
from qsync.store.contract import Wait
from qsync.store.snapfiles import SnapshotFile
from qsync.store.snapfolder import StoredSnapshot
from qsync.store.snapshot import RowsView, SnapshotHead, StoredRow, chunks

ROT: Final = 0.5
"""How often a power cut changes a byte of the newest snapshot, if another one is left."""


class SnapshotDisk(Protocol):
    """Its disk."""

    broken: bool
    process: KernelProcess | None
    """Who writes."""

    def check(self) -> None:
        """Raises StoreError when the next write fails."""


@dataclass(slots=True)
class KernelSnapshot:
    """One file. `whole`: every byte of it is correct."""

    head: SnapshotHead
    rows: list[StoredRow]
    time: float = 0.0
    whole: bool = True

    @property
    def index(self) -> Index:
        """The entry after which a log continues."""
        return self.head.start.index

    def contents(self) -> dict[bytes, bytes]:
        """Keys and values as they were folded."""
        return dict(longkeys.read((key, stored[: -seals.SEAL_SIZE])) for key, stored in self.rows)


class KernelSnapshots:
    """See `SnapshotFolder`. It outlives processes, and flushed data survives a power cut."""

    def __init__(self, disk: SnapshotDisk, dice: RandomStream) -> None:
        self.kept = False
        """Whether nodes write them by themselves; else each replaces the one before."""
        self.flushes = True
        """False in a mutant only."""
        self.looks_at_file: Callable[[KernelSnapshot], None] = _unseen
        self.written: list[Index] = []
        """All that became durable since `forget_written`, oldest first."""
        self.count = 0
        """All that ever became durable."""
        self._disk = disk
        self._dice = dice
        self._named: dict[Index, KernelSnapshot] = {}
        self._durable: dict[Index, KernelSnapshot] = {}

    # -- as a process sees it

    def settle(self) -> None:
        """Flush the names."""
        self._check()
        self._flush()

    def files(self) -> list[SnapshotFile]:
        """The snapshots with a name."""
        self._check()
        return [SnapshotFile(path=Path(f"{each}.snap"), index=each) for each in sorted(self._named)]

    def look(self, file: SnapshotFile) -> StoredSnapshot:
        """Its header is correct; the rest may not be."""
        found = self._named[file.index]
        size = sum(len(key) + len(stored) for key, stored in found.rows)
        return StoredSnapshot(found.head, size, found.time)

    def writing(self, view: RowsView, start: LogStart) -> Generator[Wait, None, SnapshotFile]:
        """As into a file: the chunks, each flushed; then the name; then a flush of the name."""
        assert view.folded == start.index, (view.folded, start.index)
        rows: list[StoredRow] = []
        for chunk in chunks(view):
            rows += chunk.rows
            yield self._write_next
        yield self._write_next
        made = KernelSnapshot(SnapshotHead(start=start, sums=view.sums), rows)
        self.looks_at_file(made)
        self._step()
        made.time = self._wall()
        self._named[start.index] = made
        self._step()
        self._flush()
        return SnapshotFile(path=Path(f"{start.index}.snap"), index=start.index)

    def remove_old(self, *, keep: int) -> list[SnapshotFile]:
        """Remove one name after another, then flush."""
        going = self.files()[:-keep]
        for each in going:
            self._step()
            del self._named[each.index]
        self._step()
        self._flush()
        return going

    # -- as the disk has it

    def put(self, head: SnapshotHead, rows: list[StoredRow], *, alone: bool) -> None:
        """Add a durable one at once. `alone`: remove the others."""
        if alone:
            self._named.clear()
        self._named[head.start.index] = KernelSnapshot(head, rows)
        self._flush()

    def durable(self) -> Mapping[Index, KernelSnapshot]:
        """The snapshots that survive a power cut for certain."""
        return self._durable

    def forget_written(self, below: Index) -> None:
        """No log continues after those any more."""
        self.written = [each for each in self.written if each >= below]

    @property
    def place(self) -> tuple[tuple[Index, ...], ...]:
        """The snapshots with a name, and those with a durable name."""
        return tuple(self._named), tuple(self._durable)

    def newest(self, *, least: Index, most: Index) -> KernelSnapshot | None:
        """The newest whole one of `least..most`."""
        found = [each for at, each in self._named.items() if least <= at <= most and each.whole]
        return max(found, key=lambda each: each.index, default=None)

    def crash(self, *, needed: Index) -> None:
        """A power cut. `needed`: one of the snapshots from there on stays whole."""
        dice, kept = self._dice, dict(self._durable)
        for at in sorted({*self._named, *self._durable}):
            if (at in self._named) != (at in self._durable) and dice.chance(0.5):
                if at in self._named:
                    kept[at] = self._named[at]
                else:
                    del kept[at]
        self._named = kept
        self._become_durable()
        usable = [each for at, each in sorted(kept.items()) if at >= needed and each.whole]
        if len(usable) > 1 and dice.chance(ROT):
            usable[-1].whole = False

    def _flush(self) -> None:
        if self.flushes:
            self._become_durable()

    def _become_durable(self) -> None:
        """All names stay from now on: they were flushed, or happened to survive a power cut."""
        fresh = sorted(self._named.keys() - self._durable.keys() - set(self.written))
        self.written += fresh
        self.count += len(fresh)
        self._durable = dict(self._named)

    def _write_next(self) -> int:
        self._disk.check()
        return 0

    def _step(self) -> None:
        """A call: it may be the last one of the process."""
        process = self._disk.process
        assert process is not None
        process.enter()
        self._check()

    def _check(self) -> None:
        if self._disk.broken:
            raise StoreError("input/output error")

    def _wall(self) -> float:
        process = self._disk.process
        assert process is not None
        return process.machine.clocks.wall(process.at)


def _unseen(_made: KernelSnapshot) -> None:
    """Nobody looks on."""
