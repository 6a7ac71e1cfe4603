"""Answers to requests for votes: AYE or NAY, and the reason."""

from election.messages import RejectReason, RequestVote, RequestVoteResponse
from election.raft_state import RaftState
from election.vote_record import VoteHistory


class Voter:
    """Grants at most one vote a term, and none against a live leader or against a promise."""

    def __init__(self, state: RaftState, history: VoteHistory) -> None:
        self._state = state
        self._history = history

    def answer(self, ask: RequestVote) -> None:
        """Answer AYE, or NAY with a reason. A pre-vote changes nothing (Raft thesis §9.6)."""
        state = self._state
        nay = self.refusal(ask)
        record = self._history.of(term=ask.term, candidate=ask.candidate, pre=ask.pre)
        record.record(state.electorate.me, nay)
        if nay is None and not ask.pre:
            assert ask.term == state.term
            state.grant_vote(ask.candidate)
        answer = RequestVoteResponse(
            term=state.term,
            asked_term=ask.term,
            voter=state.electorate.me,
            pre=ask.pre,
            granted=nay is None,
            reason=nay,
        )
        state.out.send(ask.candidate, answer)

    def refusal(self, ask: RequestVote) -> RejectReason | None:
        """Return why it is refused. The order matters: the first two leave a higher term alone."""
        # Whether the candidate, or this node, is a voter is decided by the candidate's own
        # configuration, which may be newer than ours (membership.md M4 e); who counts the answers
        # goes by pairs.
        state = self._state
        if ask.term < state.term:
            return RejectReason.STALE_TERM
        # The lease is the leader's, who leads no more in this term when it asks itself.
        if state.has_leader_lease and not ask.transfer and ask.candidate != state.leader:
            return RejectReason.LEADER_ALIVE
        if ask.term > state.term and not ask.pre:
            state.adopt(ask.term)
        if not state.ballot.member:
            return RejectReason.RECRUIT
        if ask.term == state.term and state.ballot.vote not in (None, ask.candidate):
            return RejectReason.VOTED_FOR_OTHER
        if ask.position < state.position:
            return RejectReason.LOG_BEHIND
        return None
