"""Stalls of an open-loop load, and the causes that nodes report for them."""

import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from typing_extensions import override

from admin.cluster import ask, parallel
from admin.cluster.surveys import ClusterSurvey
from qsync.client.load import LoadRequest, Workload
from qsync.errors import QsyncError
from qsync.status.record import NodeStatus
from qsync.wire import replies
from qsync.wire.verbs import InfoRequest

if TYPE_CHECKING:
    _Array = array[float]
else:
    _Array = array  # which takes no parameter before Python 3.12

STALL_S = 0.02
"""The latency from which an answer is part of a stall."""
APART_S = 0.02
"""The distance at which late answers belong to two stalls."""
SLACK_S = 0.01
"""Clocks of one machine are read at slightly different moments."""
CAUSES_SHOWN = 4
"""How many causes a line for people names, the longest first."""
LOAD = "the load"
ASK_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedStall:
    """A reported stall: `who` stood still, for how long, and why."""

    who: str
    begin: float
    end: float
    piece: str
    cause: str

    @property
    def why(self) -> str:
        """Describe who stood still, and why."""
        cause = self.cause if self.cause == self.piece else f"{self.piece}: {self.cause}"
        return f"{self.who} {cause}"

    def __str__(self) -> str:
        return f"{self.why} {(self.end - self.begin) * 1e3:.0f} ms"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadStall:
    """A run of late answers. `at`: seconds since 1970; `causes`: none if nobody knows one."""

    at: float
    seconds: float
    requests: int
    causes: tuple[NamedStall, ...]

    def describe(self) -> dict[str, object]:
        """Return the stall as JSON members."""
        return {
            "time": round(self.at, 3),
            "ms": round(self.seconds * 1e3, 1),
            "requests": self.requests,
            "causes": [str(each) for each in self.causes],
        }

    def __str__(self) -> str:
        when = datetime.fromtimestamp(self.at, UTC).strftime("%H:%M:%S.%f")[:-3]
        told = _summed(self.causes)
        why = "; ".join(told[:CAUSES_SHOWN]) or "no node knows of anything"
        more = len(told) - CAUSES_SHOWN
        why += f"; and {more} more" if more > 0 else ""
        return f"{when}  {self.seconds * 1e3:7.1f} ms  {self.requests:6} answers  {why}"


def _summed(causes: Sequence[NamedStall]) -> list[str]:
    """Merge repeated causes of a node into one, with their total time."""
    took: dict[str, list[float]] = {}
    for each in causes:
        took.setdefault(each.why, []).append((each.end - each.begin) * 1e3)
    return [
        f"{why} {sum(ms):.0f} ms" + (f" in {len(ms)} pieces" if len(ms) > 1 else "")
        for why, ms in sorted(took.items(), key=lambda item: -sum(item[1]))
    ]


class TimedLatencies(_Array):
    """Latencies in the order of the answers; for late ones also the moment."""

    def __init__(self, _: Literal["d"]) -> None:
        """Empty. Its type is named as for any array."""
        super().__init__()
        self.late: list[tuple[float, float]] = []
        """The time (`perf_counter`) and the latency of each late answer."""

    @override
    def append(self, value: float, /) -> None:
        if value >= STALL_S:
            self.late.append((time.perf_counter(), value))
        super().append(value)


class WatchedWorkload:
    """Wraps a workload, and notes when no request was taken although some were due."""

    def __init__(self, workload: Workload, rate: float) -> None:
        self.gaps: list[NamedStall] = []
        self._workload = workload
        self._allowed = STALL_S + 1 / rate
        self._last = 0.0

    def __call__(self, request: LoadRequest) -> bytes:
        """The frame of one request."""
        now = time.perf_counter()
        if self._last and now - self._last >= self._allowed:
            self.gaps.append(
                NamedStall(
                    who=LOAD, begin=self._last, end=now, piece="sent nothing", cause="sent nothing"
                )
            )
        self._last = now
        return self._workload(request)


def named(late: TimedLatencies, sending: WatchedWorkload, found: ClusterSurvey) -> list[LoadStall]:
    """Return all stalls of a finished run, with the causes that load and nodes know."""
    ahead = datetime.now(UTC).timestamp() - time.perf_counter()
    known = [replace(each, begin=each.begin + ahead, end=each.end + ahead) for each in sending.gaps]
    return stalls_of([(at + ahead, seconds) for at, seconds in late.late], known + of_nodes(found))


def stalls_of(late: Sequence[tuple[float, float]], known: Sequence[NamedStall]) -> list[LoadStall]:
    """Group late answers (moment, latency) into stalls, each with the causes of that time.

    All times are by the same clock. A stall lasts from when the first of its requests was due.
    """
    found: list[LoadStall] = []
    run: list[tuple[float, float]] = []
    until = 0.0
    for each in sorted(late, key=lambda one: one[0] - one[1]):
        at, seconds = each
        if run and at - seconds > until + APART_S:
            found.append(_stall(run, known))
            run, until = [], at
        run.append(each)
        until = max(until, at)
    return [*found, _stall(run, known)] if run else found


def _stall(run: Sequence[tuple[float, float]], known: Sequence[NamedStall]) -> LoadStall:
    begin, end = min(at - seconds for at, seconds in run), max(at for at, _ in run)
    during = [each for each in known if each.begin <= end + SLACK_S and each.end >= begin - SLACK_S]
    return LoadStall(
        at=begin,
        seconds=max(seconds for _, seconds in run),
        requests=len(run),
        causes=tuple(sorted(during, key=lambda each: each.begin - each.end)),
    )


def of_nodes(found: ClusterSurvey) -> list[NamedStall]:
    """Return the stalls of all nodes, by seconds since 1970; silent nodes are left out."""

    def one(node: NodeStatus) -> list[NamedStall]:
        try:
            answer = ask.value(node.address, InfoRequest(1, "stalls"), timeout=ASK_S)
        except QsyncError:
            return []
        return stalls_told(node.name, replies.read_map(answer))

    return [stall for each in parallel.each(found.samples, one) for stall in each]


def stalls_told(name: str, answer: Mapping[str, object]) -> list[NamedStall]:
    """Parse the stalls of one node; unreadable parts are left out, as releases may differ."""
    found = []
    for piece, cause, end, ms in [*_recent(answer.get("recent")), *_brief(answer.get("brief"))]:
        begin = end - ms / 1e3
        found.append(NamedStall(who=name, begin=begin, end=end, piece=piece, cause=cause))
    return found


def _recent(said: object) -> Iterator[tuple[str, str, float, float]]:
    for each in said if isinstance(said, list) else []:
        match each:
            case {"time": float(end), "ms": float(ms), "piece": str(piece), "cause": str(cause)}:
                yield piece, cause, end, ms
            case _:
                continue


def _brief(said: object) -> Iterator[tuple[str, str, float, float]]:
    for each in said if isinstance(said, list) else []:
        match each:
            case [float(end), float(ms), str(piece), str(cause)]:
                yield piece, cause, end, ms
            case _:
                continue
