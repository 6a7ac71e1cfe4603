"""Run a seed: a phase with faults, then healing, after which the cluster must come to rest."""

import gc
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from qsync.client.response_timeout import SILENCE_S
from qsync.sim.canon import PropertyViolation
from qsync.sim.history import RecordedLine
from qsync.sim.kernel import mutants
from qsync.sim.kernel.machine import MemberMachine
from qsync.sim.mutants.catalogue import CATALOGUE
from qsync.sim.plan import EVENTS, Plan
from qsync.sim.properties import operators_answered
from qsync.sim.trace import HEADING, Trace
from qsync.sim.turns import AWAY_TIMEOUTS
from qsync.sim.world import World

BUDGET_TIMEOUTS = 80
"""After healing, this many election timeouts of virtual time must be enough to come to rest."""
BUDGET_S = 4 * SILENCE_S
"""Or this many virtual seconds, if that is more: dead connections are detected after seconds."""
REST_CHECK_EVENTS = 20
GARBAGE_OBJECTS = 50_000
"""The threshold of Python's garbage collector: a world is in use until its end."""
EVIDENCE_LINES = 25
"""How many lines of the trace are kept with a violation."""
_NOT_WORK = frozenset({"create", "tune", "resolve", "follow"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedFailure:
    """A violation: the property (0: an internal error), the event, and the end of the trace."""

    number: int
    text: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedReport:
    """One run. `digest` of the trace: equal runs have equal digests.

    `acked`: writes of clients that were answered with a receipt. `strikes`: the faults of the
    nemesis, by number. `flaws`: the permanent faults of links, disks and clocks.
    """

    plan: Plan
    nodes: int
    clients: int
    keys: int
    events: int
    virtual_seconds: float
    seconds: float
    digest: str
    broken: SeedFailure | None
    acked: int
    strikes: dict[int, str]
    flaws: tuple[str, ...]
    counts: dict[str, int]

    @property
    def seed(self) -> int:
        """The source of all random draws of the run."""
        return self.plan.seed

    @property
    def held(self) -> bool:
        """Every property held."""
        return self.broken is None

    @property
    def idle(self) -> str:
        """Why the run proves nothing, or an empty text."""
        if self.acked == 0:
            return "no write was acknowledged"
        return "" if self.strikes else "nothing broke"

    def describe(self) -> str:
        """One line."""
        verdict = "held" if self.broken is None else self.broken.text
        if self.broken is None and self.idle:
            verdict = f"inconclusive: {self.idle}"
        return (
            f"seed {self.seed}: {self.nodes} nodes, {self.events} events, "
            f"{self.virtual_seconds:.1f} virtual s, trace {self.digest}: {verdict}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run with all its observable results.

    `applied`: session and number of every request that took effect for good, all of them if the
    run is `decided`: it came to rest, and nothing that is visible may still be lost.
    `leases_hold`: no clock jumped, so reads by lease are as good as others.
    """

    report: SeedReport
    trace: Trace
    history: list[RecordedLine]
    applied: dict[tuple[str, int], int]
    decided: bool
    leases_hold: bool


def run(plan: Plan) -> Run:
    """Run the plan to its end, or to the first violated property."""
    world = World(plan)
    return told(world, play(world))


def told(world: World, report: SeedReport) -> Run:
    """The result of a finished world."""
    return Run(
        report=report,
        trace=world.trace,
        history=world.history.lines,
        applied=world.invariants.canon.applied(),
        decided=report.held and world.decided,
        leases_hold=world.leases_hold,
    )


def run_seed(
    seed: int, *, nodes: int | None = None, mutant: str | None = None, events: int = EVENTS
) -> SeedReport:
    """Run one seed and report whether every property held."""
    return play(World(Plan(seed=seed, nodes=nodes, mutant=mutant, events=events)))


def mutant_names() -> list[str]:
    """All mutants: of a replica, of the node around it, of the client."""
    return [*CATALOGUE, *mutants.NODES, *mutants.CLIENTS]


def play(world: World) -> SeedReport:
    """Run a new world to its end."""
    return reported(world, partial(_live, world))


def reported(world: World, live: Callable[[], None]) -> SeedReport:
    """The result: every exception of `live` is a finding."""
    usual = gc.get_threshold()
    gc.set_threshold(GARBAGE_OBJECTS, *usual[1:])
    try:
        return _reported(world, live)
    finally:
        gc.set_threshold(*usual)


def _live(world: World) -> None:
    world.start()
    _safety(world)
    calm_down(world)


def calm_down(world: World) -> None:
    """Heal everything; the cluster comes to rest and answers all requests."""
    world.heal()
    come_to_rest(world)
    _turns(world)
    _absence(world)
    for node in world.nodes:
        world.looker.check_fold(node)


def _reported(world: World, live: Callable[[], None]) -> SeedReport:
    began = time.perf_counter()
    broken = None
    try:
        live()
    except PropertyViolation as violation:
        broken = _broken(world, violation.number, str(violation))
    except Exception as error:  # noqa: BLE001 - whatever our code raises is a finding
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} at {where.filename}:{where.lineno} {where.line}"
        broken = _broken(world, 0, text, traceback.format_exc().splitlines())
    load = world.swarm.load
    return SeedReport(
        plan=world.plan,
        nodes=world.swarm.nodes,
        clients=load.clients,
        keys=load.keys,
        events=len(world.trace),
        virtual_seconds=world.clockwork.now,
        seconds=time.perf_counter() - began,
        digest=world.trace.digest(),
        broken=broken,
        acked=_acked(world),
        strikes=dict(world.faults.struck),
        flaws=world.swarm.flaws,
        counts=_counts(world),
    )


def _safety(world: World) -> None:
    events = world.plan.events
    while len(world.trace) < events and world.step():
        pass


def rest_budget(world: World) -> float:
    """How many virtual seconds a healed cluster may take to come to rest."""
    return max(BUDGET_TIMEOUTS * world.swarm.timing.election_timeout, BUDGET_S)


def come_to_rest(world: World) -> None:
    """A healed cluster comes to rest in time, and every request is answered. Raises Violation."""
    budget = rest_budget(world)
    end = world.clockwork.now + budget
    why: str | None = "nothing happened"
    while world.clockwork.now < end:
        for _ in range(REST_CHECK_EVENTS):
            world.step()
        why = world.unrest()
        if why is None:
            return
    operators_answered(world.waiting(), BUDGET_TIMEOUTS)
    raise PropertyViolation(11, f"not at rest after {budget:g} virtual s: {why}")


def _turns(world: World) -> None:
    """Without faults every request of an operator is answered, and writes are accepted again."""
    end = world.clockwork.now + world.turns.go()
    while world.clockwork.now < end and world.step():
        pass
    come_to_rest(world)


def _absence(world: World) -> None:
    """A voter is away, and every operation with it still ends in time."""
    end = world.clockwork.now + world.turns.send_away()
    while world.clockwork.now < end and world.step():
        pass
    operators_answered(world.waiting(), AWAY_TIMEOUTS)
    world.turns.call_back()
    come_to_rest(world)


def _broken(world: World, number: int, text: str, more: Iterable[str] = ()) -> SeedFailure:
    return SeedFailure(
        number=number, text=text, evidence=(*more, HEADING, *world.trace.lines(EVIDENCE_LINES))
    )


def _is_replaced(node: MemberMachine) -> bool:
    """It votes with another directory than its first."""
    if not node.up or not node.replaced:
        return False
    configuration = node.core.machine.replicated_log.configurations.in_force
    return configuration is not None and configuration.names(node.me, node.instance)


def _acked(world: World) -> int:
    return sum(
        line.type == "ok" and line.f != "read" and line.f not in _NOT_WORK
        for line in world.history.lines
    )


def _counts(world: World) -> dict[str, int]:
    """Counts of events: a run without events proves nothing."""
    counts = Counter(f"fault {kind}" for kind in world.faults.struck.values())
    counts["terms led"] = len(world.invariants.leaders)
    counts["confirmed"] = world.invariants.canon.last
    counts["rolled back"] = sum(world.invariants.canon.rolled_back)
    counts["orders of operators"] = world.turns.orders
    counts["orders about members"] = world.turns.members.orders
    counts["changes of members"] = world.invariants.rules.changes
    counts["snapshots installed"] = sum(each.disk.spaces.installed for each in world.nodes)
    counts["snapshots written"] = sum(len(each.disk.snapshots.written) for each in world.nodes)
    counts["logs trimmed"] = sum(each.disk.log.trims for each in world.nodes)
    counts["replaced"] = sum(map(_is_replaced, world.nodes))
    counts["messages lost"] = world.room.net.lost
    counts["rights judged"] = world.invariants.promises.rights.writes
    for asking in (*world.clients, *world.turns.chores.values()):
        counts.update(asking.counts)
    return dict(counts)
