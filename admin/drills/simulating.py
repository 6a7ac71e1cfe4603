"""The same drill in the simulator: virtual time, one thread, the same from the same seed."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from admin.drills import links, targets
from admin.drills.model import Condition, Drill, Step, Value
from admin.drills.record import End
from admin.drills.targets import Names
from admin.links.rules import Link
from qsync.core.inputs import DemoteAsked, PromoteAsked
from qsync.errors import ConfigError
from qsync.sim.canon import Violation
from qsync.sim.node import Node
from qsync.sim.plan import Plan
from qsync.sim.swarm import FLAWS
from qsync.sim.world import World

BEGIN_S_MAX = 60.0
REST_TIMEOUTS = 80
"""After healing, so many election timeouts of virtual time must be enough to come to rest."""
UNTIL_S = 30.0
WAKE_S = 0.01
"""Virtual time between two looks at what a step waits for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """How it ended. Two runs of one seed have the same `digest`."""

    drill: str
    seed: int
    end: End
    why: str | None
    virtual_seconds: float
    seconds: float
    events: int
    acked: int
    digest: str
    labels: Mapping[str, float]

    def describe(self) -> str:
        """One line."""
        why = "" if self.why is None else f" ({self.why})"
        steps = "".join(f", {name} {seconds:.3f} s" for name, seconds in self.labels.items())
        return (
            f"{self.drill}, seed {self.seed}: {self.end}{why} in {self.virtual_seconds:.1f} "
            f"virtual s, {self.acked} acknowledged, trace {self.digest}{steps}"
        )


class _Missed(Exception):
    """What a step waited for did not come."""


@dataclass(slots=True)
class _Play:
    drill: Drill
    world: World
    names: Names = field(default_factory=dict)
    labels: dict[str, float] = field(default_factory=dict)
    acked_then: int = 0
    _scan: tuple[int, int] = (0, 0)

    def run(self) -> None:
        """Raises Violation or _Missed."""
        world = self.world
        world.start()
        self._until(lambda: self._leader() is not None and self.acked > 0, BEGIN_S_MAX, "a leader")
        known = [f"n{node.me}" for node in world.nodes]
        self.names = targets.resolve(self.drill, known, self._leader())
        fault = world.clockwork.now
        for step in self.drill.method:
            begun, self.acked_then = world.clockwork.now, self.acked
            self._step(step)
            if step.verb not in {"wait", "until"}:
                fault = begun
            if step.label is not None:
                self.labels[step.label] = world.clockwork.now - fault
        world.heal()
        patience = REST_TIMEOUTS * world.swarm.timing.election_timeout
        self._until(lambda: world.unrest() is None, patience, "rest after healing")
        for node in world.nodes:
            world.invariants.check_fold(node)

    @property
    def acked(self) -> int:
        """Operations that were answered well so far."""
        lines = self.world.history.lines
        at, count = self._scan
        count += sum(line.type == "ok" and line.f != "read" for line in lines[at:])
        self._scan = (len(lines), count)
        return count

    def _step(self, step: Step) -> None:
        if step.verb == "wait":
            self._pass(_seconds(step.options, "for", 0.0))
        elif step.verb == "until":
            condition = step.condition
            assert condition is not None
            limit = _seconds(step.options, "within", UNTIL_S)
            self._until(lambda: self._holds(condition), limit, condition.describe())
        else:
            names = [n for word in step.on for n in targets.now(self.names, word, self._leader())]
            _ACTS[step.verb](self, step, [self._node(name) for name in names])

    def _pass(self, seconds: float) -> None:
        clockwork = self.world.clockwork
        end = clockwork.now + seconds
        clockwork.after(seconds, _nothing)
        while clockwork.now < end:
            self.world.step()

    def _until(self, fact: Callable[[], bool], limit: float, what: str) -> None:
        deadline = self.world.clockwork.now + limit
        while not fact():
            if self.world.clockwork.now > deadline:
                raise _Missed(f"not within {limit:g} virtual s: {what}")
            self._pass(WAKE_S)

    # -- looking

    def _holds(self, condition: Condition) -> bool:
        return _PROBES[condition.probe](self, condition) is condition.holds

    def _leader(self) -> str | None:
        return next((f"n{node.me}" for node in self._leading(())), None)

    def _leading(self, but: tuple[str, ...]) -> list[Node]:
        nodes = [node for node in self.world.nodes if f"n{node.me}" not in but]
        found = [node for node in nodes if node.leads and not node.paused]
        return sorted(found, key=lambda node: -node.core.machine.term)

    def another_leads(self, condition: Condition) -> bool:
        """Another than `other`, if that is named."""
        return bool(self._leading(self.names[condition.other] if condition.other else ()))

    def healthy(self, _: Condition) -> bool:
        """All are there, and one leads."""
        return all(node.reachable for node in self.world.nodes) and len(self._leading(())) == 1

    def acked_again(self, _: Condition) -> bool:
        """More than may have been under way when the step began."""
        return self.acked > self.acked_then + len(self.world.clients)

    def all_of(self, condition: Condition, fact: Callable[[Node], bool]) -> bool:
        """Of every node of a target."""
        return all(fact(self._node(name)) for name in self.names[condition.node or ""])

    def has_caught_up(self, node: Node) -> bool:
        """It has on disk what the leader had confirmed."""
        leaders = self._leading(())
        confirmed = leaders[0].core.machine.ledger.confirmed if leaders else None
        mine = node.core.machine.ledger.written if node.reachable else -1
        return confirmed is not None and mine >= confirmed

    def _node(self, name: str) -> Node:
        return next(node for node in self.world.nodes if f"n{node.me}" == name)

    # -- doing

    def cut(self, wanted: list[Link]) -> None:
        """Nothing passes over these links."""
        pairs = [(int(link.source[1:]), int(link.target[1:])) for link in wanted]
        self.world.network.block(pairs, tear=False)

    def across(self, step: Step, nodes: list[Node]) -> list[Link]:
        """The links that a step means."""
        word = step.options.get("with")
        beside = () if word is None else targets.now(self.names, str(word), self._leader())
        known = [f"n{node.me}" for node in self.world.nodes]
        inside = [f"n{node.me}" for node in nodes]
        return links.across(known, inside, beside, str(step.options.get("way", "both")))

    def heal(self) -> None:
        """Everything, and the drill goes on."""
        self.world.network.blocked.clear()
        for node in self.world.nodes:
            node.disk.heal()
            _start(node)
            _resume(node)


