"""Asking for votes and counting them: pre-vote, campaign, split vote, promotion."""

from collections.abc import Sequence
from dataclasses import dataclass

from election.fencing import Fencing
from election.messages import (
    TERM_MAX,
    Ballot,
    Position,
    RejectReason,
    Replica,
    RequestVote,
    RequestVoteResponse,
    Term,
)
from election.raft_state import RaftState
from election.ready import ElectionTimer
from election.roles import (
    GONE_EARLIEST_S,
    GONE_LATEST_S,
    PROMOTE_TIMEOUTS_MAX,
    ElectionMode,
    ElectionTiming,
    Role,
)
from election.vote_record import VoteHistory, VoteRecord

PASSING = frozenset(
    {RejectReason.VOTED_FOR_OTHER, RejectReason.LEADER_ALIVE, RejectReason.STALE_TERM}
)
"""Reasons that may be gone a moment later, so that it is worth asking again soon."""


@dataclass(slots=True, kw_only=True)
class VoteRound:
    """A question of our own that is being answered.

    `promoted`: somebody wants this node to lead, so it goes on asking in the same term until
    `until` and never with a pre-vote. `first`: the living leader, which is asked before all others.
    """

    tally: VoteRecord
    promoted: bool = False
    until: float = 0.0
    first: Replica | None = None
    hopeless: bool = False

    def is_answered_by(self, vote: RequestVoteResponse) -> bool:
        """Is this an answer to this question?"""
        return vote.asked_term == self.tally.term and vote.pre == self.tally.pre


