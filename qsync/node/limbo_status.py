"""The limbo in a node's status: the queue, and which nodes lack its oldest transaction and why."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from election.messages import Replica
from qsync.core import progress
from qsync.core.progress import Membership
from qsync.node.links import LinkStatus
from qsync.node.view import NodeView
from qsync.status.limbo import MissingAck, OldestPending, QueueStatus, SynchroStatus

if TYPE_CHECKING:
    from qsync.core.machine import Machine
    from qsync.core.progress import Progress


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What the status of the limbo needs of other members beside the core's knowledge.

    `name` by id; `broken`: why there is no connection to a member, None while there is one;
    `uptime`: seconds since this node was opened; it heard no peer before that.
    """

    name: Callable[[int], str | None]
    broken: Callable[[Replica], str | None]
    uptime: float


def of_node(node: NodeView) -> SynchroStatus:
    """Return the limbo of a running node."""

    def broken(peer: Replica) -> str | None:
        link = node.links.links.get(peer)
        if link is None:
            return "its address is unknown"
        return None if link.status is LinkStatus.UP else link.message or link.status.value

    neighbours = Neighbours(name=node.book.name_of, broken=broken, uptime=node.uptime())
    return synchro(node.replica.machine, neighbours, confirm_lag=node.requests.tickets.waited)


def synchro(
    machine: "Machine", neighbours: Neighbours, *, confirm_lag: float = 0.0
) -> SynchroStatus:
    """Return quorum and queue of a replica."""
    config, replicated_log, limbo = (
        machine.config,
        machine.replicated_log,
        machine.replicated_log.limbo,
    )
    return SynchroStatus(
        quorum=config.quorum,
        quorum_expression=str(config.synchro_quorum),
        unsafe=config.synchro_quorum.is_unsafe_for(len(config.voters)),
        timeout=config.synchro_timeout,
        policy=str(config.synchro_policy),
        queue=QueueStatus(
            len=len(limbo.queue),
            size=replicated_log.queue_bytes,
            owner=limbo.owner.owner,
            term=limbo.owner.term,
            age=replicated_log.now - limbo.born if limbo.queue else 0.0,
            stalled=limbo.stalled(replicated_log.now),
            busy=is_busy(machine),
            confirm_lag=confirm_lag,
            unconfirmed=replicated_log.log.last - replicated_log.confirmed,
            entries_max=config.queue_entries_max,
            bytes_max=config.queue_bytes_max,
            waiting=_oldest(machine, neighbours),
        ),
    )


def is_busy(machine: "Machine") -> bool:
    """Return whether the leader is about to stop, and so takes no more transactions."""
    return machine.leader is not None and machine.leader.stopping is not None


def _oldest(machine: "Machine", neighbours: Neighbours) -> OldestPending | None:
    replicated_log = machine.replicated_log
    if not replicated_log.limbo.queue:
        return None
    oldest = replicated_log.limbo.queue[0]
    acked: list[int] = []
    missing: list[MissingAck] = []
    has_led = machine.leader is not None or machine.raft.state.fenced
    if has_led:
        acked = [*progress.acked_by(machine.peers.values(), oldest.index)]
        acked += [machine.config.me] if replicated_log.written >= oldest.index else []
        missing = [
            _lacking(machine, neighbours, each)
            for each in machine.config.voters
            if each not in acked
        ]
    return OldestPending(
        index=oldest.index,
        term=oldest.term,
        lsn=oldest.lsn,
        origin=oldest.origin,
        since=oldest.time,
        age=replicated_log.now - replicated_log.limbo.born,
        quorum=machine.config.quorum,
        acks=len(acked) if has_led else None,
        acked_by=tuple(neighbours.name(each) for each in sorted(acked)),
        missing=tuple(missing),
    )


def _lacking(machine: "Machine", neighbours: Neighbours, voter: Replica) -> MissingAck:
    replicated_log = machine.replicated_log
    if voter == machine.config.me:
        return MissingAck(
            id=voter,
            name=neighbours.name(voter),
            acked=replicated_log.written,
            behind=replicated_log.log.last - replicated_log.written,
            idle=0.0,
            why=machine.disk.error or "its own log is not durable that far yet",
        )
    peer, broken = machine.peers[voter], neighbours.broken(voter)
    heard = replicated_log.now - peer.heard_at
    return MissingAck(
        id=voter,
        name=neighbours.name(voter),
        acked=peer.match,
        behind=replicated_log.log.last - peer.match,
        idle=heard if heard < neighbours.uptime else None,
        connected=broken is None,
        why=_why(peer, broken),
    )


def _why(peer: "Progress", broken: str | None) -> str:
    if broken is not None:
        return f"no connection: {broken}"
    if peer.is_outside:
        return "it is not a member: the configuration does not name its directory"
    if peer.membership is Membership.RECRUIT:
        return "it has not caught up since its log was damaged, so its acks do not count"
    if not peer.is_replicating:
        return "it is being asked where its log agrees"
    return f"it has acked up to {peer.match}"
