"""Everything that may be set, section by section, with its default and what it is for."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from election.fencing import Fencing
from election.messages import Replica
from election.quorum import Quorum
from election.roles import ElectionMode
from qsync.config.kinds import (
    ADDRESS,
    ADDRESS_OR_NONE,
    CLUSTER_ID,
    FEATURES,
    FLAG,
    LABEL,
    NAME,
    PATH,
    PATH_OR_NONE,
    SECRET,
    Address,
    declared,
    option,
)
from qsync.config.secret import Secret
from qsync.default_port import DEFAULT_ADDRESS
from qsync.options import core_options
from qsync.options.core_options import EnableFeatures, Policy, Replace
from qsync.options.value_kinds import ValueKind, choice, duration, integer, size

REPLICA_MAX = 31

_replica = integer(1, REPLICA_MAX)
REPLICA: ValueKind[Replica] = ValueKind(
    parse=lambda text: Replica(_replica.parse(text)), schema=_replica.schema
)


class WriterChoice(StrEnum):
    """Where durable commits are made."""

    AUTO = "auto"
    INLINE = "inline"
    THREAD = "thread"


class LogLevel(StrEnum):
    """From which severity on there is a line in the log of the process."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    OFF = "off"


class LogFormat(StrEnum):
    """How a line of it looks."""

    TEXT = "text"
    JSON = "json"


class ClusterUsers(StrEnum):
    """Whether clients are let in where no user is known."""

    REQUIRED = "required"
    OPTIONAL = "optional"


