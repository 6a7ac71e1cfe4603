"""A cluster of real processes loses its leader under load; afterwards everything is checked."""

import contextlib
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from admin.cluster import surveys
from admin.cluster.surveys import ClusterSurvey
from admin.drills.demo_bundle import DemoRecording
from admin.evidence.stored import compare_stored
from admin.lab import keeping, lab
from admin.lab.lab import Lab, LabNode
from admin.workload import clients, proof
from admin.workload.clients import Workload
from admin.workload.feed_reader import Feeding
from admin.workload.history import History, save
from admin.workload.proof import Proof
from admin.workload.tally import WriteTally
from qsync.client.blocking import connect
from qsync.errors import Unavailable

KILL_AT, RESTART_AT = 0.4, 0.65
"""The moments of the kill and the restart, as shares of the run."""
TICK_S = 0.25
UP_TIMEOUT_S = 20.0
HEAL_TIMEOUT_S = 20.0
ASK_TIMEOUT_S = 0.3
EVENTS_MAX = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoPlan:
    """What to do. `keep`: leave everything there instead of deleting it."""

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
    """What there is to see at one moment."""

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
    """How it ended."""

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
        """Everything holds, and something happened at all."""
        return self.proof.holds and self.acked > 0


Watcher = Callable[[DemoPicture], None]


def run(plan: DemoPlan, watch: Watcher) -> DemoResult:
    """Do it all. Raises when the cluster cannot be started or healed."""
    with keeping.directory(plan.keep, of="demo") as directory:
        options = {} if plan.keep is not None else {"node.events": "false"}
        demo_lab = lab.create(directory / "lab", name="demo", nodes=plan.nodes, options=options)
        try:
            result = _Demo(plan, demo_lab, watch).run()
        finally:
            demo_lab.stop_all()
        if plan.keep is not None:
            compare_stored(plan.keep, demo_lab.directories)
        return result


class NotHealedError(Unavailable):
    """The cluster did not come back after it was broken on purpose."""

    code = "DEMO_NOT_HEALED"
    number = 74


