"""The numbers of a run, from its history, its steps and the timelines of the nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from admin.drills.record import RunRecord, StepRecord, TimelineEvent
from admin.drills.watch import NodeObservation
from admin.workload.history import HistoryLine, OutcomeType

GAP_S = 0.1
"""A shorter time without an acknowledgement is no gap worth counting."""
_NS = 1_000_000_000
_QUIET = frozenset({"wait", "until"})
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

    One whose outcome was asked for afterwards, when the load was over, comes last: whoever looks
    at times looks no further than the end of the load.
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


def faults(marks: Sequence[StepRecord]) -> list[StepRecord]:
    """The steps that did something to the cluster."""
    return [mark for mark in marks if mark.verb not in _QUIET]


def gaps(found: Sequence[AckedWrite], since: float, until: float) -> list[Gap]:
    """Times of more than `GAP_S` without an acknowledgement, the longest first."""
    within = [each.ended for each in found if each.ended <= until]
    # The time up to the first, and from the last to the end, counts too.
    moments = [since, *(at for at in within if at > since), until]
    all_of_them = [Gap(begun=one, ended=two) for one, two in pairwise(moments)]
    return sorted((gap for gap in all_of_them if gap.seconds > GAP_S), key=lambda gap: -gap.seconds)


def latencies(found: Sequence[AckedWrite], since: float, until: float) -> Latencies:
    """Of the writes that were acknowledged in a stretch of time."""
    times = sorted(each.ended - each.begun for each in found if since <= each.ended < until)
    return Latencies(
        writes=len(times),
        p50=_at(times, 0.5),
        p90=_at(times, 0.9),
        p99=_at(times, 0.99),
        max=times[-1] if times else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GapSplit:
    """Where the time of a gap went. `client`: from there to the acknowledgement."""

    detection: float | None = None
    election: float | None = None
    take_over: float | None = None
    client: float | None = None


def split(gap: Gap, since: float, run: RunRecord) -> GapSplit:
    """Detection until somebody stood, election until it was won, take-over until it confirmed.

    A planned switchover has no detection: the hand-over begins with the step.
    """
    inside = [each for each in run.events if gap.begun - GAP_S <= each.time <= gap.ended]
    won = next((each for each in reversed(inside) if each.name == "elected"), None)
    if won is None:
        return GapSplit()
    stood = [each for each in inside if each.name == "campaign" and each.time <= won.time]
    began = stood[0].time if stood else won.time
    ready = next((each.time for each in run.sights if _writable(each, won)), gap.ended)
    ready = min(ready, gap.ended)
    return GapSplit(
        detection=max(0.0, began - since),
        election=max(0.0, won.time - max(began, since)),
        take_over=max(0.0, ready - won.time),
        client=gap.ended - max(ready, won.time),
    )


def _writable(sight: NodeObservation, won: TimelineEvent) -> bool:
    """The winner takes writes."""
    mine = sight.node == won.node and sight.time >= won.time
    return mine and sight.role == "leader" and not sight.ro


def measures(run: RunRecord) -> dict[str, float | None]:
    """Every measure of `words.MEASURES`, and the times of labelled steps. None: nothing to tell."""
    found = writes(run.lines)
    struck = faults(run.marks)
    fault = struck[0].begun if struck else run.begun
    over = run.marks[-1].ended if run.marks else run.ended
    all_gaps = gaps(found, fault, over)
    longest = all_gaps[0] if all_gaps else None
    before = _gap_around(found, fault, longest)
    since = max(fault, before.begun) if before else fault
    parts = split(before, since, run) if before else GapSplit()
    told: dict[str, float | None] = {
        "rto": (before.ended - since) if before else 0.0,
        "gap": before.seconds if before else _widest(found, fault, over),
        "gaps_total": sum(gap.seconds for gap in all_gaps),
        "detection": parts.detection,
        "election": parts.election,
        "take_over": parts.take_over,
        "client": parts.client,
        "unknown": float(run.met_unknown),
        "unresolved": float(run.unresolved),
        "failed": float(_failed(run.lines)),
        "rolled_back": float(_failed(run.lines, _ROLLED_BACK)),
        "rpo_lost_acked": None if run.proof is None else float(len(run.proof.lost)),
        "rolled_back_visible": (
            None if run.proof is None else float(len(run.proof.rolled_back_visible))
        ),
        "terms": float(len(run.terms)),
        "p99_before": latencies(found, run.begun, fault).p99,
        "p99_during": latencies(found, fault, over).p99,
        "p99_after": latencies(found, over, run.ended).p99,
    }
    return told | labels(run.marks)


def labels(marks: Sequence[StepRecord]) -> dict[str, float | None]:
    """From the fault before it to the end of each labelled step, in seconds."""
    found: dict[str, float | None] = {}
    fault: StepRecord | None = None
    for mark in marks:
        if mark.label is not None:
            since = mark if fault is None or mark.verb not in _QUIET else fault
            found[mark.label] = None if mark.error else mark.ended - since.begun
        if mark.verb not in _QUIET:
            fault = mark
    return found


def _gap_around(found: Sequence[AckedWrite], fault: float, longest: Gap | None) -> Gap | None:
    """The longest gap with its true begin: the last acknowledgement, maybe before the fault."""
    if longest is None or longest.begun > fault:
        return longest
    earlier = [each.ended for each in found if each.ended <= fault]
    return Gap(begun=earlier[-1] if earlier else longest.begun, ended=longest.ended)


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


def _at(times: Sequence[float], share: float) -> float | None:
    return times[min(len(times) - 1, int(len(times) * share))] if times else None
