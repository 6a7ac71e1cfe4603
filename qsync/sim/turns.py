"""Operators in quick succession: promote and demote on different nodes; each is answered."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from election.messages import Replica
from qsync.core.inputs import DemoteAsked, LeaveAsked, PromoteAsked, RollbackAsked
from qsync.sim.membership import MemberOrders
from qsync.sim.parts import NodePart
from qsync.sim.troubles import NemesisContext

RUNS = 0.35
"""The share of runs in which they do so during faults; in all runs they do after healing."""
TURNS_MAX = 6
"""Requests in one series."""
AWAY_TIMEOUTS = 10
"""How many election timeouts a voter is away at the end; every operation ends within them."""
HANGS = 1e9
"""How many times slower a hanging disk is."""
VOTERS_MIN = 3
"""With fewer nodes none is away: the others would have no quorum."""
WISHES = ("promote", "promote", "promote", "demote", "demote", "leave", "rollback queue")


class Chores(Protocol):
    """Periodic activities; see `qsync.sim.kernel.chores`."""

    @property
    def counts(self) -> Mapping[str, int]:
        """The numbers of activities, and their results."""

    def start(self) -> None:
        """From now on."""


class Turns:
    """They have their own random generator, so runs without them are unchanged."""

    def __init__(
        self,
        scene: NemesisContext,
        write: Callable[[Callable[[], None]], None],
        members: MemberOrders,
        chores: Mapping[str, Chores],
    ) -> None:
        """`chores`: the activities of runs with that habit."""
        self.members = members
        """The operators that change the membership."""
        self.chores = chores
        self._scene = scene
        self._write = write
        self._dice = scene.clockwork.dice("operators")
        self._away: NodePart | None = None
        self.orders = 0
        """The number of requests."""

    def start(self) -> None:
        """Start them, in some runs."""
        if "members" in self._scene.swarm.variety.habits:
            self.members.start()
        for habit, chore in self.chores.items():
            if habit in self._scene.swarm.variety.habits:
                chore.start()
        if self._dice.random() < RUNS:
            self._later()

    def _later(self) -> None:
        pause = self._dice.about(3 * self._scene.swarm.nemesis.interval)
        self._scene.later(pause, self._again)

    def _again(self) -> None:
        self._later()
        self.go()

    def go(self) -> float:
        """A series of requests; returns the time in seconds until the last one."""
        delay = 0.0
        for _ in range(self._dice.randint(2, TURNS_MAX)):
            node = self._dice.choice(self._scene.nodes)
            wish = self._dice.choice(WISHES)
            others = [each.me for each in self._scene.nodes if each is not node]
            to = self._dice.choice([None, *others])
            self._scene.clockwork.after(delay, partial(self._order, node, wish, to))
            self.orders += 1
            delay += self._dice.about(self._scene.swarm.timing.election_timeout / 8)
        return delay

    def send_away(self) -> float:
        """The leader is asked to hand over to a voter that is stopped, or whose disk hangs.

        Returns the duration; 0 if no voter can be missed. `call_back` ends it.
        """
        leaders = [each for each in self._scene.nodes if each.leads]
        if len(leaders) != 1 or len(leaders[0].core.machine.config.voters) < VOTERS_MIN:
            return 0.0
        self._away = self._dice.choice(
            [each for each in self._scene.nodes if each is not leaders[0]]
        )
        hangs = self._dice.random() < 0.5
        long = AWAY_TIMEOUTS * self._scene.swarm.timing.election_timeout
        latest = self._scene.clockwork.now + long / 2
        why = "whose disk hangs" if hangs else "which is stopped"
        self._scene.note(f"node {leaders[0].me} is to hand over to node {self._away.me}, {why}")
        if hangs:
            # It runs and answers, but is behind: only the timeout ends the wait for it.
            self._away.disk.slowness = HANGS
            self._write(partial(self._hand_over, leaders[0], self._away, latest))
        else:
            _give(leaders[0], "demote", self._away.me)
            self._away.pause()
        self.orders += 1
        return long

    def _hand_over(self, leader: NodePart, to: NodePart, latest: float) -> None:
        # The write before may have taken long; an answer needs some time too.
        if to is self._away and leader.leads and self._scene.clockwork.now <= latest:
            _give(leader, "demote", to.me)

    def call_back(self) -> None:
        """The voter that was away returns."""
        if self._away is not None:
            self._away.disk.heal()
            if self._away.paused:
                self._away.resume()
            self._away = None

    def _order(self, node: NodePart, wish: str, to: Replica | None) -> None:
        # A request of an earlier series may come this late. A stopped node cannot answer in time.
        if node.up and node is not self._away:
            _give(node, wish, to)


def _give(node: NodePart, wish: str, to: Replica | None) -> None:
    match wish:
        case "promote":
            node.operate("operator: promote", lambda ticket: PromoteAsked(ticket=ticket))
        case "demote":
            what = f"operator: demote to {to}"
            node.operate(what, lambda ticket: DemoteAsked(ticket=ticket, to=to))
        case "leave":
            node.order("operator: leave", LeaveAsked(why="told to"))
        case _:
            node.operate("operator: rollback queue", lambda ticket: RollbackAsked(ticket=ticket))
