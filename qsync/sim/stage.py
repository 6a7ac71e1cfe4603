"""What a run needs of a world, of stand-ins or of what is shipped, and how every run goes."""

from collections.abc import Sequence
from functools import partial
from typing import Protocol

from qsync.sim import repertoire
from qsync.sim.clockwork import VirtualClock
from qsync.sim.faults import Faults
from qsync.sim.history import SimHistory
from qsync.sim.invariants import Invariants
from qsync.sim.parts import Network, NodePart
from qsync.sim.plan import Plan
from qsync.sim.scripted import ScriptedClient
from qsync.sim.swarm import Swarm
from qsync.sim.trace import Trace
from qsync.sim.turns import Turns


class Parts(Protocol):
    """Everything of one run."""

    plan: Plan
    swarm: Swarm
    trace: Trace
    invariants: Invariants
    faults: Faults
    turns: Turns
    history: SimHistory

    @property
    def clockwork(self) -> VirtualClock:
        """Virtual time."""

    @property
    def network(self) -> Network:
        """What is between the nodes."""

    @property
    def nodes(self) -> Sequence[NodePart]:
        """All of them."""

    @property
    def clients(self) -> Sequence[ScriptedClient]:
        """All of them."""


class Course:
    """How every run goes, whoever plays it. Nothing happens until `start` and `step`."""

    @property
    def leases_hold(self: Parts) -> bool:
        """No clock jumps, so a read by lease is as good as one that asked a quorum."""
        return "clock_jump" not in self.swarm.nemesis.active

    def start(self: Parts) -> None:
        """Processes start; one client makes the spaces, then all begin; then things break."""
        for node in self.nodes:
            node.start()
        first = self.clients[0]
        first.script = [partial(repertoire.create_spaces, self.swarm.load.keys)]
        first.done = partial(_open_doors, self)
        first.start()

    def step(self: Parts) -> bool:
        """The next event. Raises Violation when it breaks a property."""
        return self.clockwork.step()

    def heal(self: Parts) -> None:
        """Repair everything; clients finish what they began."""
        self.faults.heal()
        for client in self.clients:
            client.finish()

    @property
    def decided(self: Parts) -> bool:
        """Everything that anybody shows is confirmed; all nodes are up."""
        last = self.invariants.canon.last
        return all(node.core.machine.ledger.visible <= last for node in self.nodes)

    def waiting(self: Parts) -> list[str]:
        """What operators asked for and were not answered yet."""
        return [f"{what} at node {node.me}" for node in self.nodes for what in node.waiting()]

    def unrest(self: "Stage") -> str | None:
        """What is not at rest yet, after healing; None when all is done and equal."""
        down = [node.me for node in self.nodes if not node.up]
        if down:
            return f"{down} are down"
        leaders = [node.me for node in self.nodes if node.leads]
        if len(leaders) != 1:
            return f"{leaders} lead"
        busy = [client.busy_with for client in self.clients if not client.idle]
        if busy:
            return f"waiting: {busy}"
        waiting = self.waiting()
        return f"operators wait: {waiting}" if waiting else self.invariants.at_rest()


class Stage(Parts, Protocol):
    """A world: its parts and their course."""

    @property
    def leases_hold(self) -> bool:
        """See `Course`."""

    @property
    def decided(self) -> bool:
        """See `Course`."""

    def start(self) -> None:
        """See `Course`."""

    def step(self) -> bool:
        """See `Course`."""

    def heal(self) -> None:
        """See `Course`."""

    def waiting(self) -> list[str]:
        """See `Course`."""

    def unrest(self) -> str | None:
        """See `Course`."""


def _open_doors(world: Parts) -> None:
    for client in world.clients[1:]:
        client.start()
    world.faults.start()
    world.turns.start()
