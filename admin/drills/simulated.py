"""The simulated cluster that a drill breaks: the shipped node code, in virtual time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from admin.drills import targets
from admin.drills.model import Step
from admin.drills.targets import Names
from qsync.faultpoints import FaultPoints
from qsync.sim.kernel.machine import MemberMachine
from qsync.sim.world import World

WAKE_S = 0.01
"""Virtual time between two tests of the condition that a step waits for."""

Members = list[MemberMachine]


class WaitMissed(Exception):
    """A step waited for a condition that was not met."""


@dataclass(slots=True)
class SimulatedCluster:
    """The simulated cluster, for verbs and probes. `struck`: nodes whose armed disks fired.

    `acked_then`: the number of acknowledged writes at the start of the current step.
    """

    world: World
    names: Names = field(default_factory=dict)
    struck: set[int] = field(default_factory=set)
    acked_then: int = 0
    _scan: tuple[int, int] = (0, 0)
    _turns: dict[str, int] = field(default_factory=dict)
    _links_in_turn: set[str] = field(default_factory=set)

    # -- time

    def wait(self, seconds: float) -> None:
        """Let virtual time pass."""
        clockwork = self.world.clockwork
        end = clockwork.now + seconds
        clockwork.after(seconds, _nothing)
        while clockwork.now < end:
            self.world.step()

    def until(self, fact: Callable[[], bool], limit: float, what: str) -> None:
        """Let time pass until the condition holds. Raises WaitMissed."""
        deadline = self.world.clockwork.now + limit
        while not fact():
            if self.world.clockwork.now > deadline:
                raise WaitMissed(f"not within {limit:g} virtual s: {what}")
            self.wait(WAKE_S)

    # -- nodes

    @property
    def all(self) -> list[str]:
        """The names of all nodes."""
        return self.names_of(self.world.nodes)

    def names_of(self, nodes: Sequence[MemberMachine]) -> list[str]:
        """Return the names of nodes in drills."""
        return [f"n{node.me}" for node in nodes]

    def node(self, name: str) -> MemberMachine:
        """Return a node by name."""
        return next(node for node in self.world.nodes if f"n{node.me}" == name)

    def nodes_of(self, step: Step) -> Members:
        """Return the nodes that a step is for."""
        return [self.node(name) for name in targets.of_step(self.names, step, self.leader())]

    def beside(self, step: Step, option: str = "with") -> tuple[str, ...]:
        """Return the nodes that a step names with `with`, or another option."""
        return targets.beside(self.names, step, self.leader(), option)

    def leader(self) -> str | None:
        """Return the name of the leader."""
        return next(iter(self.names_of(self.leading())), None)

    def leading(self, but: Sequence[str] = ()) -> Members:
        """Return the leaders, the latest term first, without these."""
        nodes = [node for node in self.world.nodes if f"n{node.me}" not in but]
        found = [node for node in nodes if node.leads and not node.paused]
        return sorted(found, key=lambda node: -node.core.machine.term)

    @property
    def acked(self) -> int:
        """The number of operations that were acknowledged."""
        lines = self.world.history.lines
        at, count = self._scan
        count += sum(line.type == "ok" and line.f != "read" for line in lines[at:])
        self._scan = (len(lines), count)
        return count

    # -- faults

    def in_turn(
        self, what: str, phases: Sequence[tuple[Callable[[], None], float]], *, links: bool = False
    ) -> None:
        """Repeat the phases, each for its seconds, until `what` is ended or restarted.

        `links`: it ends when links are mended.
        """
        self.end_turns(what)
        mine = self._turns[what]
        if links:
            self._links_in_turn.add(what)

        def go(at: int) -> None:
            if self._turns[what] == mine:
                do, lasts = phases[at]
                do()
                self.world.clockwork.after(lasts, go, (at + 1) % len(phases))

        go(0)

    def end_turns(self, what: str) -> None:
        """End a repetition."""
        self._turns[what] = self._turns.get(what, 0) + 1

    def count_writes(self, node: MemberMachine, times: int) -> None:
        """Let this many writes of its armed disk fail, then none; 0: all of them."""
        left = times or float("inf")

        def count() -> None:
            nonlocal left
            self.struck.add(node.me)
            left -= 1
            if left == 0:
                node.disk.heal()

        node.disk.told = count

    def points(self, node: MemberMachine) -> FaultPoints:
        """Return the fault points of its process."""
        return node.node.fault_points

    def mend(self) -> None:
        """Mend all links."""
        for what in self._links_in_turn:
            self.end_turns(what)
        network = self.world.room.net
        network.held_up.clear()
        network.unblock([pair for pair, times in network.blocked.items() for _ in range(times)])

    def disarm(self, node: MemberMachine) -> None:
        """Disarm the disk: writes no longer fail."""
        if node.up:
            self.points(node).disarm()
        node.disk.heal()
        node.clocks.wall_ahead = 0.0
        self.struck.discard(node.me)

    def heal(self) -> None:
        """End every fault."""
        for what in self._turns:
            self.end_turns(what)
        self.mend()
        for node in self.world.nodes:
            self.disarm(node)
            if not node.up:
                node.start()
            if node.paused:
                node.resume()


def _nothing() -> None:
    """A no-op: only time passes."""
