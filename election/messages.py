"""Messages between replicas about elections, and the numbers in them."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, NewType

Replica = NewType("Replica", int)
"""Id of a member of the replica set, 1..31. Stored, so it never changes."""
VOTERS_MAX = 31
"""Ids are 1..31, so no set is larger."""
Term = NewType("Term", int)
"""Raft's logical time. 0 means "before the first election"."""
Index = NewType("Index", int)
"""Place in the one log, from 1, without holes. 0 means "before the first entry"."""

TERM_MAX = Term(2**63 - 1)
"""The last term. No node adopts a later one, and no node campaigns in it or beyond."""
TERM_JUMP_MAX = 2**32
"""A term so far above one's own was never campaigned for: it is damage, or a lie."""


class Position(NamedTuple):
    """How far a log reaches. Ordered: the later term wins, then the longer log (Raft §5.4.1)."""

    term: Term
    index: Index  # type: ignore[assignment]  # hides tuple.index, which no position needs


class RejectReason(StrEnum):
    """Why a vote was refused. Kept for `_voting`, shown to people."""

    STALE_TERM = "stale_term"
    VOTED_FOR_OTHER = "voted_for_other"
    LOG_BEHIND = "log_behind"
    LEADER_ALIVE = "leader_alive"
    RECRUIT = "recruit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballot:
    """The durable part of an election: written before anything is answered with it.

    `member` is false on an empty directory until the node has either seen that every other member
    is as empty (the bootstrap of a cluster) or has caught up with the leader. Until then it may
    have forgotten what it once acked, so it neither votes nor is counted in a quorum.
    """

    term: Term
    vote: Replica | None
    member: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestVote:
    """A candidate asks. `pre` asks without raising the term (Raft thesis §9.6).

    `transfer`: the leader itself asked the candidate to campaign, so stickiness does not apply.
    A pre-vote names the term the candidate would campaign in, not its present one.
    """

    term: Term
    candidate: Replica
    position: Position
    pre: bool
    transfer: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestVoteResponse:
    """The answer. `term` is the voter's own term, `asked` the term the question named."""

    term: Term
    asked_term: Term
    voter: Replica
    pre: bool
    granted: bool
    reason: RejectReason | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeoutNow:
    """The leader hands over: campaign at once, without asking whether the leader is gone."""

    term: Term
    leader: Replica


@dataclass(frozen=True, slots=True, kw_only=True)
class Resigned:
    """The leader has resigned, and will not lead again in this term: promises to it are void."""

    term: Term
    leader: Replica


ElectionMessage = RequestVote | RequestVoteResponse | TimeoutNow | Resigned
