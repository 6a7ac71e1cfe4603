"""The election of one node: its inputs and its outputs (Raft §5, thesis §3.10)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from election.campaign import Campaign
from election.electorate import Electorate
from election.fencing import Fencing
from election.messages import (
    Ballot,
    ElectionMessage,
    Position,
    Replica,
    RequestVote,
    RequestVoteResponse,
    Resigned,
    Term,
    TimeoutNow,
)
from election.raft_state import RaftState
from election.ready import ElectionOutbox, ElectionReady, ElectionTimer
from election.roles import ElectionMode, ElectionTiming, Role
from election.transfer import LeaderTransfer
from election.vote_record import VoteHistory
from election.voter import Voter


class Raft:
    """Leader election on one node. No clock, no random numbers, no disk, no network.

    Inputs are method calls; `ready()` returns the work to do. Call `clock` before each
    batch of inputs. Neither `elected` nor a granted vote rests on a ballot that is not durable.

    The parts know `state` and not each other: `campaign` asks for votes, `voter` answers who asks,
    `transfer` is how a leader stops by its own will. `history`: who asked for votes lately, who
    said what, and why not.
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
        self.electorate = Electorate(me=me, voters=voters, quorum=quorum, named=named)
        self.out = ElectionOutbox(ballot)
        if self.electorate.is_alone:
            # No other node could remember what it acked and forgot.
            ballot = replace(ballot, member=True)
        self.state = RaftState(
            electorate=self.electorate,
            timing=timing,
            fencing=fencing,
            ballot=ballot,
            position=position,
            out=self.out,
        )
        self.history = VoteHistory()
        self.campaign = Campaign(self.state, self.history, mode)
        self.voter = Voter(self.state, self.history)
        self.transfer = LeaderTransfer(self.state)

    @property
    def role(self) -> Role:
        """The role of this node in its term."""
        return self.state.role

    @property
    def leader(self) -> Replica | None:
        """The leader of the term, if it is known."""
        return self.state.leader

    @property
    def term(self) -> Term:
        """The term this node is in; may not be durable yet."""
        return self.state.ballot.term

    @property
    def ballot(self) -> Ballot:
        """Term and vote; may not be durable yet."""
        return self.state.ballot

    def start(self) -> None:
        """Begin: arm the first timer. A candidate waits one full timeout, unless it is alone."""
        state = self.state
        if self.electorate.is_alone and self.campaign.may_begin:
            self.campaign.campaign(promoted=False)
            return
        state.arm_election()
        if state.term > 0:
            # A leader may count on what we have forgotten by restarting (membership.md M11 c).
            state.promise.sticky_until = state.now + state.timing.election_timeout
            self.promise()

    def clock(self, now: float) -> None:
        """Take the time. Called before every batch of inputs.

        A leader whose process was paused finds here that all it heard is too old, and steps down
        before it answers anything of the batch.
        """
        self.state.clock(now)

    def timer(self, kind: str) -> None:
        """Handle a timer that a ready asked for."""
        match kind:
            case ElectionTimer.ELECTION:
                self.campaign.election_timeout()
            case ElectionTimer.CHECK_QUORUM:
                if self.role is Role.LEADER:  # `clock` has just looked.
                    self.state.arm_check()
            case ElectionTimer.TRANSFER:
                self.transfer.timed_out()
            case _:
                raise AssertionError(f"not a timer of the election: {kind}")

    def received(self, message: ElectionMessage) -> None:
        """Handle a message from a peer that its handshake has identified."""
        match message:
            case RequestVote():
                if message.candidate != self.electorate.me:
                    self.voter.answer(message)
            case RequestVoteResponse():
                self.campaign.count(message)
            case TimeoutNow():
                self.campaign.timeout_now(message)
            case Resigned():
                self.campaign.leader_resigned(message)
            case _:
                assert_never(message)

    def observe(self, term: Term, leader: Replica | None) -> bool:
        """Take term and leader of a replication message. False if it is of the past.

        From a leader: it is known now, and is not to be replaced for one election timeout more.
        """
        return self.state.observe(term, leader)

    def heard(self, peer: Replica) -> None:
        """Note that a voter answered us in our term."""
        self.state.contact.heard(peer, self.state.now)

    def promise(self) -> float:
        """Promise to vote for no node but the leader; return for how many seconds from now."""
        state = self.state
        state.promise.promise(state.now + state.timing.promise)
        return state.timing.promise

    def everybody_is_there(self) -> None:
        """Note that all voters can be reached. In term 0 there is no leader to wait for."""
        if self.term == 0:
            self.state.arm_soon()

    def set_last_position(self, position: Position) -> None:
        """Change the position of our log's last entry (the log may also have been cut)."""
        self.state.position = position

    def set_mode(self, mode: ElectionMode) -> None:
        """Change the mode. A leader that must not lead by it has to hand over, or to resign."""
        if mode is self.campaign.mode:
            return
        self.campaign.mode = mode
        if mode is ElectionMode.VOTER or not self.campaign.promoting:
            self.campaign.drop_round()

    def set_voters(self, voters: Sequence[Replica], quorum: int, *, named: bool = True) -> None:
        """Change the voters. An open round is dropped and restarted."""
        self.electorate.change(voters, quorum, named=named)
        self.state.contact.change_voters(self.state.now)
        self.campaign.drop_round()

    def ballot_written(self, ballot: Ballot) -> None:
        """Note that that ballot is durable."""
        assert ballot.term >= self.out.durable.term
        self.out.durable = ballot
        self.campaign.own_vote_durable(ballot)

    def ready(self) -> ElectionReady:
        """Everything to be done since the last call."""
        state = self.state
        leads = state.ballot.term if state.role is Role.LEADER else None
        return self.out.drain(ballot=state.ballot, leads=leads)
