"""Every metric there is: its name, what it means, and how it is read from a node's sample."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from qsync.consumer import ConsumerKind
from qsync.histogram import Spread
from qsync.member import Standing
from qsync.status import health
from qsync.status.members import IN_TOUCH
from qsync.status.record import NodeStatus
from qsync.status.storage import CheckpointStatus

PREFIX = "qsync_"
Labels = Mapping[str, str]
Point = tuple[Labels, float]


class MetricType(StrEnum):
    """The Prometheus type of a metric."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One metric. `points` gives its values; a histogram has `spread` instead."""

    name: str
    kind: MetricType
    about: str
    points: Callable[[NodeStatus], Iterable[Point]] = lambda _: ()
    spread: Callable[[NodeStatus], Spread] = field(default=lambda _: Spread())


def _gauge(name: str, about: str, of: Callable[[NodeStatus], float | None]) -> Family:
    """One number; no point while it is not known."""

    def points(node: NodeStatus) -> Iterable[Point]:
        found = of(node)
        return () if found is None else (({}, float(found)),)

    return Family(name=PREFIX + name, kind=MetricType.GAUGE, about=about, points=points)


def _each(name: str, about: str, of: Callable[[NodeStatus], Iterable[Point]]) -> Family:
    """Several numbers with different labels."""
    return Family(name=PREFIX + name, kind=MetricType.GAUGE, about=about, points=of)


def _count(name: str, key: str, about: str) -> Family:
    """A number of STATUS `counters`, which only grows while the process lives."""

    def points(node: NodeStatus) -> Iterable[Point]:
        return (({}, float(node.counters.get(key, 0))),)

    return Family(name=PREFIX + name, kind=MetricType.COUNTER, about=about, points=points)


def _histogram(name: str, about: str, of: Callable[[NodeStatus], Spread]) -> Family:
    return Family(name=PREFIX + name, kind=MetricType.HISTOGRAM, about=about, spread=of)


def _info(node: NodeStatus) -> Iterable[Point]:
    labels = {"version": node.version, "address": node.address, "uuid": node.uuid}
    return ((labels | {"replica": str(node.id), "status": node.status}, 1.0),)


def _reasons(node: NodeStatus) -> Iterable[Point]:
    return (({"reason": node.ro_reason}, 1.0),) if node.ro_reason else ()


def _links(node: NodeStatus) -> Iterable[Point]:
    return (({"peer": each.name}, float(each.status == IN_TOUCH)) for each in node.peers)


def _lags(node: NodeStatus) -> Iterable[Point]:
    return (({"peer": each.name}, float(each.lag)) for each in node.peers if each.lag is not None)


def _idles(node: NodeStatus) -> Iterable[Point]:
    known = [(each.name, each.idle) for each in node.peers if each.idle is not None]
    return (({"peer": name}, idle) for name, idle in known)


def _snapshots(node: NodeStatus) -> Iterable[Point]:
    sent = [(each.name, each.snapshot) for each in node.peers if each.snapshot is not None]
    return (({"peer": name}, float(snapshot.chunks)) for name, snapshot in sent)


def _snapshots_in_all(node: NodeStatus) -> Iterable[Point]:
    sent = [(each.name, each.snapshot) for each in node.peers if each.snapshot is not None]
    return (({"peer": name}, float(snapshot.chunks_in_all)) for name, snapshot in sent)


def _refused(node: NodeStatus) -> Iterable[Point]:
    return (({"reason": why}, float(count)) for why, count in node.refused.items())


def _held(node: NodeStatus) -> Iterable[Point]:
    """Return the share that each member or consumer holds of what it may hold, by name."""
    for each in node.gc.consumers if node.leads and node.gc.retention else ():
        name = each.about if each.kind == ConsumerKind.REPLICA else each.name
        yield {"consumer": name, "kind": each.kind}, each.size / node.gc.retention


def _newest(node: NodeStatus) -> CheckpointStatus | None:
    return node.gc.checkpoints[-1] if node.gc.checkpoints else None


def _missing(node: NodeStatus) -> float | None:
    if not node.leads:
        return None
    return float(len(node.synchro.queue.missing))


def _stalled(node: NodeStatus) -> float | None:
    return node.synchro.queue.stalled if node.leads else None


def _leader_idle(node: NodeStatus) -> float | None:
    return None if node.leads else node.leader_idle


