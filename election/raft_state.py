"""One node's place in the replica set: its term, its role, its leader, and how they change."""

from collections.abc import Sequence
from dataclasses import replace

from election.fencing import Fencing, QuorumContact
from election.messages import Ballot, Replica, Term
from election.quorum import majority
from election.ready import ElectionOutbox, ElectionReady, ElectionTimer
from election.roles import RETRY_SHARE_MAX, ElectionMode, ElectionTiming, Role
from election.vote_promise import VotePromise

CHECKS = 4
"""How many times within its patience a leader looks whether it still hears a quorum."""


class RaftState:
    """The state below campaigns and messages: every change of it goes through `_become`.

    Time is what the last `clock(now)` said. While it is patient a leader was heard recently enough
    that this node helps nobody to replace it (Raft thesis §6.2, leader stickiness). While it has
    promised it must not: the leader serves reads on the strength of that.
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
        named: bool = True,
    ) -> None:
        assert timing.election_timeout > 0
        assert timing.disconnect_timeout > 0
        assert 0 < timing.promise <= timing.election_timeout
        self.me = me
        self.voters = tuple(voters)
        self.mode = mode
        self.role = Role.FOLLOWER
        self.leader: Replica | None = None
        self.ballot = ballot
        self.fenced = False
        """Was the leader of this term, and lost its quorum."""
        self.timing = timing
        self.now = 0.0
        self.loyalty = VotePromise()
        # Two leaders of one term are impossible only if election quorums intersect.
        quorum = max(quorum, majority(len(self.voters)))
        self.contact = QuorumContact(
            me=me, voters=voters, quorum=quorum, timing=timing, fencing=fencing
        )
        self.contact.named = named
        self.out = ElectionOutbox(ballot)
        if self._is_alone() and not ballot.member:
            self._mark(replace(ballot, member=True))

    @property
    def term(self) -> Term:
        """The term this node is in; may not be durable yet."""
        return self.ballot.term

    @property
    def quorum(self) -> int:
        """How many votes elect, and how many voters a leader must hear."""
        return self.contact.quorum

    def clock(self, now: float) -> None:
        """What time it is. Called before every batch of inputs.

        A leader whose process was paused finds here that all it heard is too old, and steps down
        before it answers anything of the batch.
        """
        assert now >= self.now, (now, self.now)
        pause = now - self.now
        self.now = now
        if self.role is Role.LEADER and now > self.contact.until and self.contact.lost(now):
            self._fence("paused" if pause > self.contact.timeout else "quorum_lost")

    def heard(self, peer: Replica) -> None:
        """That voter answered us in our term."""
        self.contact.heard(peer, self.now)

    def set_fencing(self, fencing: Fencing, *, timing: ElectionTiming | None = None) -> None:
        """Change how a leader guards itself, and how patient everybody is (None: as before).

        Counts at once, also for silence that has passed. A promise to be loyal until some time
        is kept.
        """
        if timing is not None:
            assert timing.election_timeout > 0
            assert timing.disconnect_timeout > 0
            assert 0 < timing.promise <= timing.election_timeout
            self.timing = timing
            if self.role is not Role.LEADER:
                self._arm_election()
        self.contact.change_fencing(fencing, self.timing)
        if self.role is Role.LEADER:
            if self.contact.lost(self.now):
                self._fence("quorum_lost")
            else:
                self._arm_check()

    def become_member(self) -> None:
        """Vote, and be counted, from now on: what was acked cannot have been forgotten any more."""
        if not self.ballot.member:
            self._mark(replace(self.ballot, member=True))
            self.out.note("member", term=self.term)

    def resign(self, why: str) -> None:
        """Stop leading, keep the term. Waits a full timeout, so that another gets the chance."""
        if self.role is Role.LEADER:
            self._step_down(why)

    def ready(self) -> ElectionReady:
        """Everything to be done since the last call."""
        leads = self.term if self.role is Role.LEADER else None
        return self.out.drain(ballot=self.ballot, leads=leads)

    def _become(self, role: Role, leader: Replica | None) -> None:
        """The only place where the role and the leader change."""
        assert (leader == self.me) == (role is Role.LEADER)
        self.role = role
        self.leader = leader
        self.out.mark_dirty()

    def _mark(self, ballot: Ballot) -> None:
        """Fill in the ballot. It does not go back: no lower term, no second vote."""
        assert ballot.term >= self.term
        assert ballot.term > self.term or self.ballot.vote in (None, ballot.vote)
        assert ballot.member or not self.ballot.member
        self.ballot = ballot
        self.out.mark_dirty()

    def _adopt(self, term: Term) -> None:
        """There is a higher term: whatever this node was, it follows in that one."""
        assert term > self.term
        led = self.role is Role.LEADER
        self._mark(Ballot(term=term, vote=None, member=self.ballot.member))
        self.fenced = False
        if led:
            self._step_down("higher_term")
        else:
            self._become(Role.FOLLOWER, None)

    def _follow(self, leader: Replica) -> None:
        """The leader of the term is known."""
        self._become(Role.FOLLOWER, leader)
        self.fenced = False
        self.out.note("follows", term=self.term, leader=leader)

    def _lead(self) -> None:
        """Won this term."""
        assert self.ballot.vote == self.me
        self._become(Role.LEADER, self.me)
        self.fenced = False
        self.contact.begin(self.now)
        self.out.disarm(ElectionTimer.ELECTION)
        self._arm_check()
        self.out.note("elected", term=self.term)

    def _fence(self, why: str) -> None:
        """Nobody can tell any more whether there is a newer leader: stop, but keep the term."""
        self.fenced = True
        self.out.note("fenced", term=self.term, why=why)
        self._step_down(why)

    def _step_down(self, why: str) -> None:
        self._become(Role.FOLLOWER, None)
        self.loyalty.patient_until = self.now
        self.out.disarm(ElectionTimer.CHECK_QUORUM)
        self.out.disarm(ElectionTimer.TRANSFER)
        self._arm_election()
        self.out.note("stepped_down", term=self.term, why=why)

    def _is_loyal(self) -> bool:
        """Is there a leader that this node must not help to replace?"""
        if self.role is Role.LEADER:
            return self.contact.fresh(self.now)
        return self.loyalty.holds(self.now)

    def _is_alone(self) -> bool:
        return self.voters == (self.me,)

    def _arm_election(self) -> None:
        """One full timeout, and up to one more by the dice."""
        timeout = self.timing.election_timeout
        self.out.arm(ElectionTimer.ELECTION, timeout, 2 * timeout)

    def _arm_soon(self) -> None:
        """A moment only: there is no leader to wait for."""
        self.out.arm(ElectionTimer.ELECTION, 0.0, RETRY_SHARE_MAX * self.timing.election_timeout)

    def _arm_check(self) -> None:
        """So that the clock is looked at even when nothing else happens."""
        if self.quorum > 1:
            patience = self.contact.timeout
            self.out.arm(ElectionTimer.CHECK_QUORUM, patience / CHECKS, patience / CHECKS)
