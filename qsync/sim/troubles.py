"""Troubles: faults of a run. Each takes effect at once and returns the function that undoes it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from election.fencing import Fencing
from election.messages import Replica
from qsync.core.inputs import DemoteAsked, Input, PromoteAsked, RollbackAsked
from qsync.faults import Fault
from qsync.sim.clockwork import VirtualClock
from qsync.sim.dice import RandomStream
from qsync.sim.parts import Network, NodePart, Pair
from qsync.sim.swarm import Swarm
from qsync.sim.trace import NOWHERE, Trace

Undo = Callable[[], None]

WALL_JUMP_MAX = 1000.0
"""Seconds, either way."""
SLOWNESS_MAX = 500.0
OWN_PACES = (0.5, 1.0, 2.0, 3.0)
"""Election timeouts of nodes with settings of their own."""
VOTERS_MIN = 3
"""With fewer, no majority is left when a disk is lost (membership.md M5)."""
FALL = 0.1
"""How likely a shaky process dies after a write."""


@dataclass(frozen=True, slots=True)
class ChosenVictim:
    """The next victim, and the duration, if a chooser decides instead of random draws."""

    node: NodePart
    lasts: float


@dataclass(slots=True, kw_only=True)
class NemesisContext:
    """The context of troubles. Once it is `over`, nothing is undone or begun any more.

    `dice` belong to the current fault: leaving one fault out changes no other.
    """

    clockwork: VirtualClock
    network: Network
    nodes: Sequence[NodePart]
    swarm: Swarm
    trace: Trace
    dice: RandomStream
    over: bool = False
    period: int = 1
    """A fault of one phase is not undone in a later one: all is healed between them."""
    losses: int = 0
    """The number of lost or removed directories."""
    struck: dict[int, Fault] = field(default_factory=dict)
    """The kinds of faults that happened, by number."""
    chosen: ChosenVictim | None = None

    def note(self, what: str) -> None:
        """A line of the trace."""
        self.trace.note(self.clockwork.now, NOWHERE, what)

    def victim(self) -> NodePart:
        """A random victim, half of the time the leader."""
        if self.chosen is not None:
            return self.chosen.node
        dice = self.dice
        leaders = [node for node in self.nodes if node.leads]
        return dice.choice(leaders if leaders and dice.random() < 0.5 else self.nodes)

    def later(self, pause: float, todo: Undo) -> None:
        """Call it after this many seconds, unless all is healed until then."""
        self.clockwork.after(pause, self._unless_over, self.period, todo)

    def begin_period(self, swarm: Swarm) -> None:
        """Allow faults again, with these parameters."""
        assert self.over
        self.swarm, self.over = swarm, False
        self.period += 1
        self.struck.clear()

    def _unless_over(self, period: int, todo: Undo) -> None:
        if not self.over and period == self.period:
            todo()


def _crash(scene: NemesisContext, *, power: bool = False) -> Undo | None:
    node = scene.victim()
    if not node.up:
        return None
    node.stop(power=power)
    return partial(_raise, node)


def _power(scene: NemesisContext) -> Undo | None:
    return _crash(scene, power=True)


def _shaky(scene: NemesisContext) -> Undo:
    """The process often dies just after it acted on a write, and soon restarts."""
    node = scene.victim()
    scene.note(f"node {node.me} is shaky")
    node.disk.told = partial(_may_fall, scene, node, scene.dice)
    return partial(setattr, node.disk, "told", _nothing)


def _may_fall(scene: NemesisContext, node: NodePart, dice: RandomStream) -> None:
    if not scene.over and node.reachable and dice.chance(FALL):
        fall(scene, node, dice)


def fall(scene: NemesisContext, node: NodePart, dice: RandomStream) -> None:
    """The process dies, and soon restarts."""
    node.stop(power=False)
    soon = dice.about(scene.swarm.weather.delay_mean)
    scene.later(soon, partial(_raise, node))


def _resettle(scene: NemesisContext) -> Undo | None:
    """It is restarted with other election settings in its own file."""
    node, dice, timing = scene.victim(), scene.dice, scene.swarm.timing
    if not node.up:
        return None
    patience = timing.election_timeout * dice.choice(OWN_PACES)
    fencing = dice.choice(tuple(Fencing))
    node.stop(power=False)
    node.configure(max(patience, 2 * timing.replication_timeout), fencing)
    scene.note(f"node {node.me} has other settings: {fencing}")
    return partial(_raise, node)


# -- directories


def _wipe(scene: NemesisContext) -> Undo | None:
    """Its disk is lost; it restarts on a new one."""
    node = scene.victim()
    if not node.up or not _is_whole(scene):
        return None
    _lose(scene, node)
    scene.note(f"disk {node.me} is lost, the new one is {node.instance}")
    return partial(_raise, node)


def _swap(scene: NemesisContext) -> Undo | None:
    """It runs on a new directory, until the old one is put back."""
    node = scene.victim()
    if not node.up or not _is_whole(scene):
        return None
    former = node.instance
    losses = _lose(scene, node)
    scene.note(f"disk {node.me} is away, there is {node.instance}")
    node.start()

    def undo() -> None:
        if scene.losses != losses:
            return  # it may vote with the new one, and another is lost: two are too many
        if _may_vote(scene, node) and not _is_whole(scene):
            return  # this loses the new one, and not every other voter is available
        if node.up:
            node.stop(power=False)
        node.exchange(former)
        scene.note(f"disk {node.me} is {former} again")
        node.start()

    return undo


def _lose(scene: NemesisContext, node: NodePart) -> int:
    node.stop(power=scene.dice.random() < 0.5)
    node.exchange()
    scene.losses += 1
    return scene.losses


def _may_vote(scene: NemesisContext, node: NodePart) -> bool:
    """Return whether some log may name the node's current directory as a voter.

    The log of a node that is down is unknown, so it may.
    """
    pair = (node.me, node.instance)
    for each in scene.nodes:
        if not each.up:
            return True
        configuration = each.core.machine.replicated_log.configurations.in_force
        if configuration is not None and pair in configuration.voters:
            return True
    return False


def _is_whole(scene: NemesisContext) -> bool:
    """No disk is missing: a disk lost now is the only one (membership.md M5, its limit).

    All nodes know as confirmed that all existing directories vote, so no vote and no ack of a lost
    one can be needed any more.
    """
    pairs = {(node.me, node.instance) for node in scene.nodes}
    changing = "members" in scene.swarm.variety.habits
    ledgers = [node.core.machine.replicated_log for node in scene.nodes if node.up]
    if len(ledgers) < len(scene.nodes):
        return False
    for replicated_log in ledgers:
        configuration = replicated_log.configurations.in_force
        if configuration is None or not set(configuration.voters) <= pairs:
            return False
        if len(configuration.voters) < (VOTERS_MIN if changing else len(pairs)):
            return False
        if replicated_log.confirmed < replicated_log.configurations.last_decisive:
            return False
    return True


def _pause(scene: NemesisContext) -> Undo | None:
    node = scene.victim()
    if not node.reachable:
        return None
    node.pause()
    life = node.life

    def undo() -> None:
        if node.life == life and node.paused:
            node.resume()

    return undo


# -- links


def _isolate(scene: NemesisContext) -> Undo:
    return isolate_node(scene, scene.victim(), "is isolated")


def isolate_node(scene: NemesisContext, alone: NodePart, why: str) -> Undo:
    """It is isolated from the others."""
    pairs = [pair for pair in _pairs(scene) if alone.me in pair]
    return _block(scene, f"node {alone.me} {why}", pairs)


def _oneway(scene: NemesisContext) -> Undo | None:
    if len(scene.nodes) == 1:
        return None
    mute, dice = scene.victim().me, scene.dice
    pairs = [pair for pair in _pairs(scene) if pair[0] == mute]
    if dice.random() < 0.5:
        pairs = [dice.choice(pairs)]
    if dice.random() < 0.5:
        pairs = [(there, here) for here, there in pairs]
    return _block(scene, f"one-way cut {pairs}", pairs)


def _ring(scene: NemesisContext) -> Undo | None:
    """Every node sees a majority, no two the same; of three nodes two do not see each other."""
    order = [int(node.me) for node in scene.nodes]
    if len(order) < 3:
        return None
    scene.dice.shuffle(order)
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
    return _block(scene, f"ring {order}", cut)


def _halves(scene: NemesisContext) -> Undo | None:
    dice = scene.dice
    size = len(scene.nodes)
    if size == 1:
        return None
    minority = sorted(dice.sample([node.me for node in scene.nodes], dice.randint(1, size // 2)))
    pairs = [(a, b) for a, b in _pairs(scene) if (a in minority) != (b in minority)]
    return _block(scene, f"{minority} cut off", pairs)


def _pairs(scene: NemesisContext) -> list[Pair]:
    ids = [int(node.me) for node in scene.nodes]
    return [(here, there) for here in ids for there in ids if here != there]


def _refuse(scene: NemesisContext) -> Undo:
    """A node runs but no connection succeeds, as when its table of connections is full."""
    node = scene.victim()
    scene.note(f"node {node.me} refuses connections")
    scene.network.refuse(node.me)
    return partial(scene.network.refusing.discard, int(node.me))


def _block(scene: NemesisContext, what: str, pairs: list[Pair]) -> Undo:
    tear = scene.dice.random() < 0.5
    scene.note(f"{what}{', connections break' if tear else ''}")
    scene.network.block(pairs, tear=tear)

    def undo() -> None:
        scene.note(f"over: {what}")
        scene.network.unblock(pairs)

    return undo


# -- disks and clocks


def _slow_disk(scene: NemesisContext) -> Undo:
    node = scene.victim()
    node.disk.slowness = 1.0 + scene.dice.random() * SLOWNESS_MAX
    scene.note(f"disk {node.me} is {node.disk.slowness:.0f} times slower")
    return partial(setattr, node.disk, "slowness", 1.0)


def _broken_disk(scene: NemesisContext) -> Undo:
    node = scene.victim()
    node.disk.broken = True
    scene.note(f"disk {node.me} fails")
    return partial(setattr, node.disk, "broken", False)  # noqa: FBT003 - setattr's order


def _wall_jump(scene: NemesisContext) -> Undo:
    node = scene.victim()
    node.clocks.wall_ahead += WALL_JUMP_MAX * (2 * scene.dice.random() - 1)
    scene.note(f"wall clock of node {node.me} was set")
    return _nothing


def _clock_jump(scene: NemesisContext) -> Undo:
    node = scene.victim()
    node.clocks.ahead += scene.dice.random() * 4 * scene.swarm.timing.election_timeout
    scene.note(f"monotonic clock of node {node.me} jumped ahead")
    return _nothing


# -- operators


def _promote(scene: NemesisContext) -> Undo | None:
    node = scene.chosen.node if scene.chosen else scene.dice.choice(scene.nodes)
    return _ask(node, "promote", lambda ticket: PromoteAsked(ticket=ticket))


def _demote(scene: NemesisContext) -> Undo | None:
    node, dice = scene.victim(), scene.dice
    others = [each.me for each in scene.nodes if each is not node]
    to: Replica | None = dice.choice([None, *others])
    return _ask(node, f"demote to {to}", lambda ticket: DemoteAsked(ticket=ticket, to=to))


def _rollback_queue(scene: NemesisContext) -> Undo | None:
    node = scene.victim()
    return _ask(node, "rollback queue", lambda ticket: RollbackAsked(ticket=ticket))


def _ask(node: NodePart, what: str, make: Callable[[int], Input]) -> Undo | None:
    if not node.up:
        return None
    node.operate(f"operator: {what}", make)
    return _nothing


def _raise(node: NodePart) -> None:
    if not node.up:
        node.start()


def _nothing() -> None:
    """There is nothing to undo."""


TROUBLES: dict[Fault, Callable[[NemesisContext], Undo | None]] = {
    Fault.FAIL_FSYNC: _broken_disk,
    Fault.MONOTONIC_JUMP: _clock_jump,
    Fault.KILL: _crash,
    Fault.DEMOTE: _demote,
    Fault.HALVES: _halves,
    Fault.ISOLATE: _isolate,
    Fault.ONE_WAY: _oneway,
    Fault.PAUSE: _pause,
    Fault.POWER_CUT: _power,
    Fault.PROMOTE: _promote,
    Fault.UNREACHABLE: _refuse,
    Fault.RESETTLE: _resettle,
    Fault.RING: _ring,
    Fault.ROLLBACK_QUEUE: _rollback_queue,
    Fault.SHAKY: _shaky,
    Fault.SLOW_FSYNC: _slow_disk,
    Fault.SWAP: _swap,
    Fault.CLOCK_JUMP: _wall_jump,
    Fault.WIPE: _wipe,
}
"""By name. None comes back when it could not be done."""
