"""The interface of a cluster for troubles, operators and properties: nodes, disks, clocks, network.

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
        """Its content."""

    @property
    def spaces(self) -> MemorySpaces:
        """And its rows."""

    def heal(self) -> None:
        """Heal the disk."""


class NodePart(Protocol):
    """A member: its directory and clocks stay, its process may change."""

    @property
    def me(self) -> Replica:
        """Its id."""

    @property
    def life(self) -> int:
        """Counts starts of the process; 0 while it is down."""

    @property
    def core(self) -> Core:
        """The replica of the current life."""

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
        """From the next start on it has another directory: an earlier one, or a new one."""

    def configure(self, election_timeout: float, fencing: Fencing) -> None:
        """From the next start on it has these settings of its own."""

    def pause(self) -> None:
        """SIGSTOP."""

    def resume(self) -> None:
        """SIGCONT."""

    def waiting(self) -> list[str]:
        """Unanswered requests of operators."""

    def operate(self, what: str, make: Callable[[int], Input]) -> None:
        """An operator sends a request, and waits for the answer as long as this process lives."""

    def order(self, what: str, event: Input) -> None:
        """Run an input without an answer."""


class Network(Protocol):
    """What is between the nodes."""

    lost: int
    refusing: set[int]
    held_up: dict[Pair, Callable[[], float]]

    def block(self, pairs: Iterable[Pair], *, tear: bool) -> None:
        """Block these directed pairs. `tear`: their connections break too."""

    def unblock(self, pairs: Sequence[Pair]) -> None:
        """Remove one block of these pairs."""

    def refuse(self, number: int) -> None:
        """A running node refuses connections, and its open ones break."""

    def reset(self, pairs: Iterable[Pair]) -> None:
        """Break the connections of these directed pairs once."""

    def heal(self) -> None:
        """Heal the network."""
