"""What goes wrong in a run: drawn from its seed, undone after a while."""

from collections.abc import Callable
from functools import partial

from election.messages import Replica
from qsync.core.inputs import DemoteAsked, Input, PromoteAsked, RollbackAsked
from qsync.sim.clockwork import Clockwork
from qsync.sim.network import Network, Pair
from qsync.sim.node import Node
from qsync.sim.swarm import Swarm
from qsync.sim.trace import NOWHERE, Trace

WALL_JUMP_MAX = 1000.0
"""Seconds, either way."""
SLOWNESS_MAX = 500.0
FALL = 0.1
"""How likely a shaky process dies after a write."""


class Faults:
    """The nemesis. `heal` ends it and repairs everything."""

    def __init__(
        self, clockwork: Clockwork, network: Network, nodes: list[Node], swarm: Swarm, trace: Trace
    ) -> None:
        self.struck: dict[str, int] = {}
        self.over = False
        self._clockwork = clockwork
        self._network = network
        self._nodes = nodes
        self._swarm = swarm
        self._trace = trace
        for node in nodes:
            drift = swarm.nemesis.drift
            node.dice = swarm.timing.dice
            node.clocks.rate = 1.0 + drift * (2 * clockwork.rng.random() - 1)

    def start(self) -> None:
        """From now on things break."""
        self._clockwork.after(self._clockwork.about(self._swarm.nemesis.interval), self._strike)

    def heal(self) -> None:
        """Nothing breaks any more, and what is broken is repaired."""
        self.over = True
        self._network.heal()
        for node in self._nodes:
            node.disk.heal()
            node.disk.told = _nothing
            node.dice = "uniform"
            if not node.up:
                node.start()
            elif node.paused:
                node.resume()

    def _strike(self) -> None:
        if self.over:
            return
        clockwork, nemesis = self._clockwork, self._swarm.nemesis
        kind = clockwork.rng.choice(nemesis.kinds)
        undo = getattr(self, f"_{kind}")()
        if undo is not None:
            self.struck[kind] = self.struck.get(kind, 0) + 1
            clockwork.after(clockwork.about(nemesis.duration), self._undo, undo)
        clockwork.after(clockwork.about(nemesis.interval), self._strike)

    def _undo(self, undo: Callable[[], None]) -> None:
        if not self.over:
            undo()

    def _note(self, what: str) -> None:
        self._trace.note(self._clockwork.now, NOWHERE, what)

    def _victim(self) -> Node:
        """A leader half of the time: that is where it hurts."""
        rng = self._clockwork.rng
        leaders = [node for node in self._nodes if node.leads]
        return rng.choice(leaders if leaders and rng.random() < 0.5 else self._nodes)

    # -- processes. Each returns what undoes it, or None when it could not be done.

    def _crash(self, *, power: bool = False) -> Callable[[], None] | None:
        node = self._victim()
        if not node.up:
            return None
        node.stop(power=power)
        return partial(_raise, node)

    def _power(self) -> Callable[[], None] | None:
        return self._crash(power=True)

    def _shaky(self) -> Callable[[], None]:
        """The process tends to die just after it has acted on a write, and is back soon."""
        node, clockwork = self._victim(), self._clockwork
        self._note(f"node {node.me} is shaky")

        def fall() -> None:
            if node.reachable and clockwork.rng.random() < FALL:
                node.stop(power=False)
                soon = clockwork.about(self._swarm.timing.replication_timeout / 2)
                clockwork.after(soon, self._undo, partial(_raise, node))

        node.disk.told = fall

        def undo() -> None:
            node.disk.told = _nothing

        return undo

    def _pause(self) -> Callable[[], None] | None:
        node = self._victim()
        if not node.reachable:
            return None
        node.pause()
        life = node.life

        def undo() -> None:
            if node.life == life and node.paused:
                node.resume()

        return undo

    # -- links

    def _isolate(self) -> Callable[[], None]:
        alone = self._victim().me
        pairs = [pair for pair in self._pairs() if alone in pair]
        return self._block(f"node {alone} is isolated", pairs)

    def _oneway(self) -> Callable[[], None]:
        mute, rng = self._victim().me, self._clockwork.rng
        pairs = [pair for pair in self._pairs() if pair[0] == mute]
        if rng.random() < 0.5:
            pairs = [rng.choice(pairs)]
        if rng.random() < 0.5:
            pairs = [(there, here) for here, there in pairs]
        return self._block(f"one-way cut {pairs}", pairs)

    def _ring(self) -> Callable[[], None]:
        """Everybody sees a majority, no two the same; of three nodes two do not see each other."""
        order = [node.me for node in self._nodes]
        self._clockwork.rng.shuffle(order)
        size = len(order)
        reach = size // 4 if size > 3 else 1
        cut = [
            (one, two)
            for at, one in enumerate(order)
            for to, two in enumerate(order)
            if min((at - to) % size, (to - at) % size) > reach
        ]
        if size == 3:
            cut = [(order[0], order[1]), (order[1], order[0])]
        return self._block(f"ring {order}", cut)

    def _halves(self) -> Callable[[], None]:
        rng = self._clockwork.rng
        size = len(self._nodes)
        minority = sorted(rng.sample([node.me for node in self._nodes], rng.randint(1, size // 2)))
        pairs = [(a, b) for a, b in self._pairs() if (a in minority) != (b in minority)]
        return self._block(f"{minority} cut off", pairs)

    def _pairs(self) -> list[Pair]:
        ids = [node.me for node in self._nodes]
        return [(here, there) for here in ids for there in ids if here != there]

    def _block(self, what: str, pairs: list[Pair]) -> Callable[[], None]:
        tear = self._clockwork.rng.random() < 0.5
        self._note(f"{what}{', connections break' if tear else ''}")
        self._network.block(pairs, tear=tear)

        def undo() -> None:
            self._note(f"over: {what}")
            self._network.unblock(pairs)

        return undo

    # -- disks and clocks

    def _slow_disk(self) -> Callable[[], None]:
        node = self._victim()
        node.disk.slowness = 1.0 + self._clockwork.rng.random() * SLOWNESS_MAX
        self._note(f"disk {node.me} is {node.disk.slowness:.0f} times slower")
        return partial(setattr, node.disk, "slowness", 1.0)

    def _broken_disk(self) -> Callable[[], None]:
        node = self._victim()
        node.disk.broken = True
        self._note(f"disk {node.me} fails")
        return partial(setattr, node.disk, "broken", False)  # noqa: FBT003 - setattr's order

    def _wall_jump(self) -> Callable[[], None]:
        node = self._victim()
        node.clocks.wall_ahead += WALL_JUMP_MAX * (2 * self._clockwork.rng.random() - 1)
        self._note(f"wall clock of node {node.me} was set")
        return _nothing

    def _clock_jump(self) -> Callable[[], None]:
        node = self._victim()
        node.clocks.ahead += self._clockwork.rng.random() * 4 * self._swarm.timing.election_timeout
        self._note(f"monotonic clock of node {node.me} jumped ahead")
        return _nothing

    # -- operators

    def _promote(self) -> Callable[[], None] | None:
        node = self._clockwork.rng.choice(self._nodes)
        return self._ask(node, "promote", lambda ticket: PromoteAsked(ticket=ticket))

    def _demote(self) -> Callable[[], None] | None:
        node, rng = self._victim(), self._clockwork.rng
        others = [each.me for each in self._nodes if each is not node]
        to: Replica | None = rng.choice([None, *others])
        return self._ask(node, f"demote to {to}", lambda ticket: DemoteAsked(ticket=ticket, to=to))

    def _rollback_queue(self) -> Callable[[], None] | None:
        node = self._victim()
        return self._ask(node, "rollback queue", lambda ticket: RollbackAsked(ticket=ticket))

    def _ask(
        self, node: Node, what: str, make: Callable[[int], Input]
    ) -> Callable[[], None] | None:
        if not node.up:
            return None
        node.operate(f"operator: {what}", make)
        return _nothing


def _raise(node: Node) -> None:
    if not node.up:
        node.start()


def _nothing() -> None:
    """There is nothing to undo."""
