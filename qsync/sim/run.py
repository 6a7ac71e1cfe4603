"""Run seeds: everything may break, then everything is healed and must come to rest."""

import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass

from qsync.sim.canon import Violation
from qsync.sim.mutants import MUTANTS
from qsync.sim.trace import HEADING
from qsync.sim.workload import Line
from qsync.sim.world import World

EVENTS = 2500
"""Events of the phase in which things break, unless told otherwise."""
BUDGET_TIMEOUTS = 80
"""After healing, this many election timeouts of virtual time must be enough to come to rest."""
REST_CHECK_EVENTS = 20
EVIDENCE_LINES = 25
"""So many lines of the trace are kept with a violation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """What broke: a property (0: an error of our own), where, and the last lines of the trace."""

    number: int
    text: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One seed. `digest` of the trace: equal runs have equal digests."""

    seed: int
    nodes: int
    mutant: str | None
    events: int
    virtual_seconds: float
    seconds: float
    digest: str
    broken: Broken | None
    counts: dict[str, int]

    @property
    def held(self) -> bool:
        """Every property held."""
        return self.broken is None

    def describe(self) -> str:
        """One line."""
        verdict = "held" if self.broken is None else self.broken.text
        return (
            f"seed {self.seed}: {self.nodes} nodes, {self.events} events, "
            f"{self.virtual_seconds:.1f} virtual s, trace {self.digest}: {verdict}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A seed run again, with everything that can be seen of it."""

    report: Report
    heading: str
    lines: list[str]
    history: list[Line]


Progress = Callable[[Report], None]


def run_seed(
    seed: int, *, nodes: int | None = None, mutant: str | None = None, events: int = EVENTS
) -> Report:
    """Run one seed and say whether every property held."""
    return _run(World(seed, nodes=nodes, mutant=mutant), mutant, events)


def replay(
    seed: int,
    *,
    nodes: int | None = None,
    mutant: str | None = None,
    events: int = EVENTS,
    last: int | None = None,
) -> Replay:
    """Run one seed and keep the trace (its `last` lines, or all) and the clients' history."""
    world = World(seed, nodes=nodes, mutant=mutant)
    report = _run(world, mutant, events)
    return Replay(
        report=report,
        heading=HEADING,
        lines=world.trace.lines(last),
        history=world.history.lines,
    )


def main_seeds(
    seeds: Iterable[int],
    *,
    nodes: int | None = None,
    mutant: str | None = None,
    events: int = EVENTS,
    jobs: int = 1,
    progress: Progress | None = None,
    stop_at_first: bool = False,
) -> list[Report]:
    """Run many seeds, over `jobs` processes; `progress` is told of each. In the order of seeds."""
    reports: list[Report] = []
    for report in _reports(seeds, (nodes, mutant, events), jobs):
        reports.append(report)
        if progress is not None:
            progress(report)
        if stop_at_first and not report.held:
            break
    return sorted(reports, key=lambda each: each.seed)


def run_seeds(
    first: int, last: int, *, jobs: int = 1, progress: Progress | None = None
) -> list[Report]:
    """The seeds `first .. last`."""
    return main_seeds(range(first, last + 1), jobs=jobs, progress=progress)


def mutant_names() -> list[str]:
    """Every mutant there is."""
    return list(MUTANTS)


# -- one run


def _run(world: World, mutant: str | None, events: int) -> Report:
    began = time.perf_counter()
    broken = None
    try:
        world.start()
        _safety(world, events)
        world.heal()
        _liveness(world)
        for node in world.nodes:
            world.invariants.check_fold(node)
    except Violation as violation:
        broken = _broken(world, violation.number, str(violation))
    except Exception as error:  # noqa: BLE001 - whatever our code raises is a finding
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} at {where.filename}:{where.lineno} {where.line}"
        broken = _broken(world, 0, text, traceback.format_exc().splitlines())
    return Report(
        seed=world.seed,
        nodes=world.swarm.nodes,
        mutant=mutant,
        events=len(world.trace),
        virtual_seconds=world.clockwork.now,
        seconds=time.perf_counter() - began,
        digest=world.trace.digest(),
        broken=broken,
        counts=_counts(world),
    )


def _safety(world: World, events: int) -> None:
    while len(world.trace) < events and world.step():
        pass


def _liveness(world: World) -> None:
    end = world.clockwork.now + BUDGET_TIMEOUTS * world.swarm.timing.election_timeout
    why: str | None = "nothing happened"
    while world.clockwork.now < end:
        for _ in range(REST_CHECK_EVENTS):
            world.step()
        why = world.unrest()
        if why is None:
            return
    raise Violation(11, f"not at rest after {BUDGET_TIMEOUTS} election timeouts: {why}")


def _broken(world: World, number: int, text: str, more: Iterable[str] = ()) -> Broken:
    return Broken(
        number=number, text=text, evidence=(*more, HEADING, *world.trace.lines(EVIDENCE_LINES))
    )


def _counts(world: World) -> dict[str, int]:
    """What happened at all: a run in which nothing happens proves nothing."""
    counts = {f"fault {kind}": count for kind, count in sorted(world.faults.struck.items())}
    counts["terms led"] = len(world.invariants.leaders)
    counts["confirmed"] = world.invariants.canon.last
    counts["rolled back"] = sum(world.invariants.canon.rolled_back)
    counts["messages lost"] = world.network.lost
    for client in world.clients:
        for name, count in client.resolved.items():
            counts[name] = counts.get(name, 0) + count
    return counts


# -- many runs


_Choice = tuple[int | None, str | None, int]


def _one(seed: int, choice: _Choice) -> Report:
    nodes, mutant, events = choice
    return run_seed(seed, nodes=nodes, mutant=mutant, events=events)


def _reports(seeds: Iterable[int], choice: _Choice, jobs: int) -> Iterator[Report]:
    if jobs <= 1:
        yield from (_one(seed, choice) for seed in seeds)
        return
    left = iter(seeds)
    with ProcessPoolExecutor(jobs) as pool:
        running: set[Future[Report]] = set()
        for seed in left:
            running.add(pool.submit(_one, seed, choice))
            if len(running) < 4 * jobs:
                continue
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (each.result() for each in done)
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (each.result() for each in done)
