"""Handles messages of peers, and the connections to them."""

from dataclasses import replace
from typing import assert_never

from election.messages import Replica, RequestVote, RequestVoteResponse, Resigned, TimeoutNow
from election.roles import ElectionMode
from qsync.core.admin_ops import AdminOps
from qsync.core.disk import DiskState
from qsync.core.inputs import Connected, Disconnected, Received, SnapshotReceived
from qsync.core.messages import (
    Append,
    AppendResponse,
    Heartbeat,
    HeartbeatResponse,
    InstallSnapshot,
    LogMessage,
    MemberState,
    ReadIndex,
    ReadIndexResponse,
    TransferLeadership,
)
from qsync.core.peers import forget_stranger
from qsync.core.progress import Membership, Progress
from qsync.core.read_requests import ReadRequests
from qsync.core.replica_state import ReplicaState


class PeerMessages:
    """The term of a message is checked before anything else of it (protocol.md section 3.5)."""

    def __init__(
        self, state: ReplicaState, *, disk: DiskState, reads: ReadRequests, operations: AdminOps
    ) -> None:
        self._state = state
        self._disk = disk
        self._reads = reads
        self._operations = operations

    def received(self, event: Received) -> None:
        """Handle a message of a peer that its handshake has identified."""
        state, message, peer = self._state, event.message, event.peer
        if peer not in state.peers:
            return
        if isinstance(
            message, RequestVoteResponse
        ) and not state.replicated_log.configurations.names(peer, event.instance):
            return  # Counted by pair: of another directory it does not count (membership.md M1 d).
        # With tuples: a union would be built again each time, and compared slowly.
        if isinstance(message, (RequestVote, RequestVoteResponse, TimeoutNow, Resigned)):
            state.received(message)
        elif isinstance(message, (Append, Heartbeat, InstallSnapshot)):
            self._from_leader(message)
        elif not isinstance(message, (AppendResponse, HeartbeatResponse)) or (
            state.peers[peer].instance == event.instance
        ):
            self._from_follower(message)

    # -- as a follower

    def _from_leader(self, message: Append | Heartbeat | InstallSnapshot) -> None:
        state = self._state
        if not state.observe(message.term, message.leader):
            # A leader of an older term learns of the newer one from our answer.
            state.out.send(message.leader, self._response(message, round_=0))
            return
        # Raft §5.2: who hears from the leader of its term follows it.
        assert state.leader is None
        if state.follower.split is not None:
            return
        if isinstance(message, Append):
            self._append(message)
        elif isinstance(message, InstallSnapshot):
            if state.follower.offered(message):
                state.out.snapshot = message
            self._tell_split()
        else:
            self._heartbeat(message)

    def _append(self, message: Append) -> None:
        state = self._state
        refusal = state.follower.append(message)
        if not self._tell_split() and refusal is not None:
            state.out.send(message.leader, self._marked(refusal))

    def _tell_split(self) -> bool:
        split = self._state.follower.split
        if split is not None:
            self._state.out.add_event("split_brain", what=str(split))
        return split is not None

    def installed(self, offer: InstallSnapshot) -> None:
        """Install a snapshot whose rows are here, of a leader of our term (membership.md M6 b)."""
        state = self._state
        if offer.term != state.term or state.leader is not None or state.follower.split is not None:
            return
        state.follower.install(offer)
        self._tell_split()

    def _heartbeat(self, message: Heartbeat) -> None:
        state = self._state
        state.follower.heartbeat(message)
        if message.admit and not state.raft.ballot.member:
            state.raft.state.become_member()
            state.out.add_event("admitted", by=message.leader)
        promised_s = state.raft.promise() if message.promise else 0.0
        answer = self._response(message, round_=message.round, promised_s=promised_s)
        state.out.send(message.leader, answer)

    def acknowledge(self) -> None:
        """Send the leader an ack of what is durable here, if it is new."""
        state = self._state
        leader = state.raft.leader
        if leader is None or leader == state.config.me or state.follower.split is not None:
            return
        ack = state.follower.ack()
        if ack is not None:
            state.out.send(leader, self._marked(ack))

    def _response(
        self, message: Append | Heartbeat | InstallSnapshot, *, round_: int, promised_s: float = 0.0
    ) -> HeartbeatResponse:
        state = self._state
        return HeartbeatResponse(
            term=state.term,
            follower=state.config.me,
            epoch=message.epoch,
            round=round_,
            recruit=not state.raft.ballot.member,
            promised_us=int(promised_s * 1e6),
            standing=self._standing(),
        )

    def _standing(self) -> MemberState:
        """Whether leadership may be handed to us."""
        if self._disk.error is not None:
            return MemberState.UNWELL
        match self._state.config.mode:
            case ElectionMode.CANDIDATE:
                return MemberState.CANDIDATE
            case ElectionMode.VOTER:
                return MemberState.VOTER
            case ElectionMode.OFF | ElectionMode.MANUAL:
                return MemberState.WHEN_TOLD
            case _:
                assert_never(self._state.config.mode)

    def _marked(self, answer: AppendResponse) -> AppendResponse:
        """Mark an ack with our membership: the ack of a recovering node does not count."""
        if self._state.raft.ballot.member:
            return answer
        return replace(answer, recruit=True)

    # -- as a leader

    def _from_follower(self, message: LogMessage) -> None:
        match message:
            case AppendResponse() | HeartbeatResponse():
                self._answered(message)
            case ReadIndex():
                self._reads.asked_by_follower(message)
            case ReadIndexResponse():
                self._state.out.answers(self._state.reads.on_response(message))
            case TransferLeadership():
                self._operations.asked_to_transfer(message.candidate)
            case Append() | Heartbeat() | InstallSnapshot():
                raise AssertionError(message)
            case _:
                assert_never(message)

    def _answered(self, message: AppendResponse | HeartbeatResponse) -> None:
        state = self._state
        if message.term > state.term:
            state.observe(message.term, None)
            return
        leader = state.leader
        if leader is None:
            return
        if (
            leader.appended(message)
            if isinstance(message, AppendResponse)
            else leader.heard(message)
        ) and state.peers[message.follower].counts:
            state.raft.heard(message.follower)

    # -- connections

    def handle_connection(self, event: Connected | Disconnected | SnapshotReceived) -> None:
        """Handle a connection that is up, or gone, or has brought the rows of a snapshot."""
        match event:
            case Connected():
                self.connected(event)
            case Disconnected():
                self.disconnected(event)
            case SnapshotReceived():
                self.installed(event.offer)
            case _:
                assert_never(event)

    def connected(self, event: Connected) -> None:
        """Begin with a new connection to a peer: acks over an older one do not count."""
        state, replicated_log = self._state, self._state.replicated_log
        assert event.peer != state.config.me
        progress = state.peers.get(event.peer)
        if progress is None:  # a stranger, that wants to join or was removed
            progress = state.peers[event.peer] = Progress(event.peer)
        progress.reset(
            epoch=event.epoch, connected=True, last=replicated_log.log.last, now=replicated_log.now
        )
        progress.instance, progress.features = event.instance, event.features
        # What it said over the former connection does not count.
        progress.membership = Membership.ANONYMOUS if event.anonymous else Membership.STRANGER
        progress.take_role(replicated_log.configurations.role_of(event.peer, event.instance))
        state.raft.campaign.absent.discard(event.peer)
        if all(map(self._is_there, state.raft.electorate.peers)):
            state.raft.everybody_is_there()
        if state.leader is not None:
            state.leader.rounds.forget(event.peer)
            state.leader.begin_round(state.out.send)

    def _is_there(self, voter: Replica) -> bool:
        progress = self._state.peers.get(voter)
        return progress is not None and progress.connected and progress.is_voter

    def disconnected(self, event: Disconnected) -> None:
        """End a connection to a peer; if its address refuses connections, the peer has stopped."""
        state = self._state
        progress = state.peers.get(event.peer)
        if progress is not None and progress.epoch == event.epoch:
            progress.connected = False
            self._operations.out_of_reach(event.peer)
            forget_stranger(state.peers, progress, state.replicated_log.configurations.followed)
        if event.refused:
            state.raft.campaign.absent.add(event.peer)
            if state.leader is None and state.raft.leader == event.peer:
                state.leader_gone()
