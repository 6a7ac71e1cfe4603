"""Runs a drill on a cluster: load, method, healing in every case, and then the checks."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from random import Random
from typing import TypeVar

from admin.cluster import settling
from admin.cluster.surveys import ClusterSurvey
from admin.drills import evidence, healing, preflight, restoring, spaces, targets
from admin.drills.failures import DrillNotHealed, DrillStopped, StepFailed
from admin.drills.live import LiveCluster
from admin.drills.model import Condition, Drill, Step
from admin.drills.place import DrillPlace, PlaceNode
from admin.drills.probes import holds, holds_since_step
from admin.drills.record import RunEnd, RunRecord, StepRecord
from admin.drills.sampling import LiveFacts, SamplingThread
from admin.drills.undo_log import UndoLog
from admin.drills.verbs.catalogue import VERBS, perform, undo_all
from admin.lab.lab import Lab
from admin.workload import proof
from admin.workload.clients import Workload
from admin.workload.feed_reader import Feeding
from admin.workload.history import History
from admin.workload.proof import Proof
from admin.workload.tally import WriteTally
from qsync import __version__
from qsync.client.blocking import connect
from qsync.errors import OutcomeUnknown, QsyncError, Unavailable

T = TypeVar("T")
UP_S_MAX = 30.0
STEADY_S_MAX = 15.0
"""How long to wait for the steady state, before and after."""
MEET_S_MAX = 40.0
"""How long the replicas may take to become equal."""
TICK_S = 0.02
STOP_CHECK_S = 1.0
"""How often the stop conditions are tested."""


class DrillPhase(StrEnum):
    """The phase of a run."""

    WORKING = "working"
    HEALING = "healing"
    CHECKING = "checking"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """The state of a run at one moment, for screens."""

    nodes: Sequence[PlaceNode]
    phase: DrillPhase
    survey: ClusterSurvey
    tally: WriteTally


class DrillObserver:
    """Observes a run, in the run's thread: no method here may take long."""

    def tell(self, what: str) -> None:
        """A line for people."""

    def performed(self, step: Step, nodes: Sequence[str]) -> None:
        """Called after a step was done on these nodes."""

    def look(self, view: RunView) -> None:
        """Takes the current state; called many times a second."""


