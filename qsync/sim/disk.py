"""Disks: writes take time, fail, stall, and a crash loses, tears or keeps what it interrupted."""

from collections.abc import Callable
from dataclasses import replace

from election.messages import Ballot, Index
from qsync.core.config import CoreConfig
from qsync.core.configuration import all_of
from qsync.core.ready import Write
from qsync.data.fold import Fold
from qsync.errors import StoreError
from qsync.record import ONE_INSTANCE
from qsync.replica import Replica as Core
from qsync.sim.clockwork import VirtualClock
from qsync.sim.dice import RandomStream
from qsync.sim.swarm import DiskFlaws
from qsync.store.memory import MemoryLog, MemorySpaces

Told = Callable[..., None]
Seal = Callable[[Write], Write]


class SimulatedDisk:
    """One node's directory. It outlives the process; `looks_on` sees what becomes durable."""

    def __init__(self, clockwork: VirtualClock, dice: RandomStream, platter: DiskFlaws) -> None:
        self.log = MemoryLog()
        self.spaces = MemorySpaces()
        self.broken = False
        self.slowness = 1.0
        self.looks_on: Callable[[Write], None] = _nobody
        self.seal: Seal = _as_it_is
        self.told: Callable[[], None] = _quiet
        """Called when a process has been told of a write and has acted on it."""
        self._clockwork = clockwork
        self._dice = dice
        self._platter = platter
        self._flights = 0
        self._told: tuple[Told, tuple[object, ...]] = (_nobody, ())

    def another(self) -> "SimulatedDisk":
        """An empty one of the same make, as weak as this one."""
        twin = SimulatedDisk(self._clockwork, self._dice, self._platter)
        twin.seal = self.seal
        return twin

    def recover(self, config: CoreConfig, life: int) -> Core:
        """What a process finds when it starts. `life` counts its starts."""
        found = self.log.recover()
        return Core(
            config,
            ballot=found.ballot,
            confirmed=found.confirmed,
            headers=self.log.headers(),
            tail=self.log.entries,
            backing=self.spaces,
            folded=self.spaces.folded,
            # Founding was one act: whoever comes later knows the voters from the log alone.
            founding=all_of(config.voters) if config.instance == ONE_INSTANCE else None,
            quarantined=found.quarantined,
            life=life,
        )

    def submit(self, write: Write, told: Told, *args: object) -> None:
        """Begin a write; `told(why, *args)` when it is durable (`why` None) or has failed."""
        self.log.begin_write(self.seal(write))
        self._told = (told, args)
        self._later(self.slowness)

    def _later(self, slowness: float) -> None:
        self._flights += 1
        delay = self._dice.about(self._platter.write_delay) * slowness
        self._clockwork.after(delay, self._finish, self._flights)

    def heal(self) -> None:
        """From now on it is a good disk; a write that hangs comes to its end."""
        self.broken, self.slowness = False, 1.0
        self._platter = replace(self._platter, failure=0.0)
        self.told = _quiet
        if self.log.in_flight is not None:
            self._later(self.slowness)

    def _finish(self, flight: int) -> None:
        write = self.log.in_flight
        if write is None or flight != self._flights:
            return
        told, args = self._told
        unlucky = self._dice.chance(self._platter.failure)
        why = None
        self.log.fault = StoreError("input/output error") if self.broken or unlucky else None
        try:
            self.log.finish()
        except StoreError as error:
            why = error.message
        self.log.fault = None
        if why is None:
            self.looks_on(write)
        told(why, *args)
        self.told()

    def fold(self, fold: Fold) -> None:
        """Folding is lazy: durable some time later, or never if the machine dies before."""
        self.spaces.fold(fold)
        if self._dice.chance(0.1):
            self.spaces.sync()

    def crash(self, *, power: bool) -> None:
        """The process is gone, with `power` the machine."""
        write = self.log.in_flight
        platter, dice = self._platter, self._dice
        self._flights += 1
        landed = write is not None and not self.broken and dice.chance(platter.linger)
        torn = None
        # Only within the first entry: a commit that landed in part kept nothing whole.
        if write is not None and write.entries and self.log.last and not landed:
            size = len(write.entries[0].raw)
            torn = dice.randrange(1, size) if dice.chance(platter.torn) else None
        self.log.crash(landed=landed, torn=torn)
        if landed and write is not None:
            self.looks_on(write)
        self.spaces.crash(system=power)

    @property
    def durable(self) -> Index:
        """The last durable index."""
        return self.log.last


def _nobody(_write: object) -> None:
    """Nobody looks on."""


def _quiet() -> None:
    """Nothing happens."""


def _as_it_is(write: Write) -> Write:
    """What an honest disk stores."""
    return write


def forgetful(write: Write) -> Write:
    """A disk that keeps the term and forgets the vote."""
    ballot = Ballot(term=write.ballot.term, vote=None, member=write.ballot.member)
    return Write(
        id=write.id,
        cut_above=write.cut_above,
        cut_reason=write.cut_reason,
        cut_answered=write.cut_answered,
        entries=write.entries,
        ballot=ballot,
        confirmed=write.confirmed,
    )
