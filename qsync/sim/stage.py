"""What a run needs of a world: one of stand-ins, or one of shipped nodes and clients."""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from qsync.sim.clockwork import Clockwork
from qsync.sim.faults import Faults
from qsync.sim.history import History
from qsync.sim.invariants import Invariants
from qsync.sim.parts import Network, Node
from qsync.sim.plan import Plan
from qsync.sim.swarm import Swarm
from qsync.sim.trace import Trace
from qsync.sim.turns import Turns


class Client(Protocol):
    """`counts`: its operations by name and how they ended, or that they began."""

    counts: Counter[str]


class Stage(Protocol):
    """Everything of one run."""

    plan: Plan
    swarm: Swarm
    trace: Trace
    invariants: Invariants
    faults: Faults
    turns: Turns
    history: History

    @property
    def clockwork(self) -> Clockwork:
        """Virtual time."""

    @property
    def network(self) -> Network:
        """What is between the nodes."""

    @property
    def nodes(self) -> Sequence[Node]:
        """All of them."""

    @property
    def clients(self) -> Sequence[Client]:
        """All of them."""

    @property
    def leases_hold(self) -> bool:
        """No clock jumps, so a read by lease is as good as one that asked a quorum."""

    @property
    def decided(self) -> bool:
        """Everything that anybody shows is confirmed; all nodes are up."""

    def start(self) -> None:
        """Processes start, clients begin, things break."""

    def step(self) -> bool:
        """The next event. Raises Violation when it breaks a property."""

    def heal(self) -> None:
        """Repair everything; clients finish what they began."""

    def unrest(self) -> str | None:
        """What is not at rest yet, after healing; None when all is done and equal."""

    def waiting(self) -> list[str]:
        """What operators asked for and were not answered yet."""
