"""Asking for votes and counting them: pre-vote, campaign, split vote, promotion."""

from election.messages import (
    TERM_MAX,
    Ballot,
    RejectReason,
    Replica,
    RequestVote,
    RequestVoteResponse,
    Resigned,
    Term,
    TimeoutNow,
)
from election.raft_state import RaftState
from election.ready import ElectionTimer
from election.roles import (
    GONE_EARLIEST_S,
    GONE_LATEST_S,
    PROMOTE_TIMEOUTS_MAX,
    ElectionMode,
    Role,
)
from election.vote_record import VoteHistory, VoteRecord
from election.vote_round import RETRIED, VoteResult, VoteRound


class Campaign:
    """When this node asks for votes, and what follows from the answers."""

    def __init__(self, state: RaftState, history: VoteHistory, mode: ElectionMode) -> None:
        self.mode = mode
        self.absent: set[Replica] = set()
        """Peers whose address refuses connections: a campaign does not wait for their votes."""
        self._state = state
        self._history = history

    @property
    def may_begin(self) -> bool:
        """Whether this node may campaign when it misses a leader."""
        return self.mode is ElectionMode.CANDIDATE and self.may_lead

    @property
    def may_lead(self) -> bool:
        """Whether it may campaign on request: only a voter that cannot have forgotten an ack."""
        # Terms stay below the end of the numbers: the last one is never campaigned for.
        state = self._state
        return state.ballot.member and state.electorate.may_lead and state.term < TERM_MAX

    @property
    def promoting(self) -> bool:
        """Whether a promotion of this node is under way."""
        return self._state.round is not None and self._state.round.promoted

    @property
    def votes_needed(self) -> int:
        """How many votes elect."""
        return self._state.electorate.quorum

    # -- what makes a node ask

    def promote(self) -> str | None:
        """Campaign now, in a new term. Returns why not, or None; a leader need not."""
        state = self._state
        if state.role is Role.LEADER:
            return None
        if not state.electorate.may_lead:
            return "this node is not a voter: the configuration does not name its directory as one"
        if not state.ballot.member:
            return (
                "this node may have forgotten what it acked: it must catch up with a leader first"
            )
        if self.mode is ElectionMode.VOTER:
            return "election mode is voter: this node only votes"
        if state.term >= TERM_MAX:
            return f"the terms are used up: {state.term} is the last one"
        if self.promoting:
            return "a promotion of this node is under way"
        state.out.add_event("promote", term=state.term)
        self.campaign(promoted=True, first=state.leader if state.has_leader_lease else None)
        return None

    def timeout_now(self, order: TimeoutNow) -> None:
        """Campaign at once: the leader hands over to us."""
        state = self._state
        if order.leader == state.electorate.me or not state.observe(order.term, order.leader):
            return
        if self.mode is not ElectionMode.VOTER and self.may_lead:
            state.promise.release(state.now)  # by the word of the leader, whose lease is void
            self.campaign(promoted=True, transfer=True)

    def leader_resigned(self, said: Resigned) -> None:
        """End the promises to our leader: it says itself that it leads no more."""
        state = self._state
        if not state.observe(said.term, None) or said.leader != state.leader:
            return
        state.out.add_event("leader_resigned", term=state.term, leader=said.leader)
        state.become_follower()
        state.promise.sticky_until = state.now
        state.promise.release(state.now)  # by its own word
        if self.may_begin:
            state.out.arm(ElectionTimer.ELECTION, GONE_EARLIEST_S, GONE_LATEST_S)

    def leader_gone(self) -> None:
        """The leader's address refuses connections: wait for it no longer.

        That is how a dead process looks, and a living one behind a firewall, a proxy or a full
        listener too. So it ends stickiness, and never a promise (membership.md M11 i).
        """
        state = self._state
        if state.role is Role.LEADER or state.leader is None:
            return
        state.out.add_event("leader_gone", term=state.term, leader=state.leader)
        state.become_follower()
        state.promise.sticky_until = state.now
        if self.may_begin:
            left = state.promise.left(state.now)
            state.out.arm(ElectionTimer.ELECTION, left + GONE_EARLIEST_S, left + GONE_LATEST_S)

    def election_timeout(self) -> None:
        """Campaign: no leader and no result came in time, unless one was heard since."""
        state = self._state
        if state.role is Role.LEADER:
            return
        left, timeout = state.promise.left(state.now), state.timing.election_timeout
        round_ = state.round
        if state.leader is not None and state.has_leader_lease:
            left = max(left, state.promise.sticky_until - state.now)
            state.out.arm(ElectionTimer.ELECTION, left, left + timeout)
        elif left > 0:
            # membership.md M11 d: a candidate keeps its own promise too.
            state.out.arm(ElectionTimer.ELECTION, left, left + timeout / 10)
        elif (
            round_ is not None
            and round_.promoted
            and round_.may_still_win(state.electorate, needed=self.votes_needed, now=state.now)
        ):
            self._ask_again(round_)
        else:
            self._give_up()
            if self.may_begin:
                self.pre_vote()

    def drop_round(self) -> None:
        """Drop the open round: its answers do not count any more."""
        if self._state.round is not None:
            self._state.become_follower()
            self._state.arm_election()

    # -- asking

    def pre_vote(self) -> None:
        """Ask whether a campaign could be won, without raising the term (Raft thesis §9.6)."""
        state = self._state
        assert state.role is Role.FOLLOWER
        record = self._new_record(Term(state.term + 1), pre=True)
        state.round = round_ = VoteRound(record=record)
        if state.electorate.is_voter:
            record.record(state.electorate.me, None)
        for peer in state.electorate.peers:
            self._ask(peer, record, transfer=False)
        self._decide(round_)

    def campaign(
        self, *, promoted: bool, first: Replica | None = None, transfer: bool = False
    ) -> None:
        """Ask for votes in the next term; our own is part of the ballot.

        `transfer` tells the voters that the leader knows. A promoted candidate therefore asks the
        leader `first`, and the others when it has stepped down: until then it may serve reads on
        the strength of their promises, and of ours (membership.md M11 d).
        """
        assert self.may_lead
        state = self._state
        left, timeout = state.promise.left(state.now), state.timing.election_timeout
        round_ = VoteRound(
            record=self._new_record(Term(state.term + 1), pre=False),
            promoted=promoted,
            until=state.now + PROMOTE_TIMEOUTS_MAX * timeout,
            first=first,
        )
        state.become_candidate(round_)
        state.out.add_event("campaign", term=state.term, promoted=promoted)
        if first is not None:
            left = max(left, state.promise.sticky_until - state.now)
            state.out.arm(ElectionTimer.ELECTION, left, left + timeout / 10)
            self._ask(first, round_.record, transfer=True)
        elif left > 0:
            state.out.arm(ElectionTimer.ELECTION, left, left + timeout / 10)
        else:
            state.arm_election()
            self._ask_rest(round_, transfer=transfer)

    def _give_up(self) -> None:
        """Give up the round: neither a leader nor a result is in sight."""
        state = self._state
        if state.leader is not None:
            state.out.add_event("leader_silent", term=state.term, leader=state.leader)
        if state.round is not None and state.round.promoted:
            nays = sorted(state.round.record.rejections())
            state.out.add_event("promote_failed", term=state.term, nays=nays)
        state.become_follower()
        state.arm_election()

    def _new_record(self, term: Term, *, pre: bool) -> VoteRecord:
        record = self._history.of(term=term, candidate=self._state.electorate.me, pre=pre)
        record.answers.clear()
        return record

    def _ask_again(self, round_: VoteRound) -> None:
        """Send the same request in the same term again, to voters that have not granted it."""
        round_.first = None
        round_.lost_known = False
        self._state.arm_election()
        self._ask_rest(round_, transfer=False)

    def _ask_rest(self, round_: VoteRound, *, transfer: bool) -> None:
        answers = round_.record.answers
        for peer in self._state.electorate.peers:
            if answers.get(peer, RejectReason.LEADER_ALIVE) is not None:
                answers.pop(peer, None)
                self._ask(peer, round_.record, transfer=transfer)

    def _ask(self, peer: Replica, record: VoteRecord, *, transfer: bool) -> None:
        state = self._state
        ask = RequestVote(
            term=record.term,
            candidate=state.electorate.me,
            position=state.position,
            pre=record.pre,
            transfer=transfer,
        )
        state.out.send(peer, ask)

    # -- counting

    def own_vote_durable(self, ballot: Ballot) -> None:
        """Count our vote for ourselves: that ballot is durable (Raft figure 2)."""
        state, round_ = self._state, self._state.round
        if round_ is None or round_.record.pre:
            return
        if ballot.term == state.term and ballot.vote == state.electorate.me:
            if state.electorate.is_voter:
                round_.record.record(state.electorate.me, None)
            self._decide(round_)

    def count(self, vote: RequestVoteResponse) -> None:
        """Count an answer. Only voters count, and only for the open request."""
        state = self._state
        if vote.voter not in state.electorate.peers:
            return
        if vote.granted != (vote.reason is None):
            return  # Says both; no version of us does.
        me = state.electorate.me
        record = self._history.kept(term=vote.asked_term, candidate=me, pre=vote.pre)
        if record is not None:
            record.record(vote.voter, vote.reason)  # Kept, even if the request is over.
        round_ = state.round
        if not vote.granted and vote.term > state.term:
            state.adopt(vote.term)
            if round_ is not None and self.may_begin:
                state.arm_soon()
        elif round_ is not None and round_.is_answered_by(vote):
            round_.record.record(vote.voter, vote.reason)
            if round_.first == vote.voter and vote.term >= state.term:
                # It has stepped down for us, so no promise to it remains.
                round_.first = None
                state.promise.release(state.now)
                state.arm_election()
                self._ask_rest(round_, transfer=True)
            self._decide(round_)

    def _decide(self, round_: VoteRound) -> None:
        """End a round that is won or cannot be won: a split vote is soon repeated."""
        state = self._state
        assert state.round is round_
        match round_.result(state.electorate, needed=self.votes_needed, absent=self.absent):
            case VoteResult.WON if round_.record.pre:
                self.campaign(promoted=False)
            case VoteResult.WON:
                state.become_leader()
            case VoteResult.LOST if not round_.lost_known:
                round_.lost_known = True
                if round_.record.rejections() & RETRIED or state.term == 0:
                    state.arm_soon()
            case VoteResult.LOST | VoteResult.OPEN:
                pass
