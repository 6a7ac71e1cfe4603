"""The numbers and choices that the rules of the log depend on."""

from dataclasses import dataclass

from election.fencing import Fencing
from election.messages import Replica
from election.quorum import Quorum
from election.roles import ElectionMode
from qsync.record import ONE_INSTANCE, Instance

DISCONNECT_FACTOR = 4
"""A peer not heard for this many replication timeouts counts as gone (tarantool.md 2.2)."""
PROMISE_FACTOR = 2
"""A promise lasts this many replication timeouts: the next heartbeat renews it in time."""
CLOCK_DRIFT_MAX = 0.1
"""The largest relative error of the speed of one clock."""
LEASE_SHARE = 1 - 2 * CLOCK_DRIFT_MAX
"""Of a promise: the leader's clock may be slow and the voter's fast (membership.md M11 b)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreConfig:
    """Times are seconds, sizes bytes. Defaults are Tarantool's where it has the option."""

    me: Replica
    voters: tuple[Replica, ...]
    """The ids of the voters in force. The configuration in the log decides it; before there is one
    these are the peers that the node's own settings name, and nothing is counted by them."""
    synchro_quorum: Quorum
    instance: Instance = ONE_INSTANCE
    """Which directory this is."""
    mode: ElectionMode = ElectionMode.CANDIDATE
    fencing: Fencing = Fencing.SOFT
    read_only: bool = False
    election_timeout: float = 5.0
    replication_timeout: float = 1.0
    synchro_timeout: float = 5.0
    synchro_policy: str = "rollback"
    queue_entries_max: int = 100_000
    queue_bytes_max: int = 16 << 20
    append_entries_max: int = 4096
    append_bytes_max: int = 4 << 20
    append_window_bytes: int = 32 << 20
    recent_bytes_max: int = 8 << 20
    confirm_delay: float = 0.01
    disk_retry_delay: float = 0.5
    replace: str = "auto"
    """`auto`: a leader replaces a voter that returns with a new directory (membership.md M5 b)."""

    @property
    def disconnect_timeout(self) -> float:
        """After this long without a word a peer counts as gone."""
        return DISCONNECT_FACTOR * self.replication_timeout

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