def simulate(drill: Drill, *, nodes: int) -> Simulated:
    """Run it. Raises ConfigError for a drill that does what the simulator cannot."""
    refuse_what_cannot_be(drill)
    began = time.perf_counter()
    world = World(Plan(seed=drill.seed, nodes=nodes, strikes=(), without=FLAWS))
    play = _Play(drill, world)
    end, why = End.PASSED, None
    try:
        play.run()
    except (Violation, _Missed) as error:
        end, why = End.FAILED, str(error)
    late = [
        f"{name} took {seconds:.3f} virtual s"
        for name, seconds in play.labels.items()
        if seconds > drill.expect.limits.get(name, float("inf"))
    ]
    if end is End.PASSED and late:
        end, why = End.FAILED, "; ".join(late)
    return Simulated(
        drill=drill.name,
        seed=drill.seed,
        end=end,
        why=why,
        virtual_seconds=world.clockwork.now,
        seconds=time.perf_counter() - began,
        events=len(world.trace),
        acked=play.acked,
        digest=world.trace.digest(),
        labels=play.labels,
    )


def refuse_what_cannot_be(drill: Drill) -> None:
    """Raises ConfigError naming the steps that need real processes."""
    verbs = {step.verb for step in drill.method} - {"wait", "until"}
    probes = {step.condition.probe for step in drill.method if step.condition is not None}
    strange = sorted((verbs - _ACTS.keys()) | (probes - _PROBES.keys()))
    if strange:
        raise ConfigError(
            f"{drill.name} needs real processes: the simulator has no {', '.join(strange)}",
            hint="run it without --simulate",
        )


def _start(node: Node) -> None:
    if not node.up:
        node.start()


def _stop(node: Node) -> None:
    if node.up:
        node.stop(power=False)


def _pause(node: Node) -> None:
    if node.reachable:
        node.pause()


def _resume(node: Node) -> None:
    if node.paused:
        node.resume()


def _fill(node: Node) -> None:
    node.disk.broken = True


def _promote(node: Node) -> None:
    if node.reachable:
        node.operate("promote", lambda ticket: PromoteAsked(ticket=ticket))


def _demote(node: Node) -> None:
    if node.reachable:
        node.operate("demote", lambda ticket: DemoteAsked(ticket=ticket, to=None))


def _seconds(options: Mapping[str, Value], name: str, usual: float) -> float:
    found = options.get(name, usual)
    assert isinstance(found, float), (name, found)
    return found


def _nothing() -> None:
    """Time passes."""


_Do = Callable[[_Play, Step, list[Node]], None]


def _each(do: Callable[[Node], None]) -> _Do:
    def all_of_them(_: _Play, __: Step, nodes: list[Node]) -> None:
        for node in nodes:
            do(node)

    return all_of_them


def _ring(play: _Play, _: Step, __: list[Node]) -> None:
    play.cut(links.ring([f"n{node.me}" for node in play.world.nodes]))


def _bridge(play: _Play, _: Step, nodes: list[Node]) -> None:
    play.cut(links.bridge([f"n{node.me}" for node in play.world.nodes], f"n{nodes[0].me}"))


_ACTS: Mapping[str, _Do] = {
    "kill": _each(_stop),
    "start": _each(_start),
    "pause": _each(_pause),
    "resume": _each(_resume),
    "fill": _each(_fill),
    "free": _each(lambda node: node.disk.heal()),
    "promote": _each(_promote),
    "demote": _each(_demote),
    "cut": lambda play, step, nodes: play.cut(play.across(step, nodes)),
    "ring": _ring,
    "bridge": _bridge,
    "mend": lambda play, _, __: play.world.network.blocked.clear(),
    "heal": lambda play, _, __: play.heal(),
}
_PROBES: Mapping[str, Callable[[_Play, Condition], bool]] = {
    "leader_exists": _Play.another_leads,
    "writable": _Play.another_leads,
    "healthy": _Play.healthy,
    "acked_again": _Play.acked_again,
    "answers": lambda play, it: play.all_of(it, lambda node: node.reachable),
    "leads": lambda play, it: play.all_of(it, lambda node: node.leads and not node.paused),
    "read_only": lambda play, it: play.all_of(it, lambda node: node.reachable and not node.leads),
    "caught_up": lambda play, it: play.all_of(it, play.has_caught_up),
}
