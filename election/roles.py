"""Modes and roles of a node, the transitions of the role, and the timing of elections."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum


class ElectionMode(StrEnum):
    """How a node takes part in elections."""

    OFF = "off"
    """Never campaigns by itself; votes, and `promote()` still holds a vote."""
    VOTER = "voter"
    """Votes only; `promote()` is refused."""
    CANDIDATE = "candidate"
    """Campaigns when no leader is heard."""
    MANUAL = "manual"
    """Campaigns for one term, by `promote()` or when the leader asks for it."""


class Role(StrEnum):
    """The role of a node in its present term. A node that only asks for pre-votes is a follower."""

    FOLLOWER = "follower"
    CANDIDATE = "candidate"
    LEADER = "leader"


class TermStep(Enum):
    """The effect of a change of role on the term. A term never goes back."""

    SAME = "same"
    HIGHER = "higher"


_NEVER = frozenset[TermStep]()
_SAME = frozenset({TermStep.SAME})
_HIGHER = frozenset({TermStep.HIGHER})
_ANY = frozenset(TermStep)

ROLE_CHANGES: Mapping[tuple[Role, Role], frozenset[TermStep]] = {
    # Learns who leads, or of a higher term; gives up a pre-vote, which is no role of its own.
    (Role.FOLLOWER, Role.FOLLOWER): _ANY,
    # "times out, starts election": a campaign always raises the term (Raft §5.2).
    (Role.FOLLOWER, Role.CANDIDATE): _HIGHER,
    # A node leads a term only if it asked for votes in this term.
    (Role.FOLLOWER, Role.LEADER): _NEVER,
    # "discovers current leader or new term"; here it also gives up without answers.
    (Role.CANDIDATE, Role.FOLLOWER): _ANY,
    # "times out, new election".
    (Role.CANDIDATE, Role.CANDIDATE): _HIGHER,
    # "receives votes from majority of servers": of the term that it asked for them in.
    (Role.CANDIDATE, Role.LEADER): _SAME,
    # "discovers server with higher term"; in its own term by CheckQuorum (thesis §6.2), or because
    # it resigns (protocol.md section 2: leader transfer, a failed disk).
    (Role.LEADER, Role.FOLLOWER): _ANY,
    # A leader whose votes are old has to ask as a follower of its term, like every other node.
    (Role.LEADER, Role.CANDIDATE): _NEVER,
    # A second PROMOTE in one term would be a second first entry (protocol.md section 6).
    (Role.LEADER, Role.LEADER): _NEVER,
}
"""Raft figure 4, with the quotes from it: the term steps with which a role may follow a role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionTiming:
    """The timing of elections, in seconds.

    `election_timeout`: a follower that heard no leader for so long campaigns, and until then it
    helps no other candidate. `disconnect_timeout`: a leader that heard no quorum for so long
    fences itself. `promise`: for so long a follower that was asked to votes for no other node.

    The first is for liveness and may be cut short; leases rest on a promise, which may not.
    """

    def __post_init__(self) -> None:
        assert self.election_timeout > 0
        assert self.disconnect_timeout > 0
        assert 0 < self.promise <= self.election_timeout

    election_timeout: float
    disconnect_timeout: float
    promise: float


RETRY_SHARE_MAX = 0.1
"""A campaign that no node can win is tried again within this share of the election timeout."""
GONE_EARLIEST_S = 0.005
GONE_LATEST_S = 0.030
"""How soon to campaign when the leader's address refuses: random, so one node is first."""
PROMOTE_TIMEOUTS_MAX = 2
"""For how many election timeouts a promoted candidate repeats its requests in one term."""