class ClientCertificates(StrEnum):
    """Whether a client must show a certificate."""

    REQUIRED = "required"
    OPTIONAL = "optional"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerConfig:
    """One member of the replica set, this node included."""

    id: Replica = option(REPLICA, "1", "its replica id")
    name: str = option(NAME, "n1", "name of the member, unique in the cluster")
    address: Address = option(ADDRESS, DEFAULT_ADDRESS, "where the others reach it")
    via: Address | None = option(
        ADDRESS_OR_NONE, "", "dial it here instead: a tunnel, or a proxy that can break the link"
    )

    @property
    def dialled(self) -> Address:
        """Where this node dials it."""
        return self.via or self.address


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSection:
    """Who the node is and where its data lives."""

    id: Replica = option(REPLICA, "1", "replica id, unique in the cluster, for life")
    name: str = option(NAME, "n1", "name shown to people, unique in the cluster")
    dir: Path = option(PATH, ".", "where its data lives; relative to this file")
    faults: bool = option(
        FLAG, "false", "true allows drills to break it at its fault points; never in production"
    )
    rehearsed_features: frozenset[str] = option(
        FEATURES,
        "",
        "features of the log that it claims to know besides its own; for drills of upgrades alone",
    )
    events: bool = option(
        FLAG, "false", "true writes down what happens inside of it, for `qsync check`"
    )
    events_bytes_max: int = option(
        size("64KiB", "1TiB"), "256MiB", "size of those records; beyond it no more is written"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSection:
    """The cluster it belongs to. Must be the same on all members."""

    id: str = option(CLUSTER_ID, "", "UUID of the cluster; needed when there are peers")
    name: str = option(NAME, "qsync", "name shown to people")
    tag: str = option(LABEL, "", "free text shown beside the name, such as an environment")
    secret: Secret = option(
        SECRET,
        "",
        "shared by all members, who prove to each other that they know it; 16 characters or more",
    )
    secret_file: Path | None = option(
        PATH_OR_NONE,
        "",
        "a file that holds the secret instead; relative to this file. Of several, one a line, the "
        "node proves the first and accepts each, while the cluster changes its secret",
    )
    secret_optional: bool = option(
        FLAG,
        "false",
        "true: nodes without a secret are accepted beside those that know it, while a running "
        "cluster gets its first one",
    )
    users: ClusterUsers = option(
        choice(ClusterUsers),
        "optional",
        "required: a node that knows no users, as one without rows yet, lets only its owner in; "
        "optional: everybody",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionSection:
    """Who may lead, and how soon a silent leader is replaced."""

    mode: ElectionMode = declared(core_options.ELECTION_MODE)
    timeout: float = declared(core_options.ELECTION_TIMEOUT)
    fencing: Fencing = declared(core_options.ELECTION_FENCING)
    preferred: tuple[str, ...] = declared(core_options.ELECTION_PREFERRED)
    preferred_delay: float = declared(core_options.ELECTION_PREFERRED_DELAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationSection:
    """How transactions reach the others and what is asked of them."""

    timeout: float = declared(core_options.REPLICATION_TIMEOUT)
    synchro_quorum: Quorum = declared(core_options.SYNCHRO_QUORUM)
    synchro_timeout: float = declared(core_options.SYNCHRO_TIMEOUT)
    synchro_policy: Policy = declared(core_options.SYNCHRO_POLICY)
    queue_entries_max: int = declared(core_options.QUEUE_ENTRIES_MAX)
    queue_bytes_max: int = declared(core_options.QUEUE_BYTES_MAX)
    append_bytes_max: int = declared(core_options.APPEND_BYTES_MAX)
    snapshot_rate: int = option(
        size("64KiB", "1TiB"),
        "32MiB",
        "bytes of snapshots sent in a second, to all receivers together",
    )
    anon: bool = option(
        FLAG, "false", "true: follow as an anonymous replica: no member, no vote, not in `_cluster`"
    )
    anon_ttl: float = option(
        duration("1s", "365d"),
        "1h",
        "how long an anonymous replica that is gone is remembered, and log is kept for it",
    )
    anon_max: int = option(
        integer(0, REPLICA_MAX), "8", "anonymous replicas that a node knows at once, at most"
    )
    replace: Replace = declared(core_options.REPLACE)
    enable_features: EnableFeatures = declared(core_options.ENABLE_FEATURES)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSection:
    """What is on disk."""

    writer: WriterChoice = option(
        choice(WriterChoice),
        "auto",
        "where commits run: inline (fast disks), thread, or auto, which measures and chooses",
    )
    map_size: int = option(
        size("1MiB", "64TiB"), "1GiB", "first size of each LMDB map; maps grow by themselves"
    )
    fold_interval: float = option(
        duration("1ms", "1h"), "100ms", "how often confirmed rows go from memory to the spaces"
    )
    fold_rows_max: int = option(integer(1, 1_000_000), "200", "rows folded in one go")
    memtable_rows_max: int = option(
        integer(2, 1_000_000),
        "20000",
        "rows that are gathered in memory before they go to the spaces together, half of them at"
        " once at most",
    )
    unfolded_bytes_max: int = option(
        size("1MiB", "64GiB"),
        "32MiB",
        "bytes of rows that a leader has not put in the spaces yet; with more, writers wait",
    )
    scrub_interval: float = option(
        duration("0s", "30d"), "1h", "how often all stored rows are verified; 0: only when read"
    )
    compare_interval: float = option(
        duration("0s", "30d"), "1m", "how often followers compare rows with the leader; 0: never"
    )
    checkpoint_interval: float = declared(core_options.CHECKPOINT_INTERVAL)
    checkpoint_wal_threshold: int = declared(core_options.CHECKPOINT_WAL_THRESHOLD)
    checkpoint_count: int = declared(core_options.CHECKPOINT_COUNT)
    wal_cleanup_delay: float = declared(core_options.WAL_CLEANUP_DELAY)
    wal_retention_size: int = declared(core_options.WAL_RETENTION_SIZE)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSection:
    """What the process says on standard error. The data log is another thing."""

    level: LogLevel = option(
        choice(LogLevel), "info", "events of this severity and graver are written to standard error"
    )
    format: LogFormat = option(
        choice(LogFormat), "text", "lines for people (text) or one object a line (json)"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSection:
    """Metrics and health endpoint."""

    listen: Address | None = option(
        ADDRESS_OR_NONE,
        "",
        "where /metrics, health URLs and the status page are served; off without it",
    )
    token_file: Path | None = option(
        PATH_OR_NONE, "", "file of the bearer token that every request must carry"
    )
    open_health: bool = option(
        FLAG,
        "false",
        "health URLs also answer requests without the token: with a status code alone",
    )


class AuditFailure(StrEnum):
    """What becomes of what should be written down, and cannot be."""

    ALARM = "alarm"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSection:
    """Who did what, in `audit.jsonl` of the directory; kept where the cluster has users."""

    bytes_max: int = option(
        size("4KiB", "1TiB"), "64MiB", "size of a file of the trail; then the next one is begun"
    )
    files_max: int = option(integer(1, 10_000), "10", "older files that are kept")
    on_failure: AuditFailure = option(
        choice(AuditFailure),
        "alarm",
        "when a line cannot be written: alarm goes on without it, refuse refuses the operation",
    )
    heads_interval: float = option(
        duration("0s", "1d"),
        "1m",
        "how often others are told how long the trail is, which shows lost lines; 0: never",
    )
    lines_per_user_max: int = option(
        integer(1, 100_000),
        "100",
        "lines that a user, or an address without one, causes without a right: logins, failures, "
        "refusals, own passwords; further ones are counted in a line of their own",
    )
    counts_interval: float = option(
        duration("1s", "1d"),
        "5m",
        "how often there is such a line, and one more of `lines_per_user_max` is free again",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSection:
    """TLS 1.3 with clients and other members; off while no certificate is named."""

    certificate: Path | None = option(
        PATH_OR_NONE, "", "file of its certificate, PEM, made by `qsync cert node`"
    )
    key: Path | None = option(PATH_OR_NONE, "", "file of the certificate's key, PEM, not encrypted")
    ca: Path | None = option(
        PATH_OR_NONE, "", "file of the authorities it trusts, PEM; two while one replaces the other"
    )
    clients: ClientCertificates = option(
        choice(ClientCertificates),
        "required",
        "whether clients must show a certificate; members always must",
    )
    metrics: bool = option(FLAG, "true", "serves metrics and health URLs over TLS as well")

    @property
    def on(self) -> bool:
        """Is everything said over TLS?"""
        return self.certificate is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsSection:
    """Limits."""

    frame_bytes_max: int = option(size("64KiB", "1GiB"), "64MiB", "largest message between members")
    client_frame_bytes_max: int = option(
        size("64KiB", "1GiB"), "16MiB", "largest message from or to a client"
    )
    txn_bytes_max: int = option(size("1KiB", "1GiB"), "8MiB", "largest transaction")
    tuple_bytes_max: int = option(size("64B", "1GiB"), "1MiB", "largest tuple")
    connections_max: int = option(
        integer(1, 1_000_000),
        "1000",
        "client connections, of one user at most nine tenths of what others leave; fewer where "
        "file descriptors are few",
    )
    handshake_timeout: float = option(
        duration("100ms", "1m"), "5s", "how long a connection may take to say who it is"
    )
    handshakes_per_address_max: int = option(
        integer(1, 1_000_000), "512", "connections of one host that have not said yet who they are"
    )
    unsent_bytes_max: int = option(
        size("1MiB", "1TiB"),
        "256MiB",
        "bytes of answers that clients have not read yet, of all clients together",
    )
    unfinished_bytes_max: int = option(
        size("64KiB", "1TiB"),
        "256MiB",
        "bytes of requests that have arrived in part, of all clients together",
    )
    inflight_max: int = option(
        integer(1, 1_000_000), "4096", "unanswered requests of one connection"
    )
    session_ttl: float = option(
        duration("1s", "365d"), "1h", "silence after which a client session may expire"
    )
    sessions_max: int = option(integer(1, 10_000_000), "10000", "client sessions kept")
    sessions_per_user_max: int = option(
        integer(0, 10_000_000),
        "0",
        "client sessions that one user may open; 0: half of `limits.sessions_max`",
    )
    session_outcomes_max: int = option(
        integer(1, 1_000_000), "4096", "outcomes kept for the retries of one session"
    )
