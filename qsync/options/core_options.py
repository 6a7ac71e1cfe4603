"""The options that the rules of the log depend on, each declared once.

Everything else that knows of them goes over this table: the file's sections, the defaults and
fields of `CoreConfig`, what a cluster may share, `box.cfg` with Tarantool's names.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Generic, Protocol, TypeVar

from election.fencing import Fencing
from election.quorum import Quorum
from election.roles import ElectionMode
from qsync.options.value_kinds import (
    MEMBER_NAMES,
    QUORUM,
    ValueKind,
    choice,
    duration,
    integer,
    size,
)

T = TypeVar("T")


class AnyCoreOption(Protocol):
    """A declared option, whatever the type of its value."""

    @property
    def name(self) -> str:
        """See `CoreOption`."""

    @property
    def core(self) -> str:
        """See `CoreOption`."""

    @property
    def shared(self) -> bool:
        """See `CoreOption`."""

    @property
    def online(self) -> bool:
        """See `CoreOption`."""

    @property
    def tarantool(self) -> str:
        """See `CoreOption`."""

    def parse(self, text: str) -> object:
        """Raises ValueError whose text completes "the value ..."."""


class Policy(StrEnum):
    """What happens to a transaction that waited too long for its quorum."""

    ROLLBACK = "rollback"
    DETACH = "detach"


class Replace(StrEnum):
    """Who gives the place of a voter that lost its disk to the new directory (membership.md M5)."""

    AUTO = "auto"
    """The leader, by itself, as soon as the new directory has caught up."""
    MANUAL = "manual"
    """An operator, with `qsync member replace`."""


class EnableFeatures(StrEnum):
    """Who enables features of the log that every node knows."""

    AUTO = "auto"
    """The leader, as soon as they do."""
    MANUAL = "manual"
    """Nobody, until this is `auto` again: so long the former release can be gone back to."""


@dataclass(frozen=True, slots=True)
class CoreOption(Generic[T]):
    """One option: its name in the file, what it may be, what it is without being set.

    `core`: the field of `CoreConfig` that holds it. `tarantool`: its name in `box.cfg`.
    `shared`: a row of `_settings` may set it for the whole cluster. `online`: `box.cfg` may
    change it while the node runs.
    """

    name: str
    core: str
    kind: ValueKind[T]
    default_text: str
    about: str
    shared: bool = False
    online: bool = False
    tarantool: str = ""
    default: T = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "default", self.kind.parse(self.default_text))

    def parse(self, text: str) -> T:
        """Raises ValueError whose text completes "the value ..."."""
        return self.kind.parse(text)


ELECTION_MODE: Final = CoreOption(
    "election.mode",
    "mode",
    choice(ElectionMode),
    "candidate",
    "candidate: stands when no leader is heard; manual, off: when promoted; voter: never",
    online=True,
    tarantool="election_mode",
)
ELECTION_TIMEOUT: Final = CoreOption(
    "election.timeout",
    "election_timeout",
    duration("10ms", "1h"),
    "5s",
    "silence after which a follower calls an election",
    shared=True,
    online=True,
    tarantool="election_timeout",
)
ELECTION_FENCING: Final = CoreOption(
    "election.fencing",
    "fencing",
    choice(Fencing),
    "soft",
    "a leader without a quorum steps down: soft, as followers miss it; strict, sooner; off, never",
    shared=True,
    online=True,
    tarantool="election_fencing_mode",
)
ELECTION_PREFERRED: Final[CoreOption[tuple[str, ...]]] = CoreOption(
    "election.preferred",
    "preferred",
    MEMBER_NAMES,
    "",
    "names or ids of the voters that should lead, the best first, with commas between them",
    shared=True,
)
ELECTION_PREFERRED_DELAY: Final = CoreOption(
    "election.preferred_delay",
    "preferred_delay",
    duration("0s", "24h"),
    "30s",
    "how long a preferred voter must be fit without a break before the leader hands over to it",
    shared=True,
)
REPLICATION_TIMEOUT: Final = CoreOption(
    "replication.timeout",
    "replication_timeout",
    duration("5ms", "1h"),
    "1s",
    "heartbeat period; a peer silent for four of them is lost",
    shared=True,
    online=True,
    tarantool="replication_timeout",
)
SYNCHRO_QUORUM: Final[CoreOption[Quorum]] = CoreOption(
    "replication.synchro_quorum",
    "synchro_quorum",
    QUORUM,
    "N / 2 + 1",
    "members that must hold a transaction; N is the number of voters",
    shared=True,
    online=True,
    tarantool="replication_synchro_quorum",
)
SYNCHRO_TIMEOUT: Final = CoreOption(
    "replication.synchro_timeout",
    "synchro_timeout",
    duration("1ms", "24h"),
    "5s",
    "how long the oldest pending transaction waits for its quorum",
    shared=True,
    online=True,
    tarantool="replication_synchro_timeout",
)
SYNCHRO_POLICY: Final = CoreOption(
    "replication.synchro_policy",
    "synchro_policy",
    choice(Policy),
    "rollback",
    "after that time: rollback undoes it; detach lets it wait on, and only answers the client",
    shared=True,
)
QUEUE_ENTRIES_MAX: Final = CoreOption(
    "replication.queue_entries_max",
    "queue_entries_max",
    integer(1, 100_000_000),
    "100000",
    "pending transactions beyond which writers wait",
    shared=True,
)
QUEUE_BYTES_MAX: Final = CoreOption(
    "replication.queue_bytes_max",
    "queue_bytes_max",
    size("1KiB", "64GiB"),
    "16MiB",
    "bytes of pending transactions beyond which writers wait; as much may wait, more is refused",
    shared=True,
    online=True,
    tarantool="replication_synchro_queue_max_size",
)
APPEND_BYTES_MAX: Final = CoreOption(
    "replication.append_bytes_max",
    "append_bytes_max",
    size("4KiB", "1GiB"),
    "4MiB",
    "bytes of log in one message to a follower",
)
REPLACE: Final = CoreOption(
    "replication.replace",
    "replace",
    choice(Replace),
    "auto",
    "who replaces a voter that lost its disk: auto (the leader), manual (an operator)",
)
CHECKPOINT_INTERVAL: Final = CoreOption(
    "store.checkpoint_interval",
    "checkpoint_interval",
    duration("0s", "365d"),
    "1h",
    "how often a snapshot is written if anything changed; 0: by the size of the log alone",
    online=True,
    tarantool="checkpoint_interval",
)
CHECKPOINT_WAL_THRESHOLD: Final = CoreOption(
    "store.checkpoint_wal_threshold",
    "checkpoint_wal_threshold",
    size("4KiB", "1000000TiB"),
    "512MiB",
    "a snapshot is also written when the log grew by so much, and by the size of the last one",
    online=True,
    tarantool="checkpoint_wal_threshold",
)
CHECKPOINT_COUNT: Final = CoreOption(
    "store.checkpoint_count",
    "checkpoint_count",
    integer(1, 1000),
    "2",
    "snapshots that stay; the log is kept from the oldest of them on",
    online=True,
    tarantool="checkpoint_count",
)
WAL_CLEANUP_DELAY: Final = CoreOption(
    "store.wal_cleanup_delay",
    "wal_cleanup_delay",
    duration("0s", "365d"),
    "0s",
    "how long after its start a node keeps all of its log",
    online=True,
    tarantool="wal_cleanup_delay",
)
WAL_RETENTION_SIZE: Final = CoreOption(
    "store.wal_retention_size",
    "wal_retention_size",
    size("4KiB", "1000000TiB"),
    "2GiB",
    "log kept for members and consumers that lag; who lags further needs a snapshot",
    shared=True,
    online=True,
    tarantool="wal_retention_size",
)
ENABLE_FEATURES: Final = CoreOption(
    "replication.enable_features",
    "enable_features",
    choice(EnableFeatures),
    "auto",
    "new features of the log: auto uses them once every node's release knows them, manual does not",
    shared=True,
)

CORE_OPTIONS: Final[tuple[AnyCoreOption, ...]] = (
    ELECTION_MODE,
    ELECTION_TIMEOUT,
    ELECTION_FENCING,
    ELECTION_PREFERRED,
    ELECTION_PREFERRED_DELAY,
    REPLICATION_TIMEOUT,
    SYNCHRO_QUORUM,
    SYNCHRO_TIMEOUT,
    SYNCHRO_POLICY,
    QUEUE_ENTRIES_MAX,
    QUEUE_BYTES_MAX,
    APPEND_BYTES_MAX,
    REPLACE,
    CHECKPOINT_INTERVAL,
    CHECKPOINT_WAL_THRESHOLD,
    CHECKPOINT_COUNT,
    WAL_CLEANUP_DELAY,
    WAL_RETENTION_SIZE,
    ENABLE_FEATURES,
)
