"""The numbers of a run, from its history, its steps and the timelines of the nodes."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from admin.drills.probes import MeasureUnit
from admin.drills.verbs.catalogue import WAITING
from admin.workload.history import HistoryLine, OutcomeType
from admin.workload.quantiles import quantile
from admin.workload.restored import survives
from election.messages import Index, Position, Term

if TYPE_CHECKING:  # reading a file needs no code that observes a cluster
    from admin.drills.record import RunRecord, StepRecord, TimelineEvent
    from admin.drills.sampling import NodeObservation

GAP_S = 0.1
"""A shorter time without an acknowledgement does not count as a gap."""
_NS = 1_000_000_000
_ROLLED_BACK = frozenset({"ROLLED_BACK", "QUORUM_TIMEOUT"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A time without an acknowledged write. Monotonic seconds."""

    begun: float
    ended: float

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.ended - self.begun


@dataclass(frozen=True, slots=True, kw_only=True)
class AckedWrite:
    """A write that was acknowledged."""

    begun: float
    ended: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """Of acknowledged writes, in seconds."""

    writes: int
    p50: float | None
    p90: float | None
    p99: float | None
    max: float | None


def writes(lines: Sequence[HistoryLine]) -> list[AckedWrite]:
    """Every acknowledged write, by the time of its acknowledgement.

    A write whose outcome was requested after the end of the load comes last: measures of time end
    with the load.
    """
    begun: dict[int, HistoryLine] = {}
    found: list[AckedWrite] = []
    for line in lines:
        if line.type is OutcomeType.INVOKE:
            begun[line.process] = line
        elif line.type is OutcomeType.OK and line.f != "read":
            invoked = begun[line.process]
            found.append(AckedWrite(begun=invoked.time / _NS, ended=line.time / _NS))
    return sorted(found, key=lambda each: each.ended)


def faults(steps: "Sequence[StepRecord]") -> "list[StepRecord]":
    """The steps that had an effect on the cluster."""
    return [step for step in steps if step.verb not in WAITING]


def gaps(found: Sequence[AckedWrite], since: float, until: float) -> list[Gap]:
    """Times of more than `GAP_S` without an acknowledgement, the longest first."""
    within = [each.ended for each in found if each.ended <= until]
    # The time before the first and after the last counts too.
    moments = [since, *(at for at in within if at > since), until]
    all_of_them = [Gap(begun=one, ended=two) for one, two in pairwise(moments)]
    return sorted((gap for gap in all_of_them if gap.seconds > GAP_S), key=lambda gap: -gap.seconds)


def latencies(found: Sequence[AckedWrite], since: float, until: float) -> Latencies:
    """The latencies of the writes acknowledged in a period."""
    times = sorted(each.ended - each.begun for each in found if since <= each.ended < until)
    return Latencies(
        writes=len(times),
        p50=quantile(times, 0.5),
        p90=quantile(times, 0.9),
        p99=quantile(times, 0.99),
        max=times[-1] if times else None,
    )


def latencies_by_time(
    found: Sequence[AckedWrite], since: float, until: float, width: float
) -> list[Latencies]:
    """The same for every consecutive period of `width` seconds."""
    count = max(1, math.ceil((until - since) / width - 1e-9))
    within: list[list[AckedWrite]] = [[] for _ in range(count)]
    for each in found:
        at = int((each.ended - since) / width)
        if each.ended >= since and at < count:
            within[at].append(each)
    return [latencies(part, since, float("inf")) for part in within]


@dataclass(frozen=True, slots=True, kw_only=True)
class GapSplit:
    """The phases of a gap. `client`: from the end of take-over to the acknowledgement."""

    detection: float | None = None
    election: float | None = None
    take_over: float | None = None
    client: float | None = None


