"""The record of one run of a drill: the source of every report."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from admin.drills.hooks.running import HookRun
from admin.drills.model import Drill
from admin.drills.sampling import NodeObservation
from admin.evidence.tables import Row
from admin.workload.history import HistoryLine
from admin.workload.proof import Proof
from admin.workload.restored import RestoredPoint


class RunEnd(StrEnum):
    """How a run ended."""

    PASSED = "passed"
    FAILED = "failed"
    STOPPED = "stopped"
    NOT_HEALED = "not_healed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """An executed step. Times are monotonic, in seconds. `error`: why it failed."""

    text: str
    verb: str
    begun: float
    ended: float
    nodes: tuple[str, ...] = ()
    label: str | None = None
    error: str | None = None

    @property
    def seconds(self) -> float:
        """Its duration."""
        return self.ended - self.begun


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEvent:
    """A line of a node's timeline, on the runner's clock."""

    time: float
    node: str
    name: str
    fields: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """`stopped`: the guard, stop condition or failure that ended the method early, if any."""

    drill: Drill
    cluster: str
    version: str
    nodes: tuple[str, ...]
    targets: Mapping[str, tuple[str, ...]]
    begun: float
    ended: float
    began_at: str
    steps: tuple[StepRecord, ...]
    lines: tuple[HistoryLine, ...]
    observations: tuple[NodeObservation, ...]
    events: tuple[TimelineEvent, ...]
    terms: Mapping[int, tuple[str, ...]]
    met_unknown: int = 0
    unresolved: int = 0
    feeds: tuple[Row, ...] = ()
    """The answers of a change feed, as rows of evidence."""
    restored: tuple[RestoredPoint, ...] = ()
    """The restored points, if the cluster was restored."""
    commands: tuple[HookRun, ...] = ()
    """The runs of hooks, including healing."""
    proof: Proof | None = None
    end: RunEnd | None = None
    stopped: str | None = None
