"""Leader election: terms, votes, quorums, fencing and transfer.

Pure; knows log positions, never rows.
"""

from election.fencing import Fencing
from election.messages import (
    Ballot,
    ElectionMessage,
    Index,
    Position,
    RejectReason,
    Replica,
    RequestVote,
    RequestVoteResponse,
    Resigned,
    Term,
    TimeoutNow,
)
from election.quorum import Quorum, QuorumError, majority
from election.raft import Raft
from election.ready import ElectionReady, TimerRequest
from election.roles import ElectionMode, ElectionTiming, Role

__all__ = [
    "Ballot",
    "ElectionMessage",
    "ElectionMode",
    "ElectionReady",
    "ElectionTiming",
    "Fencing",
    "Index",
    "Position",
    "Quorum",
    "QuorumError",
    "Raft",
    "RejectReason",
    "Replica",
    "RequestVote",
    "RequestVoteResponse",
    "Resigned",
    "Role",
    "Term",
    "TimeoutNow",
    "TimerRequest",
    "majority",
]

PART_OF = "qsync"