@dataclass(slots=True)
class _Demo:
    plan: DemoPlan
    lab: Lab
    watch: Watcher
    history: History = field(default_factory=History)
    load: Workload = field(init=False)
    events: deque[str] = field(default_factory=lambda: deque(maxlen=EVENTS_MAX))
    began: float = field(default_factory=time.monotonic)
    phase: str = "starting"
    victim: LabNode | None = None
    diary: DemoRecording = field(default_factory=DemoRecording)
    _seen: tuple[float, int] = (0.0, 0)
    _leader: str | None = None

    def run(self) -> DemoResult:
        self._start()
        try:
            with Feeding(self.lab.addresses) as feed:
                self._play()
                self.phase = "healing"
                self.load.stop()
                self._heal()
            self.diary.feeds = feed.rows
            return self._judge()
        finally:
            self.load.close()

    @property
    def tally(self) -> WriteTally:
        return self.load.tally

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.began

    def _start(self) -> None:
        self.load = Workload(
            self.lab.addresses, history=self.history, clients=self.plan.clients, seed=self.plan.seed
        )
        self.lab.start_all()
        found = surveys.wait_writable(self.lab.addresses, timeout=UP_TIMEOUT_S)
        self._note_leader(found)
        with connect(self.lab.addresses, timeout=UP_TIMEOUT_S) as client:
            clients.prepare(client)

    def _play(self) -> None:
        self.phase = "working"
        self.load.start()
        start = time.monotonic()
        kill_at = start + self.plan.seconds * KILL_AT if self.plan.kill else None
        restart_at: float | None = None
        end = start + self.plan.seconds
        while (now := time.monotonic()) < end:
            if kill_at is not None and now >= kill_at:
                kill_at = None
                self._kill_leader()
                restart_at = start + self.plan.seconds * RESTART_AT
            if restart_at is not None and now >= restart_at:
                restart_at = None
                self._restart()
            self._tick()
            time.sleep(min(TICK_S, max(0.0, end - time.monotonic())))

    def _kill_leader(self) -> None:
        found = surveys.survey(self.lab.addresses, timeout=ASK_TIMEOUT_S)
        leader = found.leader or found.samples[0]
        self.victim = self.lab.node(leader.name)
        self.lab.kill(self.victim)
        self.diary.struck("kill", leader.id)
        self.phase = f"{leader.name} is dead"
        self._say(f"{leader.name}, leader of term {leader.term}, killed with SIGKILL")

    def _restart(self) -> None:
        if self.victim is not None:
            self.lab.start(self.victim)
            self.diary.struck("start", self.victim.id)
            self._say(f"{self.victim.name} started again")
            self.phase = f"{self.victim.name} is back"

    def _heal(self) -> None:
        self.lab.start_all()
        deadline = time.monotonic() + HEAL_TIMEOUT_S
        while True:
            found = self._tick()
            verdict = None if found is None else surveys.judge(found)
            if verdict is not None and verdict.health is surveys.ClusterHealth.HEALTHY:
                return
            if time.monotonic() > deadline:
                why = "nobody answers" if verdict is None else verdict.sentence
                raise NotHealedError(f"not healed after {HEAL_TIMEOUT_S:g} s: {why}")
            time.sleep(TICK_S)

    def _judge(self) -> DemoResult:
        self.phase = "checking"
        resolved = self.load.resolve()
        with connect(self.lab.addresses, timeout=UP_TIMEOUT_S) as client:
            resolved += self.load.settle(client)
            journal, balances = proof.read_back(client, self.history)
        self.history.give_up("the run ended and nobody could say")
        digests = proof.same_digests(self.lab.addresses, timeout=HEAL_TIMEOUT_S)
        lines = self.history.lines
        if self.plan.keep is not None:
            save(lines, self.plan.keep / "history.jsonl")
            self.diary.save(self.lab, self.plan.keep, seed=self.plan.seed, lines=len(lines))
        found = proof.prove(self.tally, lines, journal=journal, balances=balances, digests=digests)
        return DemoResult(
            acked=len(self.tally.acked),
            lost=len(found.lost),
            unknown=self.tally.met_unknown,
            unknown_resolved=resolved,
            rolled_back_visible=len(found.rolled_back_visible),
            gap_seconds=round(self.tally.gap, 3),
            terms=tuple(self.tally.terms),
            proof=found,
            seconds=round(self.elapsed, 3),
            keep=None if self.plan.keep is None else str(self.plan.keep),
        )

    def _tick(self) -> ClusterSurvey | None:
        found: ClusterSurvey | None = None
        with contextlib.suppress(Unavailable):
            found = surveys.survey(self.lab.addresses, timeout=ASK_TIMEOUT_S)
            self._note_leader(found)
            self.diary.saw(found)
        self.watch(self._picture(found))
        return found

    def _note_leader(self, found: ClusterSurvey) -> None:
        leader = found.leader
        if leader is not None and not leader.ro and leader.name != self._leader:
            self._leader = leader.name
            self._say(f"{leader.name} leads term {leader.term}")

    def _say(self, what: str) -> None:
        self.events.append(f"{self.elapsed:5.1f}s  {what}")

    def _picture(self, found: ClusterSurvey | None) -> DemoPicture:
        then, count = self._seen
        now, acked = time.monotonic(), len(self.tally.acked)
        self._seen = (now, acked)
        return DemoPicture(
            elapsed=self.elapsed,
            seconds=self.plan.seconds,
            phase=self.phase,
            nodes=tuple(_row(node, found) for node in self.lab.nodes),
            acked=acked,
            unknown=len(self.tally.unknown),
            undone=len(self.tally.undone) - self.tally.refused,
            conflicts=self.tally.refused,
            reads=self.tally.reads,
            rate=(acked - count) / (now - then) if then else 0.0,
            waiting=self.tally.waiting(),
            gap=self.tally.gap,
            sentence="Nobody answers." if found is None else surveys.judge(found).sentence,
            events=tuple(self.events),
        )


def _row(node: LabNode, found: ClusterSurvey | None) -> DemoRow:
    samples = () if found is None else found.samples
    sample = next((each for each in samples if each.name == node.name), None)
    if sample is None or found is None:
        return DemoRow(name=node.name, state="silent" if node.process else "dead")
    return DemoRow(
        name=node.name,
        state=sample.status or "running",
        role=sample.role,
        term=sample.term,
        confirmed=sample.confirmed,
        lag=surveys.behind(found, sample),
    )
