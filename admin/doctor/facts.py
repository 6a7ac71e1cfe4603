"""The input of the checks (every node's sample and settings) and their findings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from admin.cluster import ask, parallel, surveys
from admin.cluster.surveys import ClusterSurvey, ClusterVerdict
from admin.cluster.unreachable import UnreachableNode
from qsync import units
from qsync.client.one_node import TIMEOUT_S
from qsync.errors import QsyncError
from qsync.status.record import NodeStatus
from qsync.wire import replies
from qsync.wire.verbs import InfoRequest


class Severity(StrEnum):
    """`critical`: something does not work. `warning`: the next fault may. `note`: good to know."""

    CRITICAL = "critical"
    WARNING = "warning"
    NOTE = "note"

    @property
    def wrong(self) -> bool:
        """Whether it is more than a note."""
        return self is not Severity.NOTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a check found. `subject` is a node's name, a link, or the cluster."""

    severity: Severity
    subject: str
    text: str
    fix: str


CLUSTER = "cluster"


def critical(subject: str, text: str, fix: str) -> Finding:
    """Something does not work."""
    return Finding(severity=Severity.CRITICAL, subject=subject, text=text, fix=fix)


def warning(subject: str, text: str, fix: str) -> Finding:
    """It works, but the next fault may break it."""
    return Finding(severity=Severity.WARNING, subject=subject, text=text, fix=fix)


def notice(subject: str, text: str, fix: str) -> Finding:
    """Worth knowing."""
    return Finding(severity=Severity.NOTE, subject=subject, text=text, fix=fix)


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """The configuration that a node runs with, as text, section by section."""

    sections: Mapping[str, object] = field(default_factory=dict)

    def text(self, key: str) -> str | None:
        """The value of a dotted option; None where it is not known."""
        section, _, option = key.rpartition(".")
        inside = self.sections.get(section) if section else self.sections
        found = inside.get(option) if isinstance(inside, Mapping) else None
        return found if isinstance(found, str) else None

    def seconds(self, key: str) -> float | None:
        """A duration."""
        found = self.text(key)
        return None if found is None else units.duration(found)

    def number(self, key: str) -> int | None:
        """A whole number."""
        found = self.text(key)
        return None if found is None else int(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupFacts:
    """A place of backups. `newest`: the end of the newest one, in seconds since 1970, as `now`.

    `age_max`: its maximum age in seconds. `problem`: why the age is not known.
    """

    place: str
    now: float
    age_max: float
    newest: float | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One round of answers. `settings` by replica id, of the nodes that sent them.

    `backups`: their place, if one was given.
    """

    survey: ClusterSurvey
    settings: Mapping[int, NodeSettings] = field(default_factory=dict)
    backups: BackupFacts | None = None

    @property
    def nodes(self) -> tuple[NodeStatus, ...]:
        """The nodes that answered."""
        return self.survey.samples

    @property
    def silent(self) -> tuple[UnreachableNode, ...]:
        """The members that did not."""
        return self.survey.silent

    @property
    def apart(self) -> tuple[NodeStatus, ...]:
        """Nodes that answered and do not belong to this cluster."""
        return self.survey.apart

    @property
    def leader(self) -> NodeStatus | None:
        """The leader of the highest term."""
        return self.survey.leader

    @property
    def verdict(self) -> ClusterVerdict:
        """Whether the cluster can commit."""
        return surveys.judge(self.survey)

    def counted(self, counter: str) -> Iterator[tuple[NodeStatus, int]]:
        """Nodes with a positive counter, and its value since their start."""
        for node in self.nodes:
            count = node.counters.get(counter, 0)
            if count:
                yield node, count

    def of(self, node: NodeStatus) -> NodeSettings:
        """A node's settings; empty ones where they are not known."""
        return self.settings.get(node.id, NodeSettings())

    def name(self, id: int) -> str:
        """A member's name."""
        return self.survey.names.get(id, str(id))


def gather(seeds: Sequence[str], *, timeout: float = TIMEOUT_S) -> Facts:
    """Ask all nodes for all facts. Raises Unavailable when no node answers."""
    found = surveys.survey(seeds, timeout=timeout)

    def one(node: NodeStatus) -> NodeSettings | None:
        try:
            answer = ask.value(node.address, InfoRequest(1, "settings"), timeout=timeout)
        except QsyncError:
            return None  # It answered a moment ago: the checks work without it.
        return NodeSettings(replies.read_map(answer))

    told = parallel.each(found.samples, one)
    known = {node.id: each for node, each in zip(found.samples, told, strict=True) if each}
    return Facts(survey=found, settings=known)


def backups_at(place: str, *, age_max: float, now: float) -> BackupFacts:
    """The backups at a place. Raises ConfigError when the place cannot be reached.

    The key of a sealed one comes from the environment.
    """
    from admin.backup import catalogue, keys, places  # noqa: PLC0415 - only with `--backups`
    from admin.backup.sealing import SealedPlace  # noqa: PLC0415 - the same

    known = BackupFacts(place=place, now=now, age_max=age_max)
    reached, key = places.open_place(place), keys.of_environment()
    try:
        found = catalogue.load(reached if key is None else SealedPlace(reached, key))
    except QsyncError as error:
        return replace(known, problem=error.message)
    # The damaged backup may be the newest one.
    newest = max((each.ended for each in found.backups), default=None)
    return replace(known, newest=newest, problem=next(iter(found.problems), ""))