def split(gap: Gap, since: float, run: "RunRecord") -> GapSplit:
    """Detection until a candidate, election until a winner, take-over until it confirmed.

    A planned switchover has no detection: the hand-over begins with the step.
    """
    inside = [each for each in run.events if gap.begun - GAP_S <= each.time <= gap.ended]
    won = next((each for each in reversed(inside) if each.name == "elected"), None)
    if won is None:
        return GapSplit()
    stood = [each for each in inside if each.name == "campaign" and each.time <= won.time]
    began = stood[0].time if stood else won.time
    ready = next((each.time for each in run.observations if _writable(each, won)), gap.ended)
    ready = min(ready, gap.ended)
    return GapSplit(
        detection=max(0.0, began - since),
        election=max(0.0, won.time - max(began, since)),
        take_over=max(0.0, ready - won.time),
        client=gap.ended - max(ready, won.time),
    )


def _writable(observed: "NodeObservation", won: "TimelineEvent") -> bool:
    """The winner accepts writes."""
    mine = observed.node == won.node and observed.time >= won.time
    return mine and observed.role == "leader" and not observed.ro


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimes:
    """The input of measures: writes, the first fault, the end of the method, the gaps.

    `before`: the longest gap with its true beginning; `since`: the start of the rto.
    """

    run: "RunRecord"
    writes: Sequence[AckedWrite]
    fault: float
    over: float
    gaps: Sequence[Gap]
    before: Gap | None
    since: float
    parts: GapSplit

    @classmethod
    def of(cls, run: "RunRecord") -> "RunTimes":
        """Compute it for a run that has ended."""
        found = writes(run.lines)
        struck = faults(run.steps)
        fault = struck[0].begun if struck else run.begun
        over = run.steps[-1].ended if run.steps else run.ended
        all_gaps = gaps(found, fault, over)
        before = _gap_around(found, fault, all_gaps[0] if all_gaps else None)
        since = max(fault, before.begun) if before else fault
        return cls(
            run=run,
            writes=found,
            fault=fault,
            over=over,
            gaps=all_gaps,
            before=before,
            since=since,
            parts=split(before, since, run) if before else GapSplit(),
        )

    def p99(self, since: float, until: float) -> float | None:
        """The latencies of the writes acknowledged in that time."""
        return latencies(self.writes, since, until).p99


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of a run; `of` returns None if the run does not have it."""

    name: str
    about: str
    scale: MeasureUnit
    of: Callable[[RunTimes], float | None]


def _time(name: str, about: str, of: Callable[[RunTimes], float | None]) -> Measure:
    return Measure(name, about, MeasureUnit.SECONDS, of)


def _count(name: str, about: str, of: Callable[[RunTimes], int | None]) -> Measure:
    def counted(times: RunTimes) -> float | None:
        found = of(times)
        return None if found is None else float(found)

    return Measure(name, about, MeasureUnit.COUNT, counted)


_ALL = (
    _time(
        "rto",
        "from the fault to the next acknowledged write, over the longest gap",
        lambda it: (it.before.ended - it.since) if it.before else 0.0,
    ),
    _time(
        "gap",
        "the longest time without an acknowledged write",
        lambda it: it.before.seconds if it.before else _widest(it.writes, it.fault, it.over),
    ),
    _time(
        "gaps_total",
        f"all gaps of more than {GAP_S:g} s together",
        lambda it: sum(gap.seconds for gap in it.gaps),
    ),
    _time(
        "detection", "of the rto: until a node stood for election", lambda it: it.parts.detection
    ),
    _time(
        "election",
        "of the rto: from there until the election was won",
        lambda it: it.parts.election,
    ),
    _time(
        "take_over",
        "of the rto: from there until writes were accepted",
        lambda it: it.parts.take_over,
    ),
    _time("client", "of the rto: from there to the acknowledgement", lambda it: it.parts.client),
    _count(
        "rpo_lost_acked",
        "acknowledged writes that are lost",
        lambda it: None if it.run.proof is None else len(it.run.proof.lost),
    ),
    _count(
        "left_behind",
        "acknowledged writes after the restored point: lost with the nodes, and counted",
        lambda it: None if it.run.proof is None else len(it.run.proof.left_behind),
    ),
    _time(
        "rpo",
        "of these, how long before the nodes were destroyed the first was acknowledged",
        lambda it: _back(it.run),
    ),
    _time(
        "paused",
        "how long the clients were paused by the drill; gaps include it",
        lambda it: _paused(it.run.steps),
    ),
    _count("unknown", "outcomes that were unknown at first", lambda it: it.run.met_unknown),
    _count("unresolved", "outcomes that stayed unknown at the end", lambda it: it.run.unresolved),
    _count(
        "failed",
        "writes that failed for certain, without conflicts",
        lambda it: _failed(it.run.lines),
    ),
    _count(
        "rolled_back",
        "of these, rolled back after they had begun",
        lambda it: _failed(it.run.lines, _ROLLED_BACK),
    ),
    _count(
        "rolled_back_visible",
        "rolled-back writes that are visible",
        lambda it: None if it.run.proof is None else len(it.run.proof.rolled_back_visible),
    ),
    _count("terms", "terms that had a leader", lambda it: len(it.run.terms)),
    _time(
        "p99_before", "of writes before the first fault", lambda it: it.p99(it.run.begun, it.fault)
    ),
    _time(
        "p99_during",
        "of writes between the first fault and healing",
        lambda it: it.p99(it.fault, it.over),
    ),
    _time("p99_after", "of writes after the last step", lambda it: it.p99(it.over, it.run.ended)),
)
MEASURES: Mapping[str, Measure] = {each.name: each for each in _ALL}


def measures(run: "RunRecord") -> dict[str, float | None]:
    """Every measure, and the times of labelled steps. None: the run does not have it."""
    times = RunTimes.of(run)
    return {each.name: each.of(times) for each in _ALL} | labels(run.steps)


def labels(steps: "Sequence[StepRecord]") -> dict[str, float | None]:
    """From the fault before it to the end of each labelled step, in seconds."""
    found: dict[str, float | None] = {}
    fault: StepRecord | None = None
    for step in steps:
        if step.label is not None:
            since = step if fault is None or step.verb not in WAITING else fault
            found[step.label] = None if step.error else step.ended - since.begun
        if step.verb not in WAITING:
            fault = step
    return found


def _gap_around(found: Sequence[AckedWrite], fault: float, longest: Gap | None) -> Gap | None:
    """The longest gap with its true begin: the last acknowledgement, maybe before the fault."""
    if longest is None or longest.begun > fault:
        return longest
    earlier = [each.ended for each in found if each.ended <= fault]
    return Gap(begun=earlier[-1] if earlier else longest.begun, ended=longest.ended)


def _back(run: "RunRecord") -> float | None:
    """From the first acknowledgement that a restore left out to the end of the nodes."""
    if not run.restored:
        return None
    gone = next((step.begun for step in run.steps if step.verb == "destroy"), run.ended)
    left_out = (
        line.time / _NS
        for line in run.lines
        if line.type is OutcomeType.OK
        and line.f != "read"
        and line.term is not None
        and line.log_index is not None
        and not survives(run.restored, Position(Term(line.term), Index(line.log_index)))
    )
    return max(0.0, gone - min(left_out, default=gone))


def _paused(steps: "Sequence[StepRecord]") -> float:
    """From each `pause_load` to the next `resume_load`, or to the last step."""
    total = 0.0
    since: float | None = None
    for step in steps:
        if step.verb == "pause_load" and since is None:
            since = step.ended
        elif step.verb == "resume_load" and since is not None:
            total, since = total + step.begun - since, None
    return total if since is None else total + steps[-1].ended - since


def _widest(found: Sequence[AckedWrite], since: float, until: float) -> float:
    moments = [each.ended for each in found if since <= each.ended <= until]
    return max((two - one for one, two in pairwise(moments)), default=0.0)


def _failed(lines: Sequence[HistoryLine], codes: frozenset[str] | None = None) -> int:
    return sum(
        line.type is OutcomeType.FAIL
        and line.f != "read"
        and (line.error != "CONFLICT" if codes is None else line.error in codes)
        for line in lines
    )
