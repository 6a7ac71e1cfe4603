"""A simulated machine's directory with the store's interface: it stalls, fails and loses data."""

import uuid
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from typing_extensions import override

from election.messages import Index
from qsync.core.logstart import LogStart
from qsync.core.ready import Write
from qsync.errors import StoreError
from qsync.node.assembly import NodeStorage, together, trusted
from qsync.sim.canon import PropertyViolation
from qsync.sim.clockwork import VirtualClock
from qsync.sim.dice import RandomStream
from qsync.sim.kernel.directory import KernelDirectory
from qsync.sim.kernel.process import KernelProcess
from qsync.sim.kernel.snapshots import KernelSnapshots
from qsync.sim.swarm import DiskFlaws
from qsync.store import chain
from qsync.store.contract import FoldedRows, Identity, Opened, Wait
from qsync.store.lives import Lives
from qsync.store.memory import MemoryLog, MemorySpaces
from qsync.store.snapfolder import SnapshotFolder
from qsync.store.snapshot import RowsImport, SnapshotHead, chunks

LONG_S: Final = 1.0
"""The maximum time of a blocking write: the run does not end before its process continues."""
SHORT_S: Final = 0.0002
"""During a longer blocking write the other machines continue."""


class KernelLog(MemoryLog):
    """See `contract.PlacedLog`. All writes of a process go through its disk."""

    before_commit: Callable[[], None] | None = None
    opened = Opened()
    """Its file is not used."""
    unreadable = False
    """The disk cannot be read at the moment."""

    def __init__(self, disk: "KernelDisk") -> None:
        super().__init__()
        self.looks_at_trim: Callable[[LogStart], None] = _unseen
        self.trims = 0
        """How often it was trimmed."""
        self.lives = Lives()
        """The snapshots that its directory knows."""
        self._disk = disk

    @override
    def write(self, write: Write) -> None:
        """One commit, with all its possible faults."""
        self._disk.commit(write)

    @override
    def _rows(self, first: Index) -> Generator[chain.Row, None, None]:
        if self.unreadable:
            raise StoreError("input/output error while the log was read")
        return super()._rows(first)

    def keep(self, write: Write) -> None:
        """The durable content of the disk."""
        super().write(write)

    @override
    def begin_at(self, start: LogStart) -> None:
        """Atomic and durable at once, like a rename."""
        if self._disk.broken:
            raise StoreError("input/output error")
        super().begin_at(start)
        self._disk.looks_on(start)

    @override
    def trim(self, start: LogStart) -> None:
        """Atomic and durable at once: files are tested on a real disk (tests/disk)."""
        if self._disk.broken and self._disk.snapshots.kept:
            raise StoreError("input/output error")  # else there is no process to notify
        if start.index > self.start.index:
            self.looks_at_trim(start)
            self.trims += 1
        super().trim(start)

    def gone(self) -> str | None:
        """It stays at its position."""
        return None

    def bytes_used(self) -> int:
        """Nobody counts."""
        return 0


SLICED: Final = 200
"""Rows: with smaller slices, folds take as long as on a disk."""


