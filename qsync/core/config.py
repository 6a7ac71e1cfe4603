"""The numbers and choices that the rules of the log depend on."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from election.fencing import Fencing
from election.messages import Replica
from election.quorum import Quorum
from election.roles import ElectionMode
from qsync.features import KNOWN
from qsync.options import core_options
from qsync.options.core_options import EnableFeatures
from qsync.record import ONE_INSTANCE, Instance

DISCONNECT_FACTOR = 4
"""A peer not heard for this many replication timeouts counts as gone (tarantool.md 2.2)."""
DISK_PATIENCE_FACTOR = 4
"""A leader's write may hang for this many disconnect timeouts where no voter's disk does better."""
PROMISE_FACTOR = 2
"""A promise lasts this many replication timeouts: the next heartbeat renews it in time."""
CLOCK_DRIFT_MAX = 0.1
"""The largest relative error of the speed of one clock."""
LEASE_SHARE = 1 - 2 * CLOCK_DRIFT_MAX
"""Of a promise: the leader's clock may be slow and the voter's fast (membership.md M11 b)."""
_FIELDS = {each.name: each.core for each in core_options.CORE_OPTIONS}


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreConfig:
    """Times are seconds, sizes bytes. What a file may set is declared in `qsync.options`."""

    me: Replica
    voters: tuple[Replica, ...]
    """The ids of the voters in force. The configuration in the log decides it; before there is one
    these are the peers that the node's own settings name, and nothing is counted by them."""
    synchro_quorum: Quorum
    instance: Instance = ONE_INSTANCE
    """Which directory this is."""
    votes: bool = True
    """The configuration in force names this very directory as a voter, so that it counts itself."""
    mode: ElectionMode = core_options.ELECTION_MODE.default
    fencing: Fencing = core_options.ELECTION_FENCING.default
    preferred: tuple[str, ...] = core_options.ELECTION_PREFERRED.default
    """Names or ids of voters that should lead, best first (see `preference`)."""
    preferred_delay: float = core_options.ELECTION_PREFERRED_DELAY.default
    read_only: bool = False
    anon: bool = False
    """It means to follow without being a member."""
    election_timeout: float = core_options.ELECTION_TIMEOUT.default
    replication_timeout: float = core_options.REPLICATION_TIMEOUT.default
    synchro_timeout: float = core_options.SYNCHRO_TIMEOUT.default
    synchro_policy: str = core_options.SYNCHRO_POLICY.default
    queue_entries_max: int = core_options.QUEUE_ENTRIES_MAX.default
    queue_bytes_max: int = core_options.QUEUE_BYTES_MAX.default
    checkpoint_interval: float = core_options.CHECKPOINT_INTERVAL.default
    checkpoint_wal_threshold: int = core_options.CHECKPOINT_WAL_THRESHOLD.default
    checkpoint_count: int = core_options.CHECKPOINT_COUNT.default
    wal_cleanup_delay: float = core_options.WAL_CLEANUP_DELAY.default
    wal_retention_size: int = core_options.WAL_RETENTION_SIZE.default
    append_entries_max: int = 4096
    append_bytes_max: int = core_options.APPEND_BYTES_MAX.default
    append_window_bytes: int = 32 << 20
    recent_bytes_max: int = 8 << 20
    confirm_delay: float = 0.01
    read_patience: float = 0.01
    """If those that a leader asked for a read are silent for this long, it asks everybody."""
    disk_retry_delay: float = 0.5
    replace: str = core_options.REPLACE.default
    """`auto`: a leader replaces a voter that returns with a new directory (membership.md M5 b)."""

    features: frozenset[str] = KNOWN
    """Features of the log that this release knows."""
    enable_features: EnableFeatures = core_options.ENABLE_FEATURES.default
    """`auto`: a leader enables them in the log when every node knows them (see `upgrading`)."""

    def with_options(self, values: Mapping[str, object]) -> "CoreConfig":
        """Return a copy with these options, by their names in the file, as parsed."""
        fields = {_FIELDS[name]: value for name, value in values.items()}
        return replace(self, **fields)  # type: ignore[arg-type]  # their kinds know the types

    @property
    def disconnect_timeout(self) -> float:
        """After this long without a word a peer counts as gone."""
        return DISCONNECT_FACTOR * self.replication_timeout

    @property
    def disk_patience(self) -> float:
        """After this long without a completed write a leader leaves all the same."""
        return DISK_PATIENCE_FACTOR * self.disconnect_timeout

    @property
    def promise(self) -> float:
        """For how long a follower that is asked to gives no vote to anybody but its leader."""
        return min(self.election_timeout, PROMISE_FACTOR * self.replication_timeout)

    @property
    def lease(self) -> float:
        """How long a quorum's promises let the leader read alone."""
        return LEASE_SHARE * self.promise

    @property
    def quorum(self) -> int:
        """Voters that must have a transaction before it is confirmed."""
        return self.synchro_quorum.of(len(self.voters))
