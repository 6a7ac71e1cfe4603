"""One request for votes that is being answered: won, lost, or still open."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum

from election.electorate import Electorate
from election.messages import RejectReason, Replica, RequestVoteResponse
from election.vote_record import VoteRecord

RETRIED = frozenset(
    {RejectReason.VOTED_FOR_OTHER, RejectReason.LEADER_ALIVE, RejectReason.STALE_TERM}
)
"""Reasons that may be gone a moment later, so that it is worth asking again soon."""


class VoteResult(Enum):
    """The state of a round, by the answers so far."""

    WON = "won"
    LOST = "lost"
    """Not even if all who have not answered granted it."""
    OPEN = "open"


@dataclass(slots=True, kw_only=True)
class VoteRound:
    """A request for votes of our own that is under way.

    `promoted`: an operator wants this node to lead, so it goes on asking in the same term until
    `until` and never with a pre-vote. `first`: the living leader, which is asked before all others.
    `lost_known`: that it is lost was acted upon.
    """

    record: VoteRecord
    promoted: bool = False
    until: float = 0.0
    first: Replica | None = None
    lost_known: bool = False

    def is_answered_by(self, vote: RequestVoteResponse) -> bool:
        """Return whether this answers the request."""
        return vote.asked_term == self.record.term and vote.pre == self.record.pre

    def result(
        self, electorate: Electorate, *, needed: int, absent: AbstractSet[Replica]
    ) -> VoteResult:
        """Return the result by the voters' answers; those in `absent` are not waited for."""
        missing = absent & set(electorate.voters) - self.record.answers.keys()
        if self.record.granted() >= needed:
            return VoteResult.WON
        if self.record.open(len(electorate.voters)) - len(missing) < needed:
            return VoteResult.LOST
        return VoteResult.OPEN

    def may_still_win(self, electorate: Electorate, *, needed: int, now: float) -> bool:
        """Return whether voters that refuse may yet grant, once they miss the leader."""
        if now >= self.until:
            return False
        nays = self.record.answers.values()
        waiting = sum(1 for nay in nays if nay is RejectReason.LEADER_ALIVE)
        return self.record.open(len(electorate.voters)) + waiting >= needed
