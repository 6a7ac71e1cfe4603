"""One drill in one simulated cluster: its steps in virtual time, and what it waits for."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from admin.drills import targets
from admin.drills.model import Condition, Drill, Step, Value
from admin.drills.targets import Names
from admin.links.rules import DirectedLink
from qsync.faultpoints import FaultPoints
from qsync.sim.kernel.machine import MemberMachine
from qsync.sim.kernel.world import KernelWorld
from qsync.sim.parts import Pair

BEGIN_S_MAX = 60.0
REST_TIMEOUTS = 80
"""After healing, so many election timeouts of virtual time must be enough to come to rest."""
UNTIL_S = 30.0
WAKE_S = 0.01
"""Virtual time between two looks at what a step waits for."""

FLAP = "flap "

Do = Callable[["Play", Step, list[MemberMachine]], None]


class WaitMissed(Exception):
    """What a step waited for did not come."""


@dataclass(slots=True)
class Play:
    """`acts`: what each verb does. `struck`: nodes whose disks have struck."""

    drill: Drill
    world: KernelWorld
    acts: Mapping[str, Do]
    names: Names = field(default_factory=dict)
    labels: dict[str, float] = field(default_factory=dict)
    struck: set[int] = field(default_factory=set)
    acked_then: int = 0
    _scan: tuple[int, int] = (0, 0)
    _turns: dict[str, int] = field(default_factory=dict)

    def run(self) -> None:
        """Raises Violation or Missed."""
        world = self.world
        world.start()
        self.until(lambda: self.leader() is not None and self.acked > 0, BEGIN_S_MAX, "a leader")
        known = [f"n{node.me}" for node in world.nodes]
        self.names = targets.resolve(self.drill, known, self.leader())
        fault = world.clockwork.now
        for step in self.drill.method:
            begun, self.acked_then = world.clockwork.now, self.acked
            self._step(step)
            if step.verb not in {"wait", "until"}:
                fault = begun
            if step.label is not None:
                self.labels[step.label] = world.clockwork.now - fault
        self.heal()
        world.heal()
        patience = REST_TIMEOUTS * world.swarm.timing.election_timeout
        self.until(lambda: world.unrest() is None, patience, "rest after healing")
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
            self._pass(seconds(step.options, "for", 0.0))
        elif step.verb == "until":
            condition = step.condition
            assert condition is not None
            limit = seconds(step.options, "within", UNTIL_S)
            self.until(lambda: self._holds(condition), limit, condition.describe())
        else:
            names = [n for word in step.on for n in targets.now(self.names, word, self.leader())]
            self.acts[step.verb](self, step, [self._node(name) for name in names])

    def _pass(self, seconds: float) -> None:
        clockwork = self.world.clockwork
        end = clockwork.now + seconds
        clockwork.after(seconds, _nothing)
        while clockwork.now < end:
            self.world.step()

    def until(self, fact: Callable[[], bool], limit: float, what: str) -> None:
        """Let time pass until it is so. Raises Missed."""
        deadline = self.world.clockwork.now + limit
        while not fact():
            if self.world.clockwork.now > deadline:
                raise WaitMissed(f"not within {limit:g} virtual s: {what}")
            self._pass(WAKE_S)

    # -- looking

    def _holds(self, condition: Condition) -> bool:
        return PROBES[condition.probe](self, condition) is condition.holds

    def leader(self) -> str | None:
        """Who leads now, by name."""
        return next((f"n{node.me}" for node in self._leading(())), None)

    def _leading(self, but: tuple[str, ...]) -> list[MemberMachine]:
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

    def all_of(self, condition: Condition, fact: Callable[[MemberMachine], bool]) -> bool:
        """Of every node of a target."""
        return all(fact(self._node(name)) for name in self.names[condition.node or ""])

    def has_caught_up(self, node: MemberMachine) -> bool:
        """It has on disk what the leader had confirmed, and its votes and acks count."""
        machine = node.core.machine
        leaders = self._leading(())
        confirmed = leaders[0].core.machine.ledger.confirmed if leaders else None
        mine = machine.ledger.written if node.reachable and machine.raft.ballot.member else -1
        return confirmed is not None and mine >= confirmed

    def _node(self, name: str) -> MemberMachine:
        return next(node for node in self.world.nodes if f"n{node.me}" == name)

    # -- doing

    @property
    def everybody(self) -> list[str]:
        """The names of all nodes."""
        return [f"n{node.me}" for node in self.world.nodes]

    def in_turn(self, what: str, phases: Sequence[tuple[Callable[[], None], float]]) -> None:
        """Each phase for its seconds, over and over, until `what` is ended or begun anew."""
        self.end(what)
        mine = self._turns[what]

        def go(at: int) -> None:
            if self._turns[what] == mine:
                do, lasts = phases[at]
                do()
                self.world.clockwork.after(lasts, go, (at + 1) % len(phases))

        go(0)

    def end(self, what: str) -> None:
        """Of what goes on in turn."""
        self._turns[what] = self._turns.get(what, 0) + 1

    def mend(self) -> None:
        """All links."""
        for what in self._turns:
            if what.startswith(FLAP):
                self.end(what)
        network = self.world.network
        network.held_up.clear()
        network.unblock([pair for pair, times in network.blocked.items() for _ in range(times)])

    def disarm(self, node: MemberMachine) -> None:
        """Nothing strikes there any more."""
        if node.up:
            points_of(node).disarm()
        node.disk.heal()
        node.clocks.wall_ahead = 0.0
        self.struck.discard(node.me)

    def heal(self) -> None:
        """Everything, and the drill goes on."""
        for what in self._turns:
            self.end(what)
        self.mend()
        for node in self.world.nodes:
            self.disarm(node)
            start(node)
            resume(node)


def start(node: MemberMachine) -> None:
    """A process, if there is none."""
    if not node.up:
        node.start()


def resume(node: MemberMachine) -> None:
    """It goes on, if it stands still."""
    if node.paused:
        node.resume()


def points_of(node: MemberMachine) -> FaultPoints:
    """Those of its process."""
    return node.node.requests.desk.seams.points


def _struck(play: Play, condition: Condition) -> bool:
    """A fault point of the disk of each, or of its process."""

    def has_struck(node: MemberMachine) -> bool:
        known = points_of(node).describe() if node.up else []
        return node.me in play.struck or any(each["struck"] for each in known)

    return play.all_of(condition, has_struck)


def pairs(wanted: Iterable[DirectedLink]) -> list[Pair]:
    """Links as the simulated network names them."""
    return [(int(link.source[1:]), int(link.target[1:])) for link in wanted]


def seconds(options: Mapping[str, Value], name: str, usual: float) -> float:
    """An option that is a number."""
    found = options.get(name, usual)
    assert isinstance(found, float), (name, found)
    return found


def _nothing() -> None:
    """Time passes."""


PROBES: Mapping[str, Callable[[Play, Condition], bool]] = {
    "leader_exists": Play.another_leads,
    "writable": Play.another_leads,
    "healthy": Play.healthy,
    "acked_again": Play.acked_again,
    "answers": lambda play, it: play.all_of(it, lambda node: node.reachable),
    "leads": lambda play, it: play.all_of(it, lambda node: node.leads and not node.paused),
    "read_only": lambda play, it: play.all_of(it, lambda node: node.reachable and not node.leads),
    "caught_up": lambda play, it: play.all_of(it, play.has_caught_up),
    "struck": _struck,
}
"""What a step may wait for."""
