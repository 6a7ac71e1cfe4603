"""One node's term, vote and role, and the one place where they change (Raft figures 2 and 4)."""

from dataclasses import replace

from election.electorate import Electorate
from election.fencing import Fencing, QuorumContact
from election.messages import Ballot, Position, Replica, Term
from election.ready import ElectionOutbox, ElectionTimer
from election.roles import RETRY_SHARE_MAX, ROLE_CHANGES, ElectionTiming, Role, TermStep
from election.vote_promise import VotePromise
from election.vote_round import VoteRound

CHECKS = 4
"""How many times within the time that an answer counts a leader looks at its quorum."""


class RaftState:
    """The state that the rules of elections are about; only `_become` changes role and term.

    `now` is what the last `clock(now)` said. `position`: the last entry of the log. `round`: the
    request for votes that is open; any change of role or term ends it. `fenced`: led this term and
    lost its quorum.
    """

    def __init__(
        self,
        *,
        electorate: Electorate,
        timing: ElectionTiming,
        fencing: Fencing,
        ballot: Ballot,
        position: Position,
        out: ElectionOutbox,
    ) -> None:
        self.electorate = electorate
        self.timing = timing
        self.ballot = ballot
        self.position = position
        self.role = Role.FOLLOWER
        self.leader: Replica | None = None
        self.fenced = False
        self.round: VoteRound | None = None
        self.now = 0.0
        self.promise = VotePromise()
        self.contact = QuorumContact(electorate=electorate, timing=timing, fencing=fencing)
        self.out = out

    @property
    def term(self) -> Term:
        """The term this node is in; may not be durable yet."""
        return self.ballot.term

    @property
    def has_leader_lease(self) -> bool:
        """Whether this node must not help to replace its leader (Raft thesis §4.2.3)."""
        if self.role is Role.LEADER:
            return self.contact.is_fresh(self.now)
        return self.promise.holds(self.now)

    def clock(self, now: float) -> None:
        """Take the time. A leader whose answers are all too old steps down here."""
        assert now >= self.now, (now, self.now)
        pause = now - self.now
        self.now = now
        if self.role is Role.LEADER and now > self.contact.until and self.contact.is_lost(now):
            self._fence("paused" if pause > self.contact.timeout else "quorum_lost")

    # -- changes of role and term

    def adopt(self, term: Term) -> None:
        """Follow in a higher term, whatever this node was (Raft §5.1)."""
        assert term > self.term
        ballot = Ballot(term=term, vote=None, member=self.ballot.member)
        if self.role is Role.LEADER:
            self.step_down("higher_term", ballot)
        else:
            self._become(Role.FOLLOWER, None, ballot)

    def observe(self, term: Term, leader: Replica | None) -> bool:
        """Take a message's term, and the leader if it names one. False if it is of the past."""
        if term != self.ballot.term:
            if term < self.ballot.term:
                return False
            self.adopt(term)
        if leader is None:
            return True
        if leader != self.leader:
            if self.leader is not None or leader == self.electorate.me:
                # Impossible while ballots are durable; the first one seen stays.
                self.out.add_event("two_leaders", term=term, first=self.leader, second=leader)
                return False
            self._become(Role.FOLLOWER, leader)
            self.fenced = False
            self.out.add_event("follows", term=self.term, leader=leader)
        self.promise.heard(self.now, sticky=self.timing.election_timeout)
        return True

    def grant_vote(self, candidate: Replica) -> None:
        """Vote for the candidate, and give it a whole timeout to win (Raft §5.2)."""
        assert self.role is Role.FOLLOWER
        assert self.ballot.member
        ballot = self.ballot
        if ballot.vote is None:
            ballot = replace(ballot, vote=candidate)
            self.out.add_event("votes", term=self.term, candidate=candidate)
        self._become(Role.FOLLOWER, self.leader, ballot)
        self.arm_election()

    def become_candidate(self, round_: VoteRound) -> None:
        """Ask for votes in the next term; our own is part of the ballot (Raft §5.2)."""
        assert not round_.record.pre
        assert round_.record.term == self.term + 1
        ballot = Ballot(term=round_.record.term, vote=self.electorate.me, member=True)
        self._become(Role.CANDIDATE, None, ballot)
        self.round = round_

    def become_leader(self) -> None:
        """Lead this term, which was won. Every voter gets the full time for a first answer."""
        assert self.ballot.vote == self.electorate.me
        assert self.electorate.may_lead
        self._become(Role.LEADER, self.electorate.me)
        self.contact.start_term(self.now)
        self.out.disarm(ElectionTimer.ELECTION)
        self.arm_check()
        self.out.add_event("elected", term=self.term)

    def become_follower(self) -> None:
        """Follow no leader, in the same term: it is lost, or our round was given up."""
        assert self.role is not Role.LEADER
        self._become(Role.FOLLOWER, None)

    def step_down(self, why: str, ballot: Ballot | None = None) -> None:
        """Stop leading. Wait a full timeout, so that another node gets the chance."""
        assert self.role is Role.LEADER
        self._become(Role.FOLLOWER, None, ballot)
        self.promise.sticky_until = self.now
        self.out.disarm(ElectionTimer.CHECK_QUORUM)
        self.out.disarm(ElectionTimer.TRANSFER)
        self.arm_election()
        self.out.add_event("stepped_down", term=self.term, why=why)

    def become_member(self) -> None:
        """Vote and count from now on: nothing acked can have been forgotten any more."""
        if not self.ballot.member:
            self.ballot = replace(self.ballot, member=True)
            self.out.mark_dirty()
            self.out.add_event("member", term=self.term)

    def _fence(self, why: str) -> None:
        """Stop leading but keep the term: there may be a newer leader."""
        self.fenced = True
        self.out.add_event("fenced", term=self.term, why=why)
        self.step_down(why)

    def _become(self, role: Role, leader: Replica | None, ballot: Ballot | None = None) -> None:
        """The only place where role, leader, term and vote change."""
        before, after = self.ballot, ballot or self.ballot
        step = TermStep.HIGHER if after.term > before.term else TermStep.SAME
        assert step in ROLE_CHANGES[self.role, role], f"{self.role} to {role}, {step.value} term"
        assert (leader == self.electorate.me) == (role is Role.LEADER)
        # A term does not go back, and a vote is given once in it (Raft figure 2, votedFor).
        assert after.term >= before.term
        assert after.term > before.term or before.vote in (None, after.vote)
        # membership.md M5: who has caught up is not a recruit again but by a new damage.
        assert after.member or not before.member
        if step is TermStep.HIGHER:
            self.fenced = False
        self.role, self.leader, self.ballot = role, leader, after
        self.round = None
        self.out.mark_dirty()

    # -- timers and timing

    def set_timing(self, fencing: Fencing, timing: ElectionTiming | None = None) -> None:
        """Change how a leader guards itself, and how long everybody waits (None: as before).

        Counts at once, also for silence that has passed. A promise is kept as it was given.
        """
        if timing is not None:
            self.timing = timing
            if self.role is not Role.LEADER:
                self.arm_election()
        self.contact.change_fencing(fencing, self.timing)
        if self.role is Role.LEADER:
            if self.contact.is_lost(self.now):
                self._fence("quorum_lost")
            else:
                self.arm_check()

    def arm_election(self) -> None:
        """One full timeout, and up to one more by the dice (Raft §5.2, randomized timeouts)."""
        timeout = self.timing.election_timeout
        self.out.arm(ElectionTimer.ELECTION, timeout, 2 * timeout)

    def arm_soon(self) -> None:
        """Arm the election timer for a moment only: there is no leader to wait for."""
        self.out.arm(ElectionTimer.ELECTION, 0.0, RETRY_SHARE_MAX * self.timing.election_timeout)

    def arm_check(self) -> None:
        """Arm a timer so that the clock is read even when nothing else happens."""
        if self.electorate.quorum > 1:
            period = self.contact.timeout / CHECKS
            self.out.arm(ElectionTimer.CHECK_QUORUM, period, period)
