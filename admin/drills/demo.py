"""`qsync demo`: the drill `demo` on a temporary cluster, shown live, with its results."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from typing_extensions import override

from admin.cluster import surveys
from admin.cluster.lag import behind
from admin.cluster.surveys import ClusterSurvey
from admin.drills import reader, session
from admin.drills.expectations import JudgedRun
from admin.drills.model import Drill, Step
from admin.drills.place import PlaceNode
from admin.drills.record import RunEnd
from admin.drills.runner import DrillObserver, DrillPhase, RunView
from admin.drills.session import DrillSetup
from admin.drills.verbs.catalogue import VERBS
from admin.lab.lab import LabNode
from admin.lab.new_directory import run_directory
from admin.workload.proof import Proof
from admin.workload.tally import WriteTally
from qsync.errors import Unavailable

DRILL = "demo"
TICK_S = 0.25
EVENTS_MAX = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoPlan:
    """The options of a demo. `keep`: do not delete the cluster and its files."""

    nodes: int = 3
    seconds: float = 20.0
    kill: bool = True
    clients: int = 6
    seed: int = 1
    keep: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRow:
    """One node in the picture."""

    name: str
    state: str
    role: str = ""
    term: int = 0
    confirmed: int = 0
    lag: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoPicture:
    """The content of the screen at one moment."""

    elapsed: float
    seconds: float
    phase: str
    nodes: tuple[DemoRow, ...]
    acked: int
    unknown: int
    undone: int
    conflicts: int
    reads: int
    rate: float
    waiting: float
    gap: float
    sentence: str
    events: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """The end of a demo."""

    acked: int
    lost: int
    unknown: int
    unknown_resolved: int
    rolled_back_visible: int
    gap_seconds: float
    terms: tuple[int, ...]
    proof: Proof
    seconds: float
    keep: str | None

    @property
    def passed(self) -> bool:
        """Whether every check passed, with at least one write and one fault."""
        return self.proof.holds and self.acked > 0


class NotHealedError(Unavailable):
    """The cluster did not recover after the injected faults."""

    code = "DEMO_NOT_HEALED"
    number = 74


def run(plan: DemoPlan, show: Callable[[DemoPicture], None]) -> DemoResult:
    """Run the demo. Raises when the cluster cannot be started or healed."""
    camera = DemoCamera(plan, show)
    with run_directory(plan.keep, of=DRILL) as directory:
        setup = DrillSetup(
            out=directory,
            nodes=plan.nodes,
            keep=True,  # the whole directory is deleted
            links=False,
            record=plan.keep is not None,
            source=DRILL,
            command=f"qsync demo --seed {plan.seed}",
        )
        judged = session.run(drill(plan), setup, camera)
    return _result(judged, camera, plan)


def drill(plan: DemoPlan) -> Drill:
    """Return the drill of the catalogue, shortened to this duration in seconds."""
    found = reader.load(reader.find(DRILL))
    usual = sum(step.number("for") for step in found.method)
    return replace(
        found,
        seed=plan.seed,
        load=replace(found.load, clients=plan.clients),
        guards=replace(found.guards, time_limit=found.guards.time_limit + plan.seconds),
        method=tuple(
            _stretched(step, plan.seconds / usual)
            for step in found.method
            if plan.kill or VERBS[step.verb].spec.waits
        ),
    )


def _stretched(step: Step, factor: float) -> Step:
    times = {"for": step.number("for") * factor} if "for" in step.options else {}
    return replace(step, options={**step.options, **times})


class DemoCamera(DrillObserver):
    """Makes several screen frames per second of a run, with the events of each node."""

    def __init__(self, plan: DemoPlan, show: Callable[[DemoPicture], None]) -> None:
        self.tally = WriteTally()
        self.began = time.monotonic()
        self.next_look = 0.0
        self._plan = plan
        self._show = show
        self._events: deque[str] = deque(maxlen=EVENTS_MAX)
        self._phase = str(DrillPhase.WORKING)
        self._leader: tuple[str, int] | None = None
        self._seen: tuple[float, int] | None = None

    @property
    def elapsed(self) -> float:
        """Seconds since the demo began, including the start of the nodes."""
        return time.monotonic() - self.began

    @override
    def performed(self, step: Step, nodes: Sequence[str]) -> None:
        match step.verb, self._leader:
            case "kill", (name, term) if name in nodes:
                self._phase = f"{name} is dead"
                self._tell(f"{name}, leader of term {term}, killed with SIGKILL")
            case "start", _:
                self._phase = f"{', '.join(nodes)} is back"
                self._tell(f"{', '.join(nodes)} started again")
            case _:
                pass

    @override
    def look(self, view: RunView) -> None:
        now = time.monotonic()
        if now < self.next_look:
            return
        self.next_look = now + TICK_S
        leader = view.survey.leader
        if leader is not None and not leader.ro and self._leader != (leader.name, leader.term):
            self._leader = leader.name, leader.term
            self._tell(f"{leader.name} leads term {leader.term}")
        self.tally = view.tally
        self._show(self._picture(view, now))
        self._seen = now, len(view.tally.acked)

    def _tell(self, what: str) -> None:
        self._events.append(f"{self.elapsed:5.1f}s  {what}")

    def _picture(self, view: RunView, now: float) -> DemoPicture:
        tally, acked = view.tally, len(view.tally.acked)
        then, count = self._seen or (now, acked)
        answers = bool(view.survey.samples)
        return DemoPicture(
            elapsed=self.elapsed,
            seconds=self._plan.seconds,
            phase=self._phase if view.phase is DrillPhase.WORKING else view.phase,
            nodes=tuple(_row(node, view.survey) for node in view.nodes),
            acked=acked,
            unknown=len(tally.unknown),
            undone=len(tally.undone) - tally.refused,
            conflicts=tally.refused,
            reads=tally.reads,
            rate=(acked - count) / (now - then) if now > then else 0.0,
            waiting=tally.waiting(),
            gap=tally.gap,
            sentence=surveys.judge(view.survey).sentence if answers else "Nobody answers.",
            events=tuple(self._events),
        )


def _has_process(node: PlaceNode) -> bool:
    return isinstance(node, LabNode) and node.process is not None


def _row(node: PlaceNode, found: ClusterSurvey) -> DemoRow:
    sample = next((each for each in found.samples if each.name == node.name), None)
    if sample is None:
        return DemoRow(name=node.name, state="silent" if _has_process(node) else "dead")
    return DemoRow(
        name=node.name,
        state=sample.status or "running",
        role=sample.role,
        term=sample.term,
        confirmed=sample.confirmed,
        lag=behind(found, sample),
    )


def _result(judged: JudgedRun, camera: DemoCamera, plan: DemoPlan) -> DemoResult:
    """Return the result. Raises the error that ended the run early."""
    if judged.end is RunEnd.INTERRUPTED:
        raise KeyboardInterrupt
    done, found = judged.run, judged.run.proof
    if found is None or done.stopped is not None:
        raise NotHealedError(judged.sentence)
    tally = camera.tally
    return DemoResult(
        acked=len(tally.acked),
        lost=len(found.lost),
        unknown=done.met_unknown,
        unknown_resolved=done.met_unknown - done.unresolved,
        rolled_back_visible=len(found.rolled_back_visible),
        gap_seconds=round(tally.gap, 3),
        terms=tuple(tally.terms),
        proof=found,
        seconds=round(camera.elapsed, 3),
        keep=None if plan.keep is None else str(plan.keep),
    )
