"""What a node may want (its mode), what it is (its role), and how patient it is."""

from dataclasses import dataclass
from enum import StrEnum


class ElectionMode(StrEnum):
    """How a node takes part in elections."""

    OFF = "off"
    """Never campaigns by itself; votes, and `promote()` still holds a vote."""
    VOTER = "voter"
    """Votes only; `promote()` is refused."""
    CANDIDATE = "candidate"
    """Campaigns when no leader is heard."""
    MANUAL = "manual"
    """Campaigns when told to by `promote()` or by the leader, for one term."""


class Role(StrEnum):
    """What a node is in its present term. A node that only asks for pre-votes is a follower."""

    FOLLOWER = "follower"
    CANDIDATE = "candidate"
    LEADER = "leader"


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionTiming:
    """How long to wait, in seconds.

    `election_timeout`: a follower that heard no leader for so long campaigns, and until then it
    helps no other candidate. `disconnect_timeout`: a leader that heard no quorum for so long
    fences itself. `promise`: for so long a follower that was asked to gives nobody else a vote.

    Patience is for liveness and may be cut short; a promise is what leases rest on and may not.
    """

    election_timeout: float
    disconnect_timeout: float
    promise: float


RETRY_SHARE_MAX = 0.1
"""A campaign that nobody can win is tried again within this share of the election timeout."""
GONE_EARLIEST_S = 0.005
GONE_LATEST_S = 0.030
"""How soon to campaign when nobody listens at the leader's address: random, so one is first."""
PROMOTE_TIMEOUTS_MAX = 2
"""For how many election timeouts a promoted candidate goes on asking in its one term."""
