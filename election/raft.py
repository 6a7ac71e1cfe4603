"""The election of one node: what it is told, and what it answers (Raft §5, thesis §3.10)."""

from collections.abc import Sequence
from typing import assert_never

from election.campaign import Campaign
from election.fencing import Fencing
from election.messages import (
    Ballot,
    ElectionMessage,
    Position,
    RejectReason,
    Replica,
    RequestVote,
    RequestVoteResponse,
    Resigned,
    Term,
    TimeoutNow,
)
from election.quorum import majority
from election.ready import ElectionReady, ElectionTimer, TimerRequest
from election.roles import GONE_EARLIEST_S, GONE_LATEST_S, ElectionMode, ElectionTiming, Role

__all__ = [
    "ElectionMode",
    "ElectionReady",
    "ElectionTimer",
    "ElectionTiming",
    "Fencing",
    "Raft",
    "Role",
    "TimerRequest",
]


class Raft(Campaign):
    """Who leads, as far as one node can know. No clock, no dice, no disk, no network.

    Inputs are method calls; what is to be done comes out of `ready()`. Call `clock` before each
    batch of inputs. Neither `elected` nor a granted vote rests on a ballot that is not durable.
    """

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
            position=position,
            named=named,
        )
        self._handed: tuple[Term, Replica] | None = None
        self._lease_void: Term | None = None
        self.resigned: Term | None = None
        """The term in which this node led last, if it gave that up by itself."""

    @property
    def transferring(self) -> Replica | None:
        """Whom the leadership is being handed to. The leader takes no writes meanwhile."""
        if self._handed is not None and self.role is Role.LEADER and self._handed[0] == self.term:
            return self._handed[1]
        return None

    @property
    def is_lease_void(self) -> bool:
        """Somebody was told in this term that loyalty to us does not count: serve no read on it."""
        return self._lease_void == self.term

    def start(self) -> None:
        """Begin: arm the first timer. A candidate waits one full timeout, unless it is alone."""
        if self._is_alone() and self._may_campaign():
            self._campaign(promoted=False)
            return
        self._arm_election()
        if self.term > 0:
            # A leader may count on what we have forgotten by restarting (membership.md M11 c).
            self.loyalty.patient_until = self.now + self.timing.election_timeout
            self.promise()

    def timer(self, kind: str) -> None:
        """A timer asked for in a ready has come."""
        match kind:
            case ElectionTimer.ELECTION:
                self._election_timeout()
            case ElectionTimer.CHECK_QUORUM:
                if self.role is Role.LEADER:  # `clock` has just looked.
                    self._arm_check()
            case ElectionTimer.TRANSFER:
                if self.transferring is not None:
                    self.out.note("transfer_failed", term=self.term, to=self.transferring)
                    self._handed = None
            case _:
                raise AssertionError(f"not a timer of the election: {kind}")

    def received(self, message: ElectionMessage) -> None:
        """A message from a peer that was identified by its handshake."""
        match message:
            case RequestVote():
                if message.candidate != self.me:
                    self._answer(message)
            case RequestVoteResponse():
                self._count(message)
            case TimeoutNow():
                self._take_over(message)
            case Resigned():
                self._released(message)
            case _:
                assert_never(message)

    def observe(self, term: Term, leader: Replica | None) -> bool:
        """What a replication message says about who leads. False if it is of the past.

        From a leader: it is known now, and this node is loyal to it for one election timeout more.
        """
        if term != self.ballot.term:
            if term < self.ballot.term:
                return False
            self._adopt(term)
        if leader is None:
            return True
        if leader != self.leader:
            if self.leader is not None or leader == self.me:
                # Impossible while ballots are durable; the first one seen stays.
                self.out.note("two_leaders", term=term, first=self.leader, second=leader)
                return False
            self._follow(leader)
        self.loyalty.patient_until = self.now + self.timing.election_timeout
        return True

    def promise(self) -> float:
        """No vote for anybody but the leader for a while; returns for how many seconds from now."""
        self.loyalty.promise(self.now + self.timing.promise)
        return self.timing.promise

    def everybody_is_there(self) -> None:
        """All voters can be reached. In term 0 there never was a leader to wait for."""
        if self.term == 0:
            self._arm_soon()

    def transfer_leadership(self, to: Replica, *, within: float | None = None) -> None:
        """Tell a voter, whose log is as long as ours, to campaign at once.

        It ends when we are deposed, with its timer (after `within`, or an election timeout), or
        by `keep_leading`. In each case the lease of this term is over.
        """
        assert self.role is Role.LEADER
        assert to in self.voters
        assert to != self.me
        self._handed = (self.term, to)
        self._lease_void = self.term
        self.out.send(to, TimeoutNow(term=self.term, leader=self.me))
        timeout = self.timing.election_timeout if within is None else within
        self.out.arm(ElectionTimer.TRANSFER, timeout, timeout)
        self.out.note("hands_over", term=self.term, to=to)

    def keep_leading(self) -> None:
        """Nobody waits for the successor any more; it may take over all the same."""
        if self.transferring is not None:
            self._handed = None
            self.out.disarm(ElectionTimer.TRANSFER)

    def resign(self, why: str) -> None:
        """Stop leading, keep the term, and say so to all, so that nobody waits to miss us.

        The word ends the promises of the voters, which only the leader's own may do; it is sent
        when we serve nothing and will not lead again in this term (membership.md M11 f, i).
        """
        if self.role is not Role.LEADER:
            return
        super().resign(why)
        self.resigned = self.term
        for peer in self.voters:
            if peer != self.me:
                self.out.send(peer, Resigned(term=self.term, leader=self.me))

    def set_mode(self, mode: ElectionMode) -> None:
        """Take part in another way. Who leads and must not by it is to hand over, or to resign."""
        if mode is self.mode:
            return
        self.mode = mode
        if self._poll is not None and (mode is ElectionMode.VOTER or not self._poll.promoted):
            self._become(Role.FOLLOWER, None)
            self._arm_election()

    def set_voters(self, voters: Sequence[Replica], quorum: int, *, named: bool = True) -> None:
        """The replica set is another one. An open question is dropped and asked anew."""
        self.voters = tuple(voters)
        self.contact.named = named
        self.contact.change_voters(
            me=self.me,
            voters=self.voters,
            quorum=max(quorum, majority(len(self.voters))),
            now=self.now,
        )
        if self._poll is not None:
            self._become(Role.FOLLOWER, None)
            self._arm_election()

    def _answer(self, ask: RequestVote) -> None:
        """AYE or NAY; a NAY says why."""
        nay = self._refusal(ask)
        self.tallies.of(term=ask.term, candidate=ask.candidate, pre=ask.pre).record(self.me, nay)
        if nay is None and not ask.pre:
            assert ask.term == self.term
            if self.ballot.vote is None:
                self._mark(Ballot(term=self.term, vote=ask.candidate, member=True))
                self.out.note("votes", term=self.term, candidate=ask.candidate)
            self._become(Role.FOLLOWER, self.leader)
            self._arm_election()
        answer = RequestVoteResponse(
            term=self.term,
            asked_term=ask.term,
            voter=self.me,
            pre=ask.pre,
            granted=nay is None,
            reason=nay,
        )
        self.out.send(ask.candidate, answer)

    def _refusal(self, ask: RequestVote) -> RejectReason | None:
        """Why not. The order matters: the first two leave a higher term alone."""
        # Whether the candidate, or this node, is a voter is decided by the candidate's own
        # configuration, which may be newer than ours (membership.md M4 e); who counts the answers
        # goes by pairs.
        if ask.term < self.term:
            return RejectReason.STALE_TERM
        # Loyalty is owed to the leader, who leads no more in this term when it asks itself.
        if self._is_loyal() and not ask.transfer and ask.candidate != self.leader:
            return RejectReason.LEADER_ALIVE
        if ask.term > self.term and not ask.pre:
            self._adopt(ask.term)
        if not self.ballot.member:
            return RejectReason.RECRUIT
        if ask.term == self.term and self.ballot.vote not in (None, ask.candidate):
            return RejectReason.VOTED_FOR_OTHER
        if ask.position < self.position:
            return RejectReason.LOG_BEHIND
        return None

    def _take_over(self, order: TimeoutNow) -> None:
        """The leader hands over to us: campaign without asking whether it is gone."""
        if order.leader == self.me or not self.observe(order.term, order.leader):
            return
        if self.mode is not ElectionMode.VOTER and self._may_lead():
            self.loyalty.release(self.now)  # by the word of the leader, whose lease is void
            self._campaign(promoted=True, transfer=True)

    def _released(self, said: Resigned) -> None:
        """Our leader says itself that it leads no more: promises to it are over."""
        if not self.observe(said.term, None) or said.leader != self.leader:
            return
        self.out.note("leader_resigned", term=self.term, leader=said.leader)
        self._become(Role.FOLLOWER, None)
        self.loyalty.patient_until = self.now
        self.loyalty.release(self.now)  # by its own word
        if self._may_campaign():
            self.out.arm(ElectionTimer.ELECTION, GONE_EARLIEST_S, GONE_LATEST_S)
