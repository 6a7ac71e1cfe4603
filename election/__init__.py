"""Who leads: terms, votes, quorums, fencing and transfer. Pure; knows log positions, never rows."""

from election.fencing import Fencing
from election.messages import (
    AskVote,
    Ballot,
    CampaignNow,
    ElectionMessage,
    Index,
    Nay,
    Position,
    Replica,
    Resigned,
    Term,
    Vote,
)
from election.quorum import Quorum, QuorumError, majority
from election.raft import Raft
from election.ready import ElectionReady, Timer
from election.roles import Mode, Role, Timing

__all__ = [
    "AskVote",
    "Ballot",
    "CampaignNow",
    "ElectionMessage",
    "ElectionReady",
    "Fencing",
    "Index",
    "Mode",
    "Nay",
    "Position",
    "Quorum",
    "QuorumError",
    "Raft",
    "Replica",
    "Resigned",
    "Role",
    "Term",
    "Timer",
    "Timing",
    "Vote",
    "majority",
]

PART_OF = "qsync"