class KernelSpaces(MemorySpaces):
    """See `contract.PlacedSpaces`."""

    rebuilt: str | None = None

    def __init__(self, disk: "KernelDisk", snapshots: KernelSnapshots) -> None:
        super().__init__()
        self.snapshots = snapshots
        self.looks_at_fold: Callable[[], None] = _nothing
        self.looks_at_install: Callable[[], None] = _nothing
        self._disk = disk
        self.installed = 0
        """How many snapshots replaced rows."""

    @override
    def folding(self, fold: FoldedRows, rows_max: int) -> Generator[Wait | None, None, None]:
        """As on a disk: slices, then a commit, during which everything else continues."""
        for _ in range(0, len(fold.puts) + len(fold.deletes), max(1, rows_max)):
            yield None
        if rows_max < SLICED:
            yield _nothing_more
        self.fold(fold)

    @override
    def fold(self, fold: FoldedRows) -> None:
        """Durable after some time, or never if the machine dies before."""
        super().fold(fold)
        self._disk.folded()

    @override
    def install(self, rows: RowsImport) -> None:
        """The rows of a snapshot are installed, and as durable as its file."""
        super().install(rows)
        self.installed += 1
        self.keep_snapshot(rows.head.start)
        self.looks_at_install()

    def keep_snapshot(self, start: LogStart) -> None:
        """A snapshot of the folded rows: it survives a power cut, like a flushed file."""
        view = self.view()
        rows = [row for chunk in chunks(view) for row in chunk.rows]
        head = SnapshotHead(start=start, sums=view.sums)
        self.snapshots.put(head, rows, alone=not self.snapshots.kept)

    def restore(self, begins: Index) -> None:
        """Reset the rows to the newest snapshot after which the log continues."""
        found = self.snapshots.newest(least=begins, most=self._disk.log.last)
        if found is None:
            raise PropertyViolation(
                10, f"rows up to {begins} are lost, the log begins there, and no snapshot holds"
            )
        self.wipe()
        self.folded = self._synced = found.index
        self._rows.update(found.contents())

    def settle(self, begins: Index) -> None:
        """A start completes an interrupted import: see `qsync.store.importing.settle`."""
        coming = self._import
        if coming is not None and coming.finished and coming.head.start.index == begins:
            self.install(coming)
        elif coming is not None and coming.head.start.index <= begins:
            self._import = None
        if self.folded < begins:
            self.restore(begins)
        assert self.folded >= begins

    def bytes_used(self) -> int:
        """Nobody counts."""
        return 0


@dataclass(slots=True, kw_only=True)
class KernelStorage(NodeStorage):
    """The open stores of a simulated node. Besides the log only snapshots are stored."""

    folder: SnapshotFolder | None

    @property
    @override
    def timeline(self) -> Path | None:
        """In memory only."""
        return None

    @property
    @override
    def snapshots(self) -> Path | None:
        """Not in files."""
        return None

    @property
    @override
    def snapshot_folder(self) -> SnapshotFolder | None:
        """In some runs."""
        return self.folder

    @override
    def remake_rows(self) -> None:
        """The start of the log, or the snapshot after which it continues."""
        assert isinstance(self.spaces, KernelSpaces)
        self.spaces.wipe()
        self.spaces.settle(self.log.start.index)


class CommitUnderWay:
    """The current writes.

    `pending`: the job of the thread. `beside`: the thread works. `landing`: a crash decides what
    becomes durable. `inline`: the write that the process itself waits for.
    """

    __slots__ = ("beside", "inline", "landing", "pending")

    def __init__(self) -> None:
        self.pending: list[Callable[[], bool]] = []
        self.beside = False
        self.landing = False
        self.inline: Write | None = None


