"""What troubles, operators and properties need of a cluster: its nodes, disks, clocks and network.

The shipped node on a simulated kernel (`qsync.sim.kernel`) fulfils it. Troubles and properties
know these protocols only, so that they can be tested without a kernel.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from election.fencing import Fencing
from election.messages import Replica
from qsync.core.inputs import Input
from qsync.core.logstart import LogStart
from qsync.core.ready import Write
from qsync.record import Instance
from qsync.replica import Replica as Core
from qsync.sim.dice import RandomStream
from qsync.store.memory import MemoryLog, MemorySpaces

Pair = tuple[int, int]
"""From a node to another."""


class ClocksPart(Protocol):
    """Those of a node's machine; see `qsync.sim.kernel.clock`."""

    dice: RandomStream
    in_a_hurry: bool
    rate: float
    ahead: float
    wall_ahead: float


class Disk(Protocol):
    """A node's directory."""

    broken: bool
    slowness: float
    looks_on: Callable[[Write | LogStart], None]
    told: Callable[[], None]

    @property
    def log(self) -> MemoryLog:
        """What it holds."""

    @property
    def spaces(self) -> MemorySpaces:
        """And its rows."""

    def heal(self) -> None:
        """From now on it is a good disk."""


class NodePart(Protocol):
    """A member: its directory and clocks stay, its process comes and goes."""

    @property
    def me(self) -> Replica:
        """Its id."""

    @property
    def life(self) -> int:
        """Counts starts of the process; 0 while it is down."""

    @property
    def core(self) -> Core:
        """The replica of the present life."""

    @property
    def disk(self) -> Disk:
        """Its directory."""

    @property
    def clocks(self) -> ClocksPart:
        """Its machine's."""

    @property
    def instance(self) -> Instance:
        """Which directory it has."""

    @property
    def up(self) -> bool:
        """The process exists (it may be paused)."""

    @property
    def paused(self) -> bool:
        """The process exists and is stopped."""

    @property
    def reachable(self) -> bool:
        """The process exists and runs."""

    @property
    def leads(self) -> bool:
        """It is up and may write."""

    def start(self) -> None:
        """A new process on the same directory."""

    def stop(self, *, power: bool) -> None:
        """As by kill -9; with `power` the whole machine."""

    def exchange(self, instance: Instance | None = None) -> None:
        """Its directory is another one from the next start on: an earlier one, or a new one."""

    def configure(self, election_timeout: float, fencing: Fencing) -> None:
        """From the next start on its own settings are these."""

    def pause(self) -> None:
        """SIGSTOP."""

    def resume(self) -> None:
        """SIGCONT."""

    def waiting(self) -> list[str]:
        """What operators asked for and were not answered yet."""

    def operate(self, what: str, make: Callable[[int], Input]) -> None:
        """An operator asks, and waits for the answer as long as this process lives."""

    def order(self, what: str, event: Input) -> None:
        """Something is to be done that nobody waits for."""


class Network(Protocol):
    """What is between the nodes."""

    lost: int
    refusing: set[int]
    held_up: dict[Pair, Callable[[], float]]

    def block(self, pairs: Iterable[Pair], *, tear: bool) -> None:
        """Nothing passes over these directed pairs. `tear`: their connections break, too."""

    def unblock(self, pairs: Sequence[Pair]) -> None:
        """One cause less why nothing passes there."""

    def refuse(self, number: int) -> None:
        """A living node takes no connections, and those it has break."""

    def reset(self, pairs: Iterable[Pair]) -> None:
        """The connections of these directed pairs break once."""

    def heal(self) -> None:
        """From now on it is a good one."""
