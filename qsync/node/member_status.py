"""The other members in a node's status: what they send, what they are sent, and votes."""

from typing import TYPE_CHECKING

from election.messages import Index, Replica
from qsync.node.links import LinkStatus
from qsync.node.view import NodeView
from qsync.record import instance_text
from qsync.status.members import (
    FOLLOWS,
    AnonymousStatus,
    DownstreamStatus,
    ElectionStatus,
    MemberStatus,
    PeerStatus,
    UpstreamStatus,
    VoteStatus,
)
from qsync.status.record import AnonymousReplicas

if TYPE_CHECKING:
    from qsync.core.machine import Machine
    from qsync.core.progress import Progress


def behind(machine: "Machine") -> int | None:
    """Return how many entries a follower lacks on disk, by the leader's last heartbeat."""
    if machine.leader is not None:
        return 0
    if machine.raft.leader is None:
        return None
    return max(0, machine.follower.leader_last - machine.replicated_log.written)


def election(node: NodeView) -> ElectionStatus:
    """Return term, vote, fencing, and the recent votes with the reasons of every refusal."""
    machine, raft = node.replica.machine, node.replica.machine.raft
    return ElectionStatus(
        state=raft.role.value,
        term=raft.term,
        vote=raft.ballot.vote,
        leader=raft.leader or 0,
        leader_name=node.book.name_of(raft.leader),
        leader_idle=node.leader_idle(),
        timeout=machine.config.election_timeout,
        fencing=machine.config.fencing.value,
        fenced=raft.state.fenced,
        tallies=tuple(
            VoteStatus(
                term=tally.term,
                candidate=tally.candidate,
                pre=tally.pre,
                answers={
                    int(voter): "AYE" if nay is None else nay.value
                    for voter, nay in tally.answers.items()
                },
            )
            for tally in raft.history
        ),
    )


def anonymous(node: NodeView) -> AnonymousReplicas:
    """Return the anonymous replicas of this cluster, as far as this node knows."""
    leads, now = node.replica.machine.leader is not None, node.reactor.effects.now()
    last = node.replica.machine.replicated_log.log.last
    found = tuple(
        AnonymousStatus(
            id=each.replica,
            uuid=each.instance,
            name=each.name,
            address=each.address,
            status=FOLLOWS if each.connected else "stopped",
            acked=each.index if leads else None,
            behind=last - each.index if leads else None,
            expires=max(0.0, each.until - now),
        )
        for each in node.book.anonymous.known.values()
    )
    return AnonymousReplicas(count=len(found), replicas=found)


def peers(node: NodeView) -> tuple[PeerStatus, ...]:
    """Return this node's links, and what the leader knows of its followers."""
    machine = node.replica.machine
    last, now, leads = (
        machine.replicated_log.log.last,
        machine.replicated_log.now,
        machine.leader is not None,
    )
    found = []
    for replica, link in node.links.links.items():
        progress = machine.peers.get(replica)
        if progress is None:
            continue  # it comes, or goes, with the batch that is under way
        if node.book.anonymous.has(replica) and not node.book.names(replica):
            continue
        heard = leads and progress.heard_at > 0
        found.append(
            PeerStatus(
                id=replica,
                name=link.peer.name,
                status=link.status.value,
                epoch=link.epoch,
                message=link.message,
                acked=progress.match if leads else None,
                lag=last - progress.match if leads else None,
                idle=now - progress.heard_at if heard else None,
                recruit=not progress.counts if leads else None,
                stranger=progress.is_outside if leads else None,
                snapshot=node.transfers.to(replica) if leads else None,
            )
        )
    return tuple(found)


def replication(node: NodeView) -> dict[int, MemberStatus]:
    """Return every member as this node sees it; itself without upstream and downstream."""
    return {int(peer.id): _member(node, peer.id) for peer in node.book.members}


def _member(node: NodeView, replica: int) -> MemberStatus:
    machine = node.replica.machine
    me = replica == node.config.node.id
    progress = None if me or machine.leader is None else machine.peers.get(Replica(replica))
    return MemberStatus(
        id=replica,
        uuid=node.identity.instance if me else _instance(node, Replica(replica)),
        name=node.book.name_of(replica),
        lsn=machine.replicated_log.log.lsn_of(replica),
        upstream=None if me else _upstream(node, replica),
        downstream=None if progress is None else _downstream(node, progress),
    )


def _instance(node: NodeView, replica: Replica) -> str | None:
    """Return the directory of a member: as it said itself, or before that by the configuration."""
    met = node.server.instance_of(replica)
    configuration = node.replica.machine.replicated_log.configurations.followed
    member = None if configuration is None else configuration.member(replica)
    return instance_text(member.instance) if met is None and member is not None else met


def _upstream(node: NodeView, replica: int) -> UpstreamStatus:
    """Return the state of what that member sends: only the leader sends entries."""
    machine, replicated_log = node.replica.machine, node.replica.machine.replicated_log
    leads, message = machine.raft.leader == replica, None
    snapshot = node.transfers.coming_from(replica) if leads else None
    if not node.server.hears(replica):
        state, message = "disconnected", "it has no connection to this node"
    elif leads and machine.follower.split is not None:
        state, message = "stopped", str(machine.follower.split)
    elif snapshot is not None:
        state = "snapshot"
    elif leads:
        state = "follow" if machine.state.counts else "sync"
    else:
        state = "ready"
    late = leads and replicated_log.visible < replicated_log.log.last
    return UpstreamStatus(
        status=state,
        idle=node.leader_idle() if leads else None,
        lag=_age(node, Index(replicated_log.visible + 1)) if late else 0.0,
        peer=node.book.address_of(replica),
        message=message,
        behind=behind(machine) if leads else None,
        snapshot=snapshot,
    )


def _downstream(node: NodeView, progress: "Progress") -> DownstreamStatus:
    """Return what this leader knows of a follower."""
    replicated_log = node.replica.machine.replicated_log
    link = node.links.links.get(progress.peer)
    follows = link is not None and link.status is LinkStatus.UP
    caught_up = progress.match >= replicated_log.log.last
    heard = replicated_log.now - progress.heard_at
    snapshot = node.transfers.to(progress.peer)
    going = "follow" if snapshot is None else "snapshot"
    return DownstreamStatus(
        status=going if follows else "stopped",
        idle=heard if heard < node.uptime() else None,
        lag=0.0 if caught_up else _age(node, Index(progress.match + 1)),
        vclock=vclock_at(node, progress.match),
        message=None if follows or link is None else link.message or link.status.value,
        acked=progress.match,
        behind=replicated_log.log.last - progress.match,
        counts=progress.counts,
        snapshot=snapshot,
    )


def _age(node: NodeView, index: Index) -> float:
    """Return the seconds since that entry was made, by the leader's clock and ours."""
    replicated_log = node.replica.machine.replicated_log
    index = max(index, Index(replicated_log.log.start.index + 1))  # the oldest that is still here
    found = replicated_log.entries(index, min(index, replicated_log.log.last))
    return max(0.0, node.loop.timers.wall() - found[0].time) if found else 0.0


def vclock_at(node: NodeView, index: int) -> dict[int, int]:
    """Returns, for every origin, the last lsn at or below an index."""
    log = node.replica.machine.replicated_log.log
    return {int(origin): int(lsn) for origin, lsn in log.vclock_at(index)}