class KernelDisk:
    """It outlives processes. `looks_on` observes durable state, `told` is notified of every write.

    `seal`: the stored form of a write.
    """

    def __init__(self, clockwork: VirtualClock, dice: RandomStream, platter: DiskFlaws) -> None:
        self.log = KernelLog(self)
        self.spaces = KernelSpaces(self, KernelSnapshots(self, dice))
        self.broken = False
        self.slowness = 1.0
        self.looks_on: Callable[[Write | LogStart], None] = _unseen
        self.told: Callable[[], None] = _nothing
        self.seal: Callable[[Write], Write] = _as_it_is
        self._clockwork = clockwork
        self._dice = dice
        self._platter = platter
        self.under_way = CommitUnderWay()
        self.process: KernelProcess | None = None

    @property
    def snapshots(self) -> KernelSnapshots:
        """Besides its rows."""
        return self.spaces.snapshots

    def another(self) -> "KernelDisk":
        """An empty disk with the same parameters."""
        twin = KernelDisk(self._clockwork, self._dice, self._platter)
        twin.seal, twin.spaces.looks_at_fold = self.seal, self.spaces.looks_at_fold
        twin.spaces.looks_at_install = self.spaces.looks_at_install
        twin.log.looks_at_trim = self.log.looks_at_trim
        twin.snapshots.kept, twin.snapshots.looks_at_file = (
            self.snapshots.kept,
            self.snapshots.looks_at_file,
        )
        return twin

    def open(self, process: KernelProcess, identity: Identity) -> NodeStorage:
        """The state that a process finds when it starts."""
        self.process = process
        self.log.identity = identity
        self.spaces.rebuilt = None
        recovered, quarantined = trusted(self.log, self.log.recover())
        self.spaces.settle(recovered.start.index)
        recovered = together(recovered, self.spaces)
        return KernelStorage(
            directory=KernelDirectory(identity),
            log=self.log,
            spaces=self.spaces,
            lives=self.log.lives,
            recovered=recovered,
            quarantined=quarantined,
            probe_s=self._platter.write_delay,
            folder=self.snapshots if self.snapshots.kept else None,
        )

    def delay(self) -> float:
        """The duration of the next write."""
        return self._dice.about(self._platter.write_delay) * self.slowness

    def in_thread(self, work: Callable[[], bool]) -> None:
        """Complete the write: its time has already passed."""
        self.under_way.beside = True
        try:
            work()
        finally:
            self.under_way.beside = False

    def commit(self, write: Write) -> None:
        """Write atomically. Raises StoreError."""
        if self.under_way.landing:
            self._land(write)
            return
        process = self.process
        assert process is not None
        if not self.under_way.beside:
            self.under_way.inline = write
            self._wait(process)
            self.under_way.inline = None
        self._clockwork.after(0.0, self.told)
        self.check()
        sealed = self.seal(write)
        self.log.keep(sealed)
        self.looks_on(sealed)
        if not self.under_way.beside:
            process.enter()  # it may die before it notifies the node

    def check(self) -> None:
        """Raises StoreError if the next write fails."""
        if self.broken or self._dice.chance(self._platter.failure):
            raise StoreError("input/output error")

    def _wait(self, process: KernelProcess) -> None:
        process.enter()
        delay = min(self.delay(), LONG_S)
        if delay > SHORT_S:
            process.pass_time(delay)
        else:
            process.at += delay

    def heal(self) -> None:
        """Heal the disk; a hanging write completes."""
        self.broken, self.log.unreadable, self.slowness = False, False, 1.0
        self._platter = replace(self._platter, failure=0.0)
        self.told = _nothing
        for work in self.under_way.pending:
            self._clockwork.after(self.delay(), self.finish, work)

    def wear(self, platter: DiskFlaws) -> None:
        """Set the faults of the disk."""
        self._platter = platter

    def finish(self, work: Callable[[], bool]) -> None:
        """A thread's write completed, unless it had before, or its process died."""
        if work in self.under_way.pending:
            self.under_way.pending.remove(work)
            self.in_thread(work)

    def _land(self, write: Write) -> None:
        """A crash during the write: it is durable, or not, or torn."""
        sealed = self.seal(write)
        self.log.begin_write(sealed)
        dice, platter = self._dice, self._platter
        landed = not self.broken and dice.chance(platter.linger)
        torn = None
        # Only within the first entry: a partial commit has no complete entry.
        if sealed.entries and self.log.last and not landed:
            size = len(sealed.entries[0].raw)
            torn = dice.randrange(1, size) if dice.chance(platter.torn) else None
        self.log.crash(landed=landed, torn=torn)
        if landed:
            self.looks_on(sealed)

    def crash(self, *, power: bool) -> None:
        """The process died, with `power` the machine."""
        under_way = self.under_way
        pending, under_way.pending = under_way.pending, []
        inline, under_way.inline = under_way.inline, None
        if inline is not None:
            self._land(inline)
        self.under_way.landing = True
        try:
            for work in pending:
                work()
        finally:
            self.under_way.landing = False
        if power:
            self.spaces.crash(system=True)
            self.snapshots.crash(needed=self.log.start.index)

    def folded(self) -> None:
        """Rows went to the disk."""
        if self._dice.chance(0.1):
            self.spaces.sync()
        self.spaces.looks_at_fold()


def instance(dice: RandomStream) -> str:
    """The directory's own number."""
    return str(uuid.UUID(int=dice.getrandbits(128)))


def _nothing_more() -> int:
    return 0


def _nothing() -> None:
    """Nobody looks on."""


def _unseen(_what: Write | LogStart) -> None:
    """Nobody looks on."""


def _as_it_is(write: Write) -> Write:
    """A disk without a fault stores the whole write."""
    return write
