"""What a core does with what its peers say and with the connections to them."""

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from election.messages import RequestVote, RequestVoteResponse, Resigned, TimeoutNow
from election.roles import ElectionMode
from qsync.core import membership, operate, reading
from qsync.core.inputs import Connected, Disconnected, Received
from qsync.core.messages import (
    Append,
    AppendResponse,
    Heartbeat,
    HeartbeatResponse,
    LogMessage,
    MemberState,
    ReadIndex,
    ReadIndexResponse,
    TransferLeadership,
)
from qsync.core.progress import Membership

if TYPE_CHECKING:
    from qsync.core.machine import Machine


def received(machine: "Machine", event: Received) -> None:
    """A message of a peer that was identified by its handshake."""
    message, peer = event.message, event.peer
    if peer not in machine.peers:
        return
    if isinstance(message, RequestVoteResponse) and not membership.names(
        machine, peer, event.instance
    ):
        return  # Counted by pair: a vote of another directory is nobody's (membership.md M1 d).
    if isinstance(message, RequestVote | RequestVoteResponse | TimeoutNow | Resigned):
        # The same batch may have moved the end of our log.
        machine.raft.set_last_position(machine.ledger.log.position)
        machine.raft.received(message)
    elif isinstance(message, Append | Heartbeat):
        _from_leader(machine, message)
    elif not isinstance(message, AppendResponse | HeartbeatResponse) or (
        machine.peers[peer].instance == event.instance
    ):
        _from_follower(machine, message)


def _from_leader(machine: "Machine", message: Append | Heartbeat) -> None:
    if not machine.raft.observe(message.term, message.leader):
        # A leader of an older term learns of the newer one from our answer.
        machine.out.send(message.leader, _heard(machine, message, round_=0))
        return
    machine.follow_raft()
    assert machine.leader is None
    if machine.follower.split is not None:
        return
    if isinstance(message, Append):
        _append(machine, message)
    else:
        _heartbeat(machine, message)


def _append(machine: "Machine", message: Append) -> None:
    refusal = machine.follower.append(message)
    if machine.follower.split is not None:
        machine.out.note("split_brain", what=str(machine.follower.split))
    elif refusal is not None:
        machine.out.send(message.leader, marked(machine, refusal))


def _heartbeat(machine: "Machine", message: Heartbeat) -> None:
    machine.follower.heartbeat(message)
    if message.admit and not machine.raft.ballot.member:
        machine.raft.state.become_member()
        machine.out.note("admitted", by=message.leader)
    loyal_s = machine.raft.promise() if message.promise else 0.0
    machine.out.send(
        message.leader, _heard(machine, message, round_=message.round, loyal_s=loyal_s)
    )


def _heard(
    machine: "Machine", message: Append | Heartbeat, *, round_: int, loyal_s: float = 0.0
) -> HeartbeatResponse:
    return HeartbeatResponse(
        term=machine.term,
        follower=machine.config.me,
        epoch=message.epoch,
        round=round_,
        recruit=not machine.raft.ballot.member,
        loyal_us=int(loyal_s * 1e6),
        standing=_standing(machine),
    )


def _standing(machine: "Machine") -> MemberState:
    """Whether leadership may be handed to us."""
    if machine.disk.error is not None:
        return MemberState.UNWELL
    match machine.config.mode:
        case ElectionMode.CANDIDATE:
            return MemberState.CANDIDATE
        case ElectionMode.VOTER:
            return MemberState.VOTER
        case ElectionMode.OFF | ElectionMode.MANUAL:
            return MemberState.WHEN_TOLD
        case _:
            assert_never(machine.config.mode)


def marked(machine: "Machine", answer: AppendResponse) -> AppendResponse:
    """With the truth about our membership: what a recruit acks does not count."""
    if machine.raft.ballot.member:
        return answer
    return replace(answer, recruit=True)


def _from_follower(machine: "Machine", message: LogMessage) -> None:
    match message:
        case AppendResponse() | HeartbeatResponse():
            _answered(machine, message)
        case ReadIndex():
            reading.asked_index(machine, message)
        case ReadIndexResponse():
            machine.out.answers(machine.reads.told(message))
        case TransferLeadership():
            operate.asked_hand_over(machine, message.candidate)
        case Append() | Heartbeat():
            raise AssertionError(message)
        case _:
            assert_never(message)


def _answered(machine: "Machine", message: AppendResponse | HeartbeatResponse) -> None:
    if message.term > machine.term:
        machine.raft.observe(message.term, None)
        return
    leader = machine.leader
    if leader is None:
        return
    if (
        leader.appended(message) if isinstance(message, AppendResponse) else leader.heard(message)
    ) and machine.peers[message.follower].counts:
        machine.raft.heard(message.follower)


def connected(machine: "Machine", event: Connected) -> None:
    """Our connection to a peer stands: what was acked over an older one does not count."""
    ledger = machine.ledger
    progress = machine.peers[event.peer]
    progress.begin(epoch=event.epoch, connected=True, last=ledger.log.last, now=ledger.now)
    progress.instance = event.instance
    named = membership.names(machine, event.peer, event.instance)
    progress.membership = Membership.RECRUIT if named else Membership.STRANGER
    machine.raft.campaign.absent.discard(event.peer)
    peers = machine.peers.values()
    if all(each.connected and each.membership is not Membership.STRANGER for each in peers):
        machine.raft.everybody_is_there()
    if machine.leader is not None:
        machine.leader.rounds.forget(event.peer)
        machine.leader.begin_round(machine.out.send)


def disconnected(machine: "Machine", event: Disconnected) -> None:
    """Our connection to a peer is gone; and if nobody listens there any more, so is the peer."""
    progress = machine.peers[event.peer]
    if progress.epoch == event.epoch:
        progress.connected = False
        operate.out_of_reach(machine, event.peer)
    if event.refused:
        machine.raft.campaign.absent.add(event.peer)
        if machine.leader is None and machine.raft.leader == event.peer:
            machine.raft.campaign.leader_gone()
