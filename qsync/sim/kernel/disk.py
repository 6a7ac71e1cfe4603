"""A simulated machine's directory behind the store's interface: it stalls, fails and forgets."""

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from qsync.core.ready import Write
from qsync.errors import StoreError
from qsync.node.assembly import NodeStorage, together, trusted
from qsync.sim import disk as simulated
from qsync.sim.clockwork import VirtualClock
from qsync.sim.dice import RandomStream
from qsync.sim.swarm import DiskFlaws
from qsync.store.contract import FoldedRows, Identity, Opened
from qsync.store.memory import MemoryLog, MemorySpaces

if TYPE_CHECKING:
    from qsync.sim.kernel.process import KernelProcess

LONG_S: Final = 1.0
"""What a write in place takes at most: the run is not over before its process goes on."""
SHORT_S: Final = 0.0002
"""A write in place that takes longer lets the other machines go on."""


class KernelLog(MemoryLog):
    """See `contract.PlacedLog`. What a process writes goes through its disk."""

    before_commit: Callable[[], None] | None = None
    opened = Opened()
    """Nobody asks for its file."""

    def __init__(self, disk: "KernelDisk") -> None:
        super().__init__()
        self._disk = disk

    @override
    def write(self, write: Write) -> None:
        """One commit, with all that may happen to it."""
        self._disk.commit(write)

    def keep(self, write: Write) -> None:
        """What the disk has taken."""
        super().write(write)

    def gone(self) -> str | None:
        """It is where it was."""
        return None

    def bytes_used(self) -> int:
        """Nobody counts."""
        return 0


class KernelSpaces(MemorySpaces):
    """See `contract.PlacedSpaces`."""

    rebuilt: str | None = None

    def __init__(self, disk: "KernelDisk") -> None:
        super().__init__()
        self._disk = disk

    @override
    def fold(self, fold: FoldedRows) -> None:
        """Lazily durable: some time later, or never if the machine dies before."""
        super().fold(fold)
        self._disk.folded()

    def bytes_used(self) -> int:
        """Nobody counts."""
        return 0


class KernelDirectory:
    """See `contract.Place`."""

    path = Path("/nowhere")

    def __init__(self, identity: Identity) -> None:
        self.identity = identity

    def close(self) -> None:
        """Others may have it."""


class KernelStorage(NodeStorage):
    """What a simulated node has open. Nothing is written down beside the log."""

    @property
    @override
    def timeline(self) -> Path | None:
        """In memory only."""
        return None


class KernelDisk(simulated.SimulatedDisk):
    """It outlives processes. `pending`: what a thread is to write."""

    def __init__(self, clockwork: VirtualClock, dice: RandomStream, platter: DiskFlaws) -> None:
        super().__init__(clockwork, dice, platter)
        self.log = self._log = KernelLog(self)
        self.spaces = self._spaces = KernelSpaces(self)
        self.pending: list[Callable[[], bool]] = []
        self.process: KernelProcess | None = None
        self.looks_at_fold: Callable[[], None] = _nothing
        self._beside = False
        self._landing = False
        self._inline: Write | None = None

    @override
    def another(self) -> "KernelDisk":
        """An empty one of the same make."""
        twin = KernelDisk(self._clockwork, self._dice, self._platter)
        twin.seal, twin.looks_at_fold = self.seal, self.looks_at_fold
        return twin

    def open(self, process: "KernelProcess", identity: Identity) -> NodeStorage:
        """What a process finds when it starts."""
        self.process = process
        self.log.identity = identity
        self._spaces.rebuilt = None
        recovered, quarantined = trusted(self.log, self.log.recover())
        recovered = together(recovered, self.spaces)
        return KernelStorage(
            directory=KernelDirectory(identity),
            log=self._log,
            spaces=self._spaces,
            recovered=recovered,
            quarantined=quarantined,
            probe_s=self._platter.write_delay,
        )

    def delay(self) -> float:
        """How long the next write takes."""
        return self._dice.about(self._platter.write_delay) * self.slowness

    def in_thread(self, work: Callable[[], bool]) -> None:
        """Do it: its time has passed already."""
        self._beside = True
        try:
            work()
        finally:
            self._beside = False

    def commit(self, write: Write) -> None:
        """All of it or nothing. Raises StoreError."""
        if self._landing:
            self._land(write)
            return
        process = self.process
        assert process is not None
        if not self._beside:
            self._inline = write
            self._wait(process)
            self._inline = None
        self._clockwork.after(0.0, self.told)
        if self.broken or self._dice.chance(self._platter.failure):
            raise StoreError("input/output error")
        self._log.keep(self.seal(write))
        self.looks_on(write)
        if not self._beside:
            process.enter()  # it may die before it tells anybody

    def _wait(self, process: "KernelProcess") -> None:
        process.enter()
        delay = min(self.delay(), LONG_S)
        if delay > SHORT_S:
            process.pass_time(delay)
        else:
            process.at += delay

    @override
    def heal(self) -> None:
        """From now on it is a good disk; a write that hangs comes to its end."""
        super().heal()
        for work in self.pending:
            self._clockwork.after(self.delay(), self.finish, work)

    def finish(self, work: Callable[[], bool]) -> None:
        """A thread's write has come to its end, unless it had before, or its process is gone."""
        if work in self.pending:
            self.pending.remove(work)
            self.in_thread(work)

    def _land(self, write: Write) -> None:
        """A crash found it under way: it is there, or not, or a torn piece of it."""
        self.log.begin_write(self.seal(write))
        super().crash(power=False)

    @override
    def crash(self, *, power: bool) -> None:
        """The process is gone, with `power` the machine."""
        pending, self.pending = self.pending, []
        inline, self._inline = self._inline, None
        if inline is not None:
            self._land(inline)
        self._landing = True
        try:
            for work in pending:
                work()
        finally:
            self._landing = False
        if power:
            self.spaces.crash(system=True)

    def folded(self) -> None:
        """Rows went to the disk."""
        if self._dice.chance(0.1):
            self.spaces.sync()
        self.looks_at_fold()


def instance(dice: RandomStream) -> str:
    """A directory's own number."""
    return str(uuid.UUID(int=dice.getrandbits(128)))


def _nothing() -> None:
    """Nobody looks on."""
