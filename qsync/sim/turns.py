"""Operators in quick turns: promote here, demote there, at once again; and each is answered."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from election.messages import Replica
from qsync.core.inputs import DemoteAsked, LeaveAsked, PromoteAsked, RollbackAsked
from qsync.sim.membership import MemberOrders
from qsync.sim.parts import NodePart
from qsync.sim.troubles import NemesisContext

RUNS = 0.35
"""The share of runs in which operators do so while things break; in all of them they do after."""
TURNS_MAX = 6
"""Orders in one go."""
AWAY_TIMEOUTS = 10
"""So many election timeouts a voter is away in the end, and every operation is over within them."""
HANGS = 1e9
"""So many times slower a disk is that hangs."""
VOTERS_MIN = 3
"""With fewer, nobody is away: the others could do nothing."""
WISHES = ("promote", "promote", "promote", "demote", "demote", "leave", "rollback queue")


class Chores(Protocol):
    """What is done now and then; see `qsync.sim.kernel.chores`."""

    @property
    def counts(self) -> Mapping[str, int]:
        """How often what was done, and what came of it."""

    def start(self) -> None:
        """From now on."""


class Turns:
    """Their dice are their own, so runs without them are as they would be."""

    def __init__(
        self,
        scene: NemesisContext,
        write: Callable[[Callable[[], None]], None],
        members: MemberOrders,
        chores: Mapping[str, Chores],
    ) -> None:
        """`chores`: what begins in runs with that habit."""
        self.members = members
        """Who changes the cluster itself."""
        self.chores = chores
        self._scene = scene
        self._write = write
        self._dice = scene.clockwork.dice("operators")
        self._away: NodePart | None = None
        self.orders = 0
        """So many were given."""

    def start(self) -> None:
        """From now on, now and then, in some runs."""
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
        """Some orders, one soon after the other; returns in how many seconds the last one comes."""
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
        """The leader is told to hand over to a voter that is away at once, or whose disk hangs.

        Returns for how long; 0 when there is nobody to do without. `call_back` ends it.
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
            # It lives and answers, and is behind: time alone ends what waits for it.
            self._away.disk.slowness = HANGS
            self._write(partial(self._hand_over, leaders[0], self._away, latest))
        else:
            _give(leaders[0], "demote", self._away.me)
            self._away.pause()
        self.orders += 1
        return long

    def _hand_over(self, leader: NodePart, to: NodePart, latest: float) -> None:
        # The write before it may have taken long; an answer needs some time, too.
        if to is self._away and leader.leads and self._scene.clockwork.now <= latest:
            _give(leader, "demote", to.me)

    def call_back(self) -> None:
        """Whoever was away is there again."""
        if self._away is not None:
            self._away.disk.heal()
            if self._away.paused:
                self._away.resume()
            self._away = None

    def _order(self, node: NodePart, wish: str, to: Replica | None) -> None:
        # An order of an earlier go may come this late. Who is stopped cannot answer in time.
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