class Campaign(RaftState):
    """May ask for votes. At most one vote round is open; any change of role or term ends it."""

    def __init__(
        self,
        *,
        me: Replica,
        voters: Sequence[Replica],
        mode: ElectionMode,
        quorum: int,
        timing: ElectionTiming,
        fencing: Fencing,
        ballot: Ballot,
        position: Position,
        named: bool = True,
    ) -> None:
        super().__init__(
            me=me,
            voters=voters,
            mode=mode,
            quorum=quorum,
            timing=timing,
            fencing=fencing,
            ballot=ballot,
            named=named,
        )
        self.position = position
        self.tallies = VoteHistory()
        """Who asked for votes lately, who said what, and why not."""
        self.absent: set[Replica] = set()
        """Peers at whose address nobody listens: their votes are not waited for."""
        self._poll: VoteRound | None = None

    def set_last_position(self, position: Position) -> None:
        """The last entry of our own log is another one (it may also have been cut)."""
        self.position = position

    def ballot_written(self, ballot: Ballot) -> None:
        """That ballot is durable. Our vote for ourselves counts from here on."""
        assert ballot.term >= self.out.durable.term
        self.out.durable = ballot
        poll = self._poll
        if poll is None or poll.tally.pre:
            return
        if ballot.term == self.term and ballot.vote == self.me:
            poll.tally.record(self.me, None)
            self._decide(poll)

    @property
    def promoting(self) -> bool:
        """Is a promotion of this node under way?"""
        return self._poll is not None and self._poll.promoted

    def promote(self) -> str | None:
        """Campaign now, in a new term. The answer is why not, or None; who leads need not."""
        if self.role is Role.LEADER:
            return None
        if not self._is_voter():
            return "this node is not a voter: the configuration does not name its directory"
        if not self.ballot.member:
            return (
                "this node may have forgotten what it acked: it must catch up with a leader first"
            )
        if self.mode is ElectionMode.VOTER:
            return "election mode is voter: this node only votes"
        if self.term >= TERM_MAX:
            return f"the terms are used up: {self.term} is the last one"
        if self.promoting:
            return "a promotion of this node is under way"
        self.out.note("promote", term=self.term)
        self._campaign(promoted=True, first=self.leader if self._is_loyal() else None)
        return None

    def leader_gone(self) -> None:
        """Nobody listens at the leader's address: be patient no longer.

        That is how a dead process looks, and a living one behind a firewall, a proxy or a full
        listener too. So it ends our patience, and never a promise (membership.md M11 i).
        """
        if self.role is Role.LEADER or self.leader is None:
            return
        self.out.note("leader_gone", term=self.term, leader=self.leader)
        self._become(Role.FOLLOWER, None)
        self.loyalty.patient_until = self.now
        if self._may_campaign():
            left = self.loyalty.left(self.now)
            self.out.arm(ElectionTimer.ELECTION, left + GONE_EARLIEST_S, left + GONE_LATEST_S)

    def _become(self, role: Role, leader: Replica | None) -> None:
        super()._become(role, leader)
        self._poll = None

    def _may_campaign(self) -> bool:
        return self.mode is ElectionMode.CANDIDATE and self._may_lead()

    def _may_lead(self) -> bool:
        # Terms stay below the end of the numbers: the last one is never campaigned for.
        return self.ballot.member and self._is_voter() and self.term < TERM_MAX

    def _is_voter(self) -> bool:
        return self.contact.named and self.me in self.voters

    def _election_timeout(self) -> None:
        """No leader and no result for too long, unless one was heard since the timer was armed."""
        if self.role is Role.LEADER:
            return
        left, timeout = self.loyalty.left(self.now), self.timing.election_timeout
        if self.leader is not None and self._is_loyal():
            left = max(left, self.loyalty.patient_until - self.now)
            self.out.arm(ElectionTimer.ELECTION, left, left + timeout)
        elif left > 0:
            # membership.md M11 d: a candidate keeps its own promise too.
            self.out.arm(ElectionTimer.ELECTION, left, left + timeout / 10)
        elif self._poll is not None and self._poll.promoted and self._is_worth_asking(self._poll):
            self._ask_again(self._poll)
        else:
            self._give_up()
            if self._may_campaign():
                self._pre_vote()

    def _give_up(self) -> None:
        """Neither a leader nor a result in sight."""
        if self.leader is not None:
            self.out.note("leader_silent", term=self.term, leader=self.leader)
        if self._poll is not None and self._poll.promoted:
            self.out.note(
                "promote_failed", term=self.term, nays=sorted(self._poll.tally.rejections())
            )
        self._become(Role.FOLLOWER, None)
        self._arm_election()

    def _pre_vote(self) -> None:
        """Ask whether a campaign could be won, without raising the term (Raft thesis §9.6)."""
        tally = self._new_tally(Term(self.term + 1), pre=True)
        self._poll = poll = VoteRound(tally=tally)
        tally.record(self.me, None)
        for peer in self.voters:
            if peer != self.me:
                self._ask(peer, tally, transfer=False)
        self._decide(poll)

    def _campaign(
        self, *, promoted: bool, first: Replica | None = None, transfer: bool = False
    ) -> None:
        """Ask for votes in the next term; our own is part of the ballot.

        `transfer` tells the voters that the leader knows. A promoted candidate therefore asks the
        leader `first`, and the others when it has stepped down: until then it may serve reads on
        the strength of their promises, and of ours (membership.md M11 d).
        """
        assert self._may_lead()
        self._mark(Ballot(term=Term(self.term + 1), vote=self.me, member=True))
        left, patient_until = self.loyalty.left(self.now), self.loyalty.patient_until
        self._become(Role.CANDIDATE, None)
        self.fenced = False
        timeout = self.timing.election_timeout
        poll = VoteRound(
            tally=self._new_tally(self.term, pre=False),
            promoted=promoted,
            until=self.now + PROMOTE_TIMEOUTS_MAX * timeout,
            first=first,
        )
        self._poll = poll
        self.out.note("campaign", term=self.term, promoted=promoted)
        if first is not None:
            left = max(left, patient_until - self.now)
            self.out.arm(ElectionTimer.ELECTION, left, left + timeout / 10)
            self._ask(first, poll.tally, transfer=True)
        elif left > 0:
            self.out.arm(ElectionTimer.ELECTION, left, left + timeout / 10)
        else:
            self._arm_election()
            self._ask_rest(poll, transfer=transfer)

    def _new_tally(self, term: Term, *, pre: bool) -> VoteRecord:
        tally = self.tallies.of(term=term, candidate=self.me, pre=pre)
        tally.answers.clear()
        return tally

    def _ask_again(self, poll: VoteRound) -> None:
        """The same question in the same term, to those who have not said AYE."""
        poll.first = None
        poll.hopeless = False
        self._arm_election()
        self._ask_rest(poll, transfer=False)

    def _ask_rest(self, poll: VoteRound, *, transfer: bool) -> None:
        for peer in self.voters:
            if (
                peer != self.me
                and poll.tally.answers.get(peer, RejectReason.LEADER_ALIVE) is not None
            ):
                poll.tally.answers.pop(peer, None)
                self._ask(peer, poll.tally, transfer=transfer)

    def _ask(self, peer: Replica, tally: VoteRecord, *, transfer: bool) -> None:
        ask = RequestVote(
            term=tally.term,
            candidate=self.me,
            position=self.position,
            pre=tally.pre,
            transfer=transfer,
        )
        self.out.send(peer, ask)

    def _count(self, vote: RequestVoteResponse) -> None:
        """An answer to us. Only voters count, and only for the question that is open."""
        if vote.voter not in self.voters or vote.voter == self.me:
            return
        if vote.granted != (vote.reason is None):
            return  # Says both; no version of us does.
        tally = self.tallies.kept(term=vote.asked_term, candidate=self.me, pre=vote.pre)
        if tally is not None:
            tally.record(vote.voter, vote.reason)  # Kept, even if the question is closed.
        poll = self._poll
        if not vote.granted and vote.term > self.term:
            self._adopt(vote.term)
            if poll is not None and self._may_campaign():
                self._arm_soon()
        elif poll is not None and poll.is_answered_by(vote):
            poll.tally.record(vote.voter, vote.reason)
            if poll.first == vote.voter and vote.term >= self.term:
                # It has stepped down for us, so nobody owes it anything any more.
                poll.first = None
                self.loyalty.release(self.now)
                self._arm_election()
                self._ask_rest(poll, transfer=True)
            self._decide(poll)

    def _decide(self, poll: VoteRound) -> None:
        """Won, or cannot be won any more: then it is tried again soon (split votes end early)."""
        tally = poll.tally
        missing = self.absent.intersection(self.voters).difference(tally.answers)
        if tally.granted() >= self.quorum:
            if tally.pre:
                self._campaign(promoted=False)
            else:
                self._lead()
        elif tally.open(len(self.voters)) - len(missing) < self.quorum and not poll.hopeless:
            poll.hopeless = True
            if tally.rejections() & PASSING or self.term == 0:
                self._arm_soon()
        else:
            pass  # Still open, or known to be hopeless.

    def _is_worth_asking(self, poll: VoteRound) -> bool:
        """May those who refuse a promoted candidate think otherwise once they miss the leader?"""
        if self.now >= poll.until:
            return False
        waiting = sum(1 for nay in poll.tally.answers.values() if nay is RejectReason.LEADER_ALIVE)
        return poll.tally.open(len(self.voters)) + waiting >= self.quorum
