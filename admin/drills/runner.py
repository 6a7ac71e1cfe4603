"""Runs a drill on a lab: load, method, healing whatever happens, and then the proof."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeVar

from admin.cluster import surveys
from admin.drills import evidence, mending, planning, targets
from admin.drills.acts import Acts
from admin.drills.failures import DrillNotHealed, DrillStopped, StepFailed
from admin.drills.journal import UndoLog
from admin.drills.model import Condition, Drill, Step
from admin.drills.probing import Probes
from admin.drills.record import RunEnd, RunRecord, StepRecord
from admin.drills.repertoire import REPERTOIRE
from admin.drills.watch import SamplingThread
from admin.lab.lab import Lab
from admin.workload import clients, proof
from admin.workload.clients import Workload
from admin.workload.feed_reader import Feeding
from admin.workload.history import History
from admin.workload.proof import Proof
from qsync import __version__
from qsync.client.blocking import connect
from qsync.errors import OutcomeUnknown, QsyncError, Unavailable

T = TypeVar("T")
UP_S_MAX = 30.0
STEADY_S_MAX = 15.0
"""How long the steady state may take to come, before and after."""
MEET_S_MAX = 40.0
"""How long the replicas may take to hold the same."""
UNTIL_S = 30.0
"""How long an `until` waits that says nothing else."""
TICK_S = 0.02
STOP_CHECK_S = 1.0
"""How often the stop conditions are asked."""

Tell = Callable[[str], None]


@dataclass(slots=True)
class DrillRunner:
    """One run of one drill."""

    drill: Drill
    lab: Lab
    tell: Tell
    history: History = field(default_factory=History)
    marks: list[StepRecord] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    _next_check: float = 0.0

    def run(self) -> RunRecord:
        """Do it all. Raises DrillStopped only while nothing is broken yet."""
        began_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        found = surveys.wait_writable(self.lab.addresses, timeout=UP_S_MAX)
        leader = None if found.leader is None else found.leader.name
        names = targets.resolve(self.drill, [node.name for node in self.lab.nodes], leader)
        planning.allow(self.drill, self.lab, names, found)
        for name in self.drill.targets:
            self.tell(f"{name}: {', '.join(names[name])}")
        journal = UndoLog.create(self.lab.dir, self.drill.name)
        load = Workload(
            self.lab.addresses,
            history=self.history,
            clients=self.drill.load.clients,
            seed=self.drill.seed,
            think=self.drill.load.think,
            kind=self.drill.load.kind,
        )
        try:
            with SamplingThread(self.lab.addresses) as watch, Feeding(self.lab.addresses) as feed:
                probes = Probes(
                    watch=watch, tally=load.tally, names=names, clients=self.drill.load.clients
                )
                whole = self._whole(journal, load, probes)
        finally:
            load.close()
        return replace(whole, began_at=began_at, targets=names, feeds=tuple(feed.rows))

    def _whole(self, journal: UndoLog, load: Workload, probes: Probes) -> RunRecord:
        watch = probes.watch
        with connect(self.lab.addresses, timeout=UP_S_MAX) as client:
            clients.drop(client)
            clients.prepare(client, load.kind)
        begun = time.monotonic()
        acts = Acts(self.lab, journal, probes.names, lambda: _leader(watch), REPERTOIRE)
        end, why = self._play(acts, load, probes)
        over = time.monotonic()
        checked: Proof | None = None
        if end is not RunEnd.NOT_HEALED:
            try:
                load.resolve()
                checked = self._prove(load)
            except (Unavailable, OutcomeUnknown, DrillNotHealed) as error:
                end, why = RunEnd.NOT_HEALED, str(error)
        return RunRecord(
            drill=self.drill,
            cluster=self.lab.cluster,
            version=__version__,
            nodes=tuple(node.name for node in self.lab.nodes),
            targets={},
            begun=begun,
            ended=over,
            began_at="",
            marks=tuple(self.marks),
            lines=tuple(self.history.lines),
            sights=tuple(watch.sights),
            events=evidence.events(self.lab, since=begun),
            terms={term: tuple(sorted(nodes)) for term, nodes in watch.terms.items()},
            met_unknown=load.tally.met_unknown,
            unresolved=len(load.tally.unknown),
            proof=checked,
            end=end,
            stopped=why,
        )

    # -- the method

    def _play(self, acts: Acts, load: Workload, probes: Probes) -> tuple[RunEnd | None, str | None]:
        """Method and healing; how it ended early, and why."""
        end: RunEnd | None = None
        why: str | None = None
        try:
            load.start()
            self._steady(probes, "before")
            for step in self.drill.method:
                self._step(step, acts, load, probes)
        except DrillStopped as error:
            end, why = RunEnd.STOPPED, error.message
        except StepFailed as error:
            end, why = RunEnd.FAILED, error.message
        except KeyboardInterrupt:
            end, why = RunEnd.INTERRUPTED, "interrupted"
        finally:
            not_healed = self._heal(acts)
            load.stop()
        if not_healed is not None:
            return RunEnd.NOT_HEALED, not_healed
        acts.journal.close()
        if end is None:
            try:
                self._steady(probes, "after")
            except StepFailed as error:
                end, why = RunEnd.FAILED, error.message
        return end, why

    def _heal(self, acts: Acts) -> str | None:
        """Why the cluster could not be healed, if so."""
        self.tell("healing")
        begun = time.monotonic()
        error: str | None = None
        try:
            done = acts.undo_all()
            mending.wait_healthy(self.lab)
        except DrillNotHealed as found:
            error, done = found.message, []
        text = f"heal ({', '.join(done)})" if done else "heal"
        self._mark(Step(verb="heal"), text, begun, (), error)
        return error

    def _step(self, step: Step, acts: Acts, load: Workload, probes: Probes) -> None:
        self.tell(f"{time.monotonic() - self.began:6.1f} s  {step.describe()}")
        begun = time.monotonic()
        probes.begin_step()
        nodes: tuple[str, ...] = ()
        error: str | None = None
        try:
            match step.verb:
                case "wait":
                    self._wait(begun + _number(step, "for", 0.0), load, probes)
                case "until":
                    assert step.condition is not None
                    limit = _number(step, "within", UNTIL_S)
                    self._until(step.condition, begun + limit, load, probes)
                case _:
                    nodes = self._meanwhile(lambda: acts.do(step), load, probes)
        except DrillStopped as stopped:
            error = stopped.message
            raise
        except (QsyncError, OSError) as failed:
            error = failed.message if isinstance(failed, QsyncError) else str(failed)
            raise StepFailed(f"{step.describe()}: {error}") from failed
        finally:
            self._mark(step, step.describe(), begun, nodes, error)

    def _mark(
        self, step: Step, text: str, begun: float, nodes: Sequence[str], error: str | None
    ) -> None:
        self.marks.append(
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

    def _wait(self, end: float, load: Workload, probes: Probes) -> None:
        while (left := end - time.monotonic()) > 0:
            self._look(load, probes)
            time.sleep(min(TICK_S, left))

    def _until(self, condition: Condition, deadline: float, load: Workload, probes: Probes) -> None:
        while not probes.come_true(condition):
            self._look(load, probes)
            if time.monotonic() > deadline:
                raise Unavailable(f"not in time: {condition.describe()}")
            time.sleep(TICK_S)

    def _meanwhile(self, act: Callable[[], T], load: Workload, probes: Probes) -> T:
        """Do it beside the looking; it has ended when this returns or raises."""
        with ThreadPoolExecutor(1) as pool:
            done: Future[T] = pool.submit(act)
            while not done.done():
                self._look(load, probes)
                time.sleep(TICK_S)
            return done.result()

    def _look(self, load: Workload, probes: Probes) -> None:
        """Raises DrillStopped when it is time to stop, and what a client or the watch died of."""
        load.check()
        if probes.watch.crash is not None:
            raise probes.watch.crash
        now = time.monotonic()
        if now - self.began > self.drill.guards.time_limit:
            raise DrillStopped(f"the time limit of {self.drill.guards.time_limit:g} s is over")
        if now < self._next_check:
            return
        self._next_check = now + STOP_CHECK_S
        for condition in self.drill.stop_when:
            if probes.true(condition):
                raise DrillStopped(f"stop condition: {condition.describe()}")

    def _steady(self, probes: Probes, when: str) -> None:
        """Wait for the steady state. Raises StepFailed naming what is missing."""
        deadline = time.monotonic() + STEADY_S_MAX
        probes.begin_step()
        while missing := [each for each in self.drill.steady_state if not probes.come_true(each)]:
            if time.monotonic() > deadline:
                said = ", ".join(each.describe() for each in missing)
                raise StepFailed(f"no steady state {when} the method: {said}")
            time.sleep(TICK_S)

    def _prove(self, load: Workload) -> Proof:
        self.tell("checking")
        with connect(self.lab.addresses, timeout=UP_S_MAX) as client:
            load.settle(client)
            found, balances = proof.read_back(client, self.history, load.kind)
        self.history.give_up("the run ended and nobody could say")
        digests = proof.same_digests(self.lab.addresses, timeout=MEET_S_MAX)
        return proof.prove(
            load.tally, self.history.lines, journal=found, balances=balances, digests=digests
        )


def _leader(watch: SamplingThread) -> str | None:
    leader = watch.survey.leader
    return None if leader is None else leader.name


def _number(step: Step, name: str, usual: float) -> float:
    found = step.options.get(name, usual)
    assert isinstance(found, float), step
    return found