FAMILIES: tuple[Family, ...] = (
    _each("info", "1; the labels say who this is", _info),
    _gauge("uptime_seconds", "since the process opened its directory", lambda n: n.uptime),
    _gauge("clock_seconds", "the node's wall clock, for skew", lambda n: n.time),
    _gauge(
        "healthy", "1 if it takes part and knows of nothing wrong", lambda n: not health.unsound(n)
    ),
    _gauge("split_brain", "1 if confirmed data differs", lambda n: n.status == "split_brain"),
    _gauge("superseded", "1 if its history goes on elsewhere", lambda n: n.status == "superseded"),
    _gauge("old_copy", "1 if it was found on an old copy", lambda n: bool(n.old_copy)),
    _gauge("quarantined", "1 if it found damage in its log", lambda n: bool(n.quarantined)),
    _gauge("stranger", "1 if the configuration does not name its directory", lambda n: n.stranger),
    _gauge("recruit", "1 while it may vote in no quorum", lambda n: n.recruit),
    _gauge(
        "joining",
        "1 while it catches up, to become a voter then",
        lambda n: n.standing == Standing.JOINING,
    ),
    # Who leads
    _gauge("term", "the term as the node knows it", lambda n: n.term),
    _gauge("leader", "1 on the leader", lambda n: n.leads),
    _gauge("knows_leader", "1 if it leads or follows a leader", lambda n: n.leader is not None),
    _gauge("leader_idle_seconds", "since a follower heard its leader", _leader_idle),
    _gauge("writable", "1 if it takes writes", lambda n: not n.ro),
    _each("read_only", "1 with the weightiest reason; absent where writes are taken", _reasons),
    _count("elections_total", "elections", "elections that this node won"),
    _count("step_downs_total", "step_downs", "leaderships that this node gave up or lost"),
    # Quorum
    _gauge("voters", "members that vote", lambda n: len(n.voters or n.nodes)),
    _gauge("quorum", "voters that must have a transaction", lambda n: n.synchro.quorum),
    _gauge("quorum_unsafe", "1 if the quorum is below a majority", lambda n: n.synchro.unsafe),
    _gauge("quorum_margin", "voters that ack beyond the quorum; on the leader", lambda n: n.margin),
    _gauge(
        "commits", "1 if what is written is confirmed: on a leader that can", lambda n: n.commits
    ),
    _gauge(
        "commit_stalled_seconds",
        "for how long nothing has been confirmed although something waits; on the leader",
        _stalled,
    ),
    _gauge(
        "anonymous_replicas",
        "replicas it knows that follow without being members",
        lambda n: n.replication_anon.count,
    ),
    # The log
    _gauge("log_last_index", "length of the log", lambda n: n.last),
    _gauge("log_written_index", "durable here up to", lambda n: n.written),
    _gauge("log_confirmed_index", "decided up to", lambda n: n.confirmed),
    _gauge("log_visible_index", "readable here up to", lambda n: n.visible),
    _gauge("log_folded_index", "in the spaces on disk up to", lambda n: n.folded),
    _gauge("behind_entries", "entries of the leader that are not durable here", lambda n: n.behind),
    _gauge(
        "lost_entries", "entries cut from the log and kept in the archive", lambda n: n.lost.entries
    ),
    _count("log_cuts_total", "cuts", "tails cut off because the leader had others"),
    _count(
        "lost_async_writes_total", "lost_async", "asynchronous writes answered ok here and then cut"
    ),
    # Links
    _each("peer_up", "1 if the connection to the peer stands", _links),
    _each("peer_lag_entries", "entries that the peer has not acked; on the leader", _lags),
    _each("peer_idle_seconds", "since the peer was heard; on the leader", _idles),
    _each("peer_snapshot_chunks", "chunks that the peer has of what it is sent", _snapshots),
    _each("peer_snapshot_chunks_in_all", "how many there are; 0: not counted", _snapshots_in_all),
    _count("snapshots_sent_total", "snapshots_sent", "snapshots sent to who lacked the log"),
    _count("snapshots_installed_total", "snapshots_installed", "snapshots that the log began at"),
    # Limbo
    _gauge("limbo_length", "pending transactions", lambda n: n.synchro.queue.len),
    _gauge(
        "limbo_length_max",
        "pending ones beyond which writers wait",
        lambda n: n.synchro.queue.entries_max,
    ),
    _gauge("limbo_bytes", "size of the pending transactions", lambda n: n.synchro.queue.size),
    _gauge(
        "limbo_bytes_max", "bytes beyond which writers wait", lambda n: n.synchro.queue.bytes_max
    ),
    _gauge("limbo_age_seconds", "how long the oldest one waits", lambda n: n.synchro.queue.age),
    _gauge("limbo_timeout_seconds", "how long it may wait", lambda n: n.synchro.timeout),
    _gauge("limbo_missing_acks", "voters whose ack the oldest one lacks; on the leader", _missing),
    # Requests
    _count("writes_total", "writes", "writes whose outcome was sent to a client"),
    _count("writes_rolled_back_total", "rolled_back", "writes whose outcome was rolled back"),
    _count("unknown_outcomes_total", "unknown", "writes whose outcome was not known in time"),
    _count("conflicts_total", "conflicts", "writes refused because something had changed"),
    _count("reads_total", "reads", "reads"),
    _count("rollbacks_total", "rollbacks", "times that this leader rolled the limbo back"),
    _count("transactions_rolled_back_total", "transactions_rolled_back", "transactions in these"),
    _gauge("clients", "client connections", lambda n: n.clients),
    _gauge("waiting_requests", "requests that wait for an answer", lambda n: n.waiters),
    Family(
        name="qsync_refused_connections_total",
        kind=MetricType.COUNTER,
        about="connections refused, by reason",
        points=_refused,
    ),
    _gauge(
        "certificate_seconds_left",
        "how long its certificate is good; negative: it has expired",
        lambda n: n.tls.left,
    ),
    _gauge(
        "ca_seconds_left",
        "how long the authority is good that expires first of those it trusts",
        lambda n: n.tls.ca_left,
    ),
    _gauge(
        "certificate_error",
        "1 while files of certificates that changed cannot be used",
        lambda n: None if not n.tls.on else n.tls.error is not None,
    ),
    _histogram(
        "commit_seconds",
        "from asking to the answer of a write; those answered together count as slow as the oldest",
        lambda n: n.latency,
    ),
    # Log and snapshots
    _gauge(
        "log_bytes",
        "the log on disk, room that is filled in advance included",
        lambda n: n.memory.log,
    ),
    _gauge("log_begins_index", "the first entry that is in the log", lambda n: n.gc.signature + 1),
    _each(
        "log_held_share",
        "log that is kept for a member or consumer, as a share of store.wal_retention_size; "
        "reported by the leader",
        _held,
    ),
    _count(
        "consumers_let_go_total",
        "consumers_let_go",
        "members and consumers for which the log is kept no more, as a leader",
    ),
    _gauge(
        "log_trim_error",
        "1 while the log on disk cannot be trimmed",
        lambda n: bool(n.gc.trim_error),
    ),
    _gauge("snapshots", "snapshots on the disk", lambda n: len(n.gc.checkpoints)),
    _gauge(
        "snapshot_index",
        "the index at which the newest one holds",
        lambda n: None if (newest := _newest(n)) is None else newest.signature,
    ),
    _gauge(
        "snapshot_bytes",
        "what the newest one takes",
        lambda n: None if (newest := _newest(n)) is None else newest.size,
    ),
    _gauge(
        "snapshot_overdue",
        "age of the newest one in store.checkpoint_interval, if anything changed since",
        lambda n: n.gc.overdue(now=n.time, confirmed=n.confirmed),
    ),
    _gauge(
        "snapshot_error",
        "1 if the last one could not be written",
        lambda n: bool(n.gc.checkpoint_error),
    ),
    # Disk and process
    _histogram(
        "disk_write_seconds", "durable writes of the log, fsync included", lambda n: n.disk.writes
    ),
    _gauge("disk_busy_seconds", "how long the present write takes so far", lambda n: n.disk.busy_s),
    _gauge("disk_error", "1 while the log cannot be written", lambda n: bool(n.disk.error)),
    _gauge("disk_free_bytes", "room on the file system of the directory", lambda n: n.disk.free),
    _gauge("disk_size_bytes", "size of that file system", lambda n: n.disk.total),
    _count("disk_failures_total", "disk_failures", "writes of the log that failed"),
    _gauge(
        "spaces_error",
        "1 while stored rows cannot be trusted and are rebuilt",
        lambda n: bool(n.spaces.error),
    ),
    _gauge(
        "spaces_differ",
        "1 if stored rows differ from the leader's",
        lambda n: bool(n.spaces.differs),
    ),
    _gauge("spaces_compared_index", "where they were compared last", lambda n: n.spaces.compared),
    _count("spaces_rebuilds_total", "rebuilds", "number of rebuilds of the stored rows"),
    _count("spaces_scrubs_total", "scrubs", "times that all stored rows were verified"),
    _gauge(
        "overlay_rows", "row versions in memory, not folded yet", lambda n: n.memory.overlay_rows
    ),
    _gauge("memory_max_bytes", "largest resident memory so far", lambda n: n.memory.rss),
    _gauge("open_files", "file descriptors in use", lambda n: n.files[0] if n.files else None),
    _gauge("open_files_max", "file descriptors allowed", lambda n: n.files[1] if n.files else None),
    _count("events_unwritten_total", "events_unwritten", "events that the timeline file lacks"),
    _count("audit_unwritten_total", "audit_unwritten", "lines that the audit trail lacks"),
    _count("audit_cuts_total", "audit_cuts", "times that another's audit trail had lost lines"),
)
"""In the order in which they are shown."""