@dataclass(slots=True)
class DrillRunner:
    """One run of one drill."""

    drill: Drill
    place: DrillPlace
    observer: DrillObserver
    history: History = field(default_factory=History)
    steps: list[StepRecord] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    phase: DrillPhase = DrillPhase.WORKING
    load: Workload = field(init=False)
    facts: LiveFacts = field(init=False)
    cluster: LiveCluster = field(init=False)
    _next_check: float = 0.0

    def run(self) -> RunRecord:
        """Run the drill. Raises DrillStopped only before the first fault."""
        began_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        found = settling.wait_writable(self.place.addresses, timeout=UP_S_MAX)
        leader = None if found.leader is None else found.leader.name
        names = targets.resolve(self.drill, [node.name for node in self.place.nodes], leader)
        preflight.allow(self.drill, self.place, names, found)
        for name in self.drill.targets:
            self.observer.tell(f"{name}: {', '.join(names[name])}")
        undo_log = UndoLog.create(self.place.dir, self.drill.name)
        self.load = Workload(
            self.place.addresses,
            history=self.history,
            clients=self.drill.load.clients,
            seed=self.drill.seed,
            think=self.drill.load.think,
            kind=self.drill.load.kind,
        )
        try:
            with (
                SamplingThread(self.place.addresses) as watch,
                Feeding(self.place.addresses) as feed,
            ):
                self.facts = LiveFacts(
                    watch=watch,
                    tally=self.load.tally,
                    names=names,
                    clients=self.drill.load.clients,
                )
                self.cluster = LiveCluster(
                    place=self.place,
                    undo_log=undo_log,
                    names=names,
                    leader=self._leader,
                    wait=self._wait,
                    until=self._until,
                    load=self.load,
                    begin_anew=partial(self._begin_anew, feed),
                    dice=Random(f"drill {self.drill.seed}"),  # noqa: S311 - replays, hides nothing
                    never_touch=self.drill.guards.never_touch,
                )
                whole = self._whole(watch)
        finally:
            self.load.close()
        return replace(whole, began_at=began_at, targets=names, feeds=tuple(feed.rows))

    def _whole(self, watch: SamplingThread) -> RunRecord:
        try:
            with connect(self.place.addresses, timeout=UP_S_MAX) as client:
                spaces.prepare(self.place, client, self.load.kind)
        except QsyncError:
            self.cluster.undo_log.close()  # before the first fault
            raise
        begun = time.monotonic()
        end, why = self._play()
        over = time.monotonic()
        checked: Proof | None = None
        if end is not RunEnd.NOT_HEALED:
            try:
                self.phase = DrillPhase.CHECKING
                checked = self._meanwhile(self._prove, self._show)
            except (Unavailable, OutcomeUnknown, DrillNotHealed) as error:
                end, why = RunEnd.NOT_HEALED, str(error)
        return RunRecord(
            drill=self.drill,
            cluster=self.cluster.place.cluster,
            version=__version__,
            nodes=tuple(node.name for node in self.place.nodes),
            targets={},
            begun=begun,
            ended=over,
            began_at="",
            steps=tuple(self.steps),
            lines=tuple(self.history.lines),
            observations=tuple(watch.observations),
            events=evidence.events(self.place, since=begun),
            terms={term: tuple(sorted(nodes)) for term, nodes in watch.terms.items()},
            met_unknown=self.load.tally.met_unknown,
            unresolved=len(self.load.tally.unknown),
            restored=restoring.points(self.place.dir, since=begun),
            proof=checked,
            end=end,
            stopped=why,
            commands=() if isinstance(self.place, Lab) else tuple(self.place.runs),
        )

    # -- the method

    def _play(self) -> tuple[RunEnd | None, str | None]:
        """Run the method and heal; return how the run ended early, and why."""
        end: RunEnd | None = None
        why: str | None = None
        try:
            self.load.start()
            self._steady("before")
            for step in self.drill.method:
                self._perform(step)
        except DrillStopped as error:
            end, why = RunEnd.STOPPED, error.message
        except StepFailed as error:
            end, why = RunEnd.FAILED, error.message
        except KeyboardInterrupt:
            end, why = RunEnd.INTERRUPTED, "interrupted"
        finally:
            not_healed = self._heal()
            self.load.stop()
        if not_healed is not None:
            return RunEnd.NOT_HEALED, not_healed
        self.cluster.undo_log.close()
        if end is None:
            try:
                self._steady("after")
            except StepFailed as error:
                end, why = RunEnd.FAILED, error.message
        return end, why

    def _heal(self) -> str | None:
        """Heal the cluster; return why that failed, or None."""
        self.observer.tell("healing")
        self.phase = DrillPhase.HEALING
        begun = time.monotonic()
        error: str | None = None
        try:
            before = restoring.points(self.place.dir, since=self.began)
            done = undo_all(self.cluster)
            if restoring.points(self.place.dir, since=self.began) != before:
                self.cluster.begin_anew()
            self._meanwhile(lambda: healing.wait_healthy(self.place), self._show)
        except DrillNotHealed as found:
            error, done = found.message, []
        text = f"heal ({', '.join(done)})" if done else "heal"
        self._record(Step(verb="heal"), text, begun, (), error)
        return error

    def _perform(self, step: Step) -> None:
        self.observer.tell(f"{time.monotonic() - self.began:6.1f} s  {step.describe()}")
        begun = time.monotonic()
        self.facts.begin_step()
        nodes: Sequence[str] = ()
        error: str | None = None
        try:
            nodes = self._live(step)
        except DrillStopped as stopped:
            error = stopped.message
            raise
        except (QsyncError, OSError) as failed:
            error = failed.message if isinstance(failed, QsyncError) else str(failed)
            raise StepFailed(f"{step.describe()}: {error}") from failed
        finally:
            self._record(step, step.describe(), begun, nodes, error)
        self.observer.performed(step, nodes)

    def _live(self, step: Step) -> Sequence[str]:
        """Execute the verb; return its nodes."""
        if VERBS[step.verb].spec.waits:
            return perform(self.cluster, step)
        return self._meanwhile(lambda: perform(self.cluster, step), self._look)

    def _record(
        self, step: Step, text: str, begun: float, nodes: Sequence[str], error: str | None
    ) -> None:
        self.steps.append(
            StepRecord(
                text=text,
                verb=step.verb,
                begun=begun,
                ended=time.monotonic(),
                nodes=tuple(nodes),
                label=step.label,
                error=error,
            )
        )

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._look()
            time.sleep(min(TICK_S, left))

    def _until(self, condition: Condition, limit: float) -> None:
        deadline = time.monotonic() + limit
        while not holds_since_step(self.facts, condition):
            self._look()
            if time.monotonic() > deadline:
                raise Unavailable(f"not in time: {condition.describe()}")
            time.sleep(TICK_S)

    def _meanwhile(self, act: Callable[[], T], look: Callable[[], None]) -> T:
        """Run it concurrently with the observation; it has ended when this returns or raises."""
        with ThreadPoolExecutor(1) as pool:
            done: Future[T] = pool.submit(act)
            while not done.done():
                look()
                time.sleep(TICK_S)
            return done.result()

    def _look(self) -> None:
        """Observe once. Raises DrillStopped if it must stop, or an error of a client."""
        self.load.check()
        if self.facts.watch.crash is not None:
            raise self.facts.watch.crash
        self._show()
        now = time.monotonic()
        if now - self.began > self.drill.guards.time_limit:
            raise DrillStopped(f"the time limit of {self.drill.guards.time_limit:g} s is over")
        if now < self._next_check:
            return
        self._next_check = now + STOP_CHECK_S
        for condition in self.drill.stop_when:
            if holds(self.facts, condition):
                raise DrillStopped(f"stop condition: {condition.describe()}")

    def _show(self) -> None:
        self.observer.look(
            RunView(
                nodes=self.place.nodes,
                phase=self.phase,
                survey=self.facts.watch.survey,
                tally=self.load.tally,
            )
        )

    def _steady(self, when: str) -> None:
        """Wait for the steady state. Raises StepFailed with the unmet conditions."""
        deadline = time.monotonic() + STEADY_S_MAX
        wanted = self.drill.steady_state
        self.facts.begin_step()
        while missing := [each for each in wanted if not holds_since_step(self.facts, each)]:
            if time.monotonic() > deadline:
                said = ", ".join(each.describe() for each in missing)
                raise StepFailed(f"no steady state {when} the method: {said}")
            time.sleep(TICK_S)

    def _prove(self) -> Proof:
        self.observer.tell("checking")
        self.load.resolve()
        with connect(self.place.addresses, timeout=UP_S_MAX) as client:
            self.load.settle(client)
            found, balances = proof.read_back(client, self.history, self.load.kind)
        self.history.give_up("the run ended without a known outcome")
        digests = proof.same_digests(self.place.addresses, timeout=MEET_S_MAX)
        return proof.prove(
            self.load.tally,
            self.history.lines,
            journal=found,
            balances=balances,
            digests=digests,
            restored=restoring.points(self.place.dir, since=self.began),
        )

    def _begin_anew(self, feed: Feeding) -> None:
        self.load.begin_anew()
        feed.begin_anew()

    def _leader(self) -> str | None:
        leader = self.facts.watch.survey.leader
        return None if leader is None else leader.name
