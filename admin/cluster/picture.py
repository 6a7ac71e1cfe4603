"""The contents of a screen at one moment: rates, latencies, findings, history."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from admin.cluster import surveys
from admin.cluster.moment import Moment
from admin.cluster.past import Leadership, PastEvent, leaderships, merged
from admin.cluster.surveys import ClusterSurvey, ClusterVerdict
from admin.doctor import checks
from admin.doctor.facts import Finding
from qsync.histogram import Spread
from qsync.status.record import NodeStatus

WINDOW_S = 60.0
RATE_S = 2.0
"""Seconds over which rates are computed: shorter ones jump, longer ones lag."""
SPARKS = 60
_SLOW = 0.99
EVENTS_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Per second, all nodes together; `unknown` and `lost_async` since their processes began."""

    writes: float = 0.0
    reads: float = 0.0
    rolled_back: float = 0.0
    conflicts: float = 0.0
    unknown: int = 0
    lost_async: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPicture:
    """One moment and what it means. `commit` and `disks` (by replica id) are of the last minute.

    `sparks`: writes per second, one number for each moment at which a second or more had passed.
    `slow`: the 99th percentile of those moments' writes, in seconds; None without writes.
    """

    moment: Moment
    verdict: ClusterVerdict
    rates: Rates = field(default_factory=Rates)
    commit: Spread = field(default_factory=Spread)
    disks: Mapping[int, Spread] = field(default_factory=dict)
    sparks: tuple[float, ...] = ()
    slow: tuple[float | None, ...] = ()
    findings: tuple[Finding, ...] = ()
    events: tuple[PastEvent, ...] = ()
    leaderships: tuple[Leadership, ...] = ()

    @property
    def survey(self) -> ClusterSurvey:
        """The nodes, as samples."""
        return self.moment.survey

    @property
    def leader(self) -> NodeStatus | None:
        """The leader of the highest term."""
        return self.survey.leader

    @property
    def cluster(self) -> str:
        """The name of the cluster."""
        return next((each.cluster.name for each in self.survey.samples if each.cluster.name), "?")

    def name(self, id: int | None) -> str:
        """A member's name."""
        return "-" if id is None else self.survey.names.get(id, str(id))

    @property
    def troubled(self) -> frozenset[str]:
        """Nodes that the doctor complains of, by name; of a link, the end that cannot dial."""
        return frozenset(each.subject.partition(" ")[0] for each in self.findings)

    def rows(self) -> list[tuple[int, str]]:
        """Every member, silent or not, by replica id: the order of the screen."""
        members = [(each.id, each.name) for each in self.survey.samples]
        members += [(each.id, each.name) for each in self.survey.silent]
        return sorted(members)


@dataclass(frozen=True, slots=True)
class _Mark:
    """The answers of the nodes at that time."""

    time: float
    nodes: Mapping[int, NodeStatus]


class PictureModel:
    """Remembers the last minute, so that a moment becomes a picture."""

    def __init__(self) -> None:
        self._marks: deque[_Mark] = deque()
        self._sparks: deque[float] = deque(maxlen=SPARKS)
        self._slow: deque[float | None] = deque(maxlen=SPARKS)
        self._spark_at = 0.0
        self._events_of: object = None
        self._past: tuple[tuple[PastEvent, ...], tuple[Leadership, ...]] = ((), ())

    def show(self, moment: Moment) -> ClusterPicture:
        """The picture of a moment that is not older than the former ones."""
        mark = _Mark(moment.time, {each.id: each for each in moment.survey.samples})
        former = self._former(mark)
        rates = _rates(mark, former)
        self._remember(mark, rates, former)
        gained = [(node, self._oldest(node.id)) for node in moment.survey.samples]
        events, leaders = self._look_back(moment)
        return ClusterPicture(
            moment=moment,
            verdict=surveys.judge(moment.survey),
            rates=rates,
            commit=Spread.total(node.latency.since(then.latency) for node, then in gained),
            disks={node.id: node.disk.writes.since(then.disk.writes) for node, then in gained},
            sparks=tuple(self._sparks),
            slow=tuple(self._slow),
            findings=_findings(moment),
            events=events,
            leaderships=leaders,
        )

    def forget(self) -> None:
        """Time jumps: a replay goes back."""
        self._marks.clear()
        self._sparks.clear()
        self._slow.clear()
        self._spark_at = 0.0

    def _remember(self, mark: _Mark, rates: Rates, former: _Mark) -> None:
        marks = self._marks
        marks.append(mark)
        while marks[0] is not mark and marks[1].time <= mark.time - WINDOW_S:
            marks.popleft()
        if mark.time >= self._spark_at + 1.0:
            self._spark_at = mark.time
            self._sparks.append(rates.writes)
            self._slow.append(_answered(mark, former).quantile(_SLOW))

    def _oldest(self, id: int) -> NodeStatus:
        """A node's first answer within the window."""
        return next(mark.nodes[id] for mark in self._marks if id in mark.nodes)

    def _former(self, mark: _Mark) -> _Mark:
        """The nodes' answers `RATE_S` before, or their first ones."""
        former = next((m for m in reversed(self._marks) if m.time <= mark.time - RATE_S), None)
        return former or (self._marks[0] if self._marks else mark)

    def _look_back(self, moment: Moment) -> tuple[tuple[PastEvent, ...], tuple[Leadership, ...]]:
        """The merged events; computed again only when a node reports a new one."""
        if self._events_of != moment.events:
            self._events_of = moment.events
            names = moment.survey.names
            events = tuple(merged(moment.events, names)[-EVENTS_MAX:])
            self._past = events, tuple(leaderships(moment.events, names))
        return self._past


def _rates(mark: _Mark, former: _Mark) -> Rates:
    seconds = max(mark.time - former.time, 1e-9)

    def rate(key: str) -> float:
        # A node that was away or restarted has no rate for that moment.
        gained = [_count(node, key) - _count(then, key) for node, then in _both(mark, former)]
        return sum(max(0, each) for each in gained) / seconds

    def total(key: str) -> int:
        return sum(_count(node, key) for node in mark.nodes.values())

    return Rates(
        writes=rate("writes"),
        reads=rate("reads"),
        rolled_back=rate("rolled_back"),
        conflicts=rate("conflicts"),
        unknown=total("unknown"),
        lost_async=total("lost_async"),
    )


def _answered(mark: _Mark, former: _Mark) -> Spread:
    """The latencies of the writes that were answered in between."""
    return Spread.total(node.latency.since(then.latency) for node, then in _both(mark, former))


def _both(mark: _Mark, former: _Mark) -> list[tuple[NodeStatus, NodeStatus]]:
    """Return the present and the earlier status of each node that answered both times."""
    pairs = [(node, former.nodes.get(id)) for id, node in mark.nodes.items()]
    return [(node, then) for node, then in pairs if then is not None]


def _count(node: NodeStatus, key: str) -> int:
    return node.counters.get(key, 0)


def _findings(moment: Moment) -> tuple[Finding, ...]:
    if not moment.answers:
        return ()
    return tuple(checks.wrong(checks.run(moment.facts)))
