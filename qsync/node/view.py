"""What a node knows of itself now, as one plain record: STATUS, box.info, dashboards, checks."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from election.messages import Index
from qsync import __version__
from qsync.core.progress import Membership
from qsync.errors import StoreError
from qsync.node import mishaps
from qsync.node.clusterwide import effective
from qsync.record import instance_text

if TYPE_CHECKING:
    from qsync.core.machine import Machine
    from qsync.node.node import Node

EVENTS_SHOWN = 100
"""How many of the newest events an answer holds."""


def status(node: "Node") -> dict[str, object]:
    """The record, every part of it from the same moment. Never fails as a whole."""
    machine, config = node.replica.machine, node.config
    ledger, raft = machine.ledger, machine.raft
    reasons = machine.reasons()
    leader, usage = raft.leader, node.reactor.effects.usage()
    return {
        "id": config.node.id,
        "name": config.node.name,
        "uuid": node.identity.instance,
        "cluster": config.cluster.name,
        "cluster_uuid": node.identity.cluster,
        "address": node.address,
        "version": __version__,
        "uptime": node.uptime(),
        "time": node.loop.timers.wall(),
        "role": "leader" if machine.leader else raft.role.value,
        "mode": machine.config.mode.value,
        "term": machine.term,
        "vote": raft.ballot.vote,
        "leader": leader,
        "leader_name": node.name_of(leader),
        "leader_address": node.address_of(leader),
        "leader_idle": node.leader_idle(),
        "behind": behind(machine),
        "ro": bool(reasons),
        "ro_reason": reasons[0].why.value if reasons else None,
        "ro_reasons": [
            {"why": each.why.value, "text": each.text, "lifts": each.lifts} for each in reasons
        ],
        "status": _state(node),
        "vclock": {int(origin): int(lsn) for origin, lsn in ledger.log.vclock().items()},
        "signature": int(ledger.log.last),
        "last": int(ledger.log.last),
        "crc": int(ledger.log.crc_at(ledger.log.last)),
        "written": int(ledger.written),
        "confirmed": int(ledger.confirmed),
        "visible": int(ledger.visible),
        "folded": int(node.replica.raw.folded),
        "synchro": synchro(machine),
        "election": election(machine),
        "nodes": [[peer.id, peer.name, node.address_of(peer.id)] for peer in config.peers],
        "peers": peers(node),
        "lost": lost(node),
        "disk": node.disk() | room(node),
        "spaces": spaces(node),
        "counters": counters(node),
        "latency": node.requests.tickets.latency.spread().describe(),
        "events": node.timeline.counts.total(),
        "waiters": len(node.requests.tickets),
        "clients": node.server.clients,
        "refused": dict(node.server.refused),
        "mishaps": node.timeline.counts[mishaps.EVENT],
        "memory": usage.memory_bytes,
        "files": list(usage.files),
        "pid": usage.pid,
        "recruit": not machine.state.counts,
        "stranger": not raft.electorate.named,
        "voters": voters(machine),
        "faults": faults(node),
        "quarantined": None if raft.ballot.member else machine.disk.quarantined,
    }


def behind(machine: "Machine") -> int | None:
    """How many entries a follower lacks on disk, by the leader's last heartbeat."""
    if machine.leader is not None:
        return 0
    if machine.raft.leader is None:
        return None
    return max(0, machine.follower.leader_last - machine.ledger.written)


def _state(node: "Node") -> str:
    machine = node.replica.machine
    if machine.follower.split is not None:
        return "split_brain"
    return "running" if machine.state.counts else "loading"


def voters(machine: "Machine") -> list[list[object]]:
    """Id and instance of each voter, by the configuration in this log; none in a stranger's."""
    configuration = machine.ledger.configurations.followed
    if configuration is None:
        return []
    return [[int(each), instance_text(instance)] for each, instance in configuration.voters]


def synchro(machine: "Machine") -> dict[str, object]:
    """The limbo: quorum, queue, and who is missing for its oldest transaction."""
    ledger, limbo = machine.ledger, machine.ledger.limbo
    queue = limbo.queue
    oldest = queue[0] if queue else None
    return {
        "quorum": machine.config.quorum,
        "unsafe": machine.config.synchro_quorum.is_unsafe_for(len(machine.config.voters)),
        "timeout": machine.config.synchro_timeout,
        "policy": machine.config.synchro_policy,
        "entries_max": machine.config.queue_entries_max,
        "bytes_max": machine.config.queue_bytes_max,
        "owner": int(limbo.owner.owner),
        "term": int(limbo.owner.term),
        "len": len(queue),
        "size": ledger.queue_bytes,
        "age": ledger.now - limbo.born if oldest else 0.0,
        "stalled": limbo.stalled(ledger.now),
        "busy": machine.leader is not None and machine.leader.stopping is not None,
        "confirm_lag": int(ledger.log.last - ledger.confirmed),
        "waiting": _waiting(machine, oldest.index) if oldest else None,
    }


def _waiting(machine: "Machine", index: Index) -> dict[str, object]:
    leader = machine.leader
    if leader is None:
        return {"index": int(index), "acks_from": [], "missing": []}
    acked = [int(machine.config.me)] if machine.ledger.written >= index else []
    acked += [int(each.peer) for each in leader.counted() if each.match >= index]
    missing = [int(each) for each in machine.config.voters if each not in acked]
    return {"index": int(index), "acks_from": sorted(acked), "missing": missing}


def election(machine: "Machine") -> dict[str, object]:
    """Term, vote, fencing, and the recent votes with the reasons of every NAY."""
    raft = machine.raft
    return {
        "state": raft.role.value,
        "term": int(raft.term),
        "vote": raft.ballot.vote,
        "leader": raft.leader,
        "timeout": machine.config.election_timeout,
        "fencing": machine.config.fencing.value,
        "fenced": raft.state.fenced,
        "tallies": [
            {
                "term": int(tally.term),
                "candidate": int(tally.candidate),
                "pre": tally.pre,
                "answers": {
                    int(voter): "AYE" if nay is None else nay.value
                    for voter, nay in tally.answers.items()
                },
            }
            for tally in raft.history
        ],
    }


def peers(node: "Node") -> list[dict[str, object]]:
    """Our connections, and what the leader knows of its followers."""
    machine = node.replica.machine
    found: list[dict[str, object]] = []
    for replica, link in node.links.links.items():
        progress = machine.peers[replica]
        leads = machine.leader is not None
        found.append(
            {
                "id": int(replica),
                "name": link.peer.name,
                "status": link.status.value,
                "epoch": link.epoch,
                "message": link.message,
                "acked": int(progress.match) if leads else None,
                "lag": int(machine.ledger.log.last - progress.match) if leads else None,
                "idle": machine.ledger.now - progress.heard_at
                if leads and progress.heard_at > 0
                else None,
                "recruit": not progress.counts if leads else None,
                "stranger": progress.membership is Membership.STRANGER if leads else None,
            }
        )
    return found


def counters(node: "Node") -> dict[str, object]:
    """Counts since the process began: requests, and what the timeline has seen."""
    counts, sums = node.timeline.counts, node.timeline.sums
    return {
        **node.requests.counters,
        "cuts": node.replica.machine.ledger.cuts,
        "lost_async": sums["cut"],
        "elections": counts["elected"],
        "step_downs": counts["stepped_down"],
        "rollbacks": counts["rollback"],
        "transactions_rolled_back": sums["rollback"],
        "disk_failures": counts["disk_failed"],
        "events_unwritten": node.timeline.unwritten,
        "rebuilds": node.folding.care.rebuilds,
        "scrubs": node.folding.care.scrubs,
        "turns": node.loop.turns,
    }


def spaces(node: "Node") -> dict[str, object]:
    """The rows on disk: whether they can be trusted, and how far they are made anew."""
    lost, care = node.replica.lost, node.folding.care
    return {
        "error": None if lost is None else str(lost),
        "replayed": None if lost is None else lost.at,
        "to_replay": None if lost is None else lost.goal,
        "rebuilds": care.rebuilds,
        "scrubs": care.scrubs,
        "compared": int(node.folding.comparing.compared),
        "differs": list(node.folding.comparing.differs),
    }


def room(node: "Node") -> dict[str, object]:
    """What is left on the disk; nothing when that cannot be asked."""
    try:
        free, total = node.reactor.effects.room(node.storage.directory.path)
    except OSError:
        return {"free": None, "total": None}
    return {"free": free, "total": total}


def parts(node: "Node") -> Mapping[str, Callable[[], object]]:
    """What INFO tells beside the status, made only when asked for."""
    return {
        "settings": lambda: settings(node),
        "events": lambda: node.timeline.latest(EVENTS_SHOWN),
    }


def settings(node: "Node") -> dict[str, object]:
    """The configuration in force, section by section, as text; `shared`: what is the cluster's."""
    shared = node.replica.settings
    found: dict[str, object] = {}
    for key, text in effective(node.config, shared).values().items():
        if not key.startswith("peers."):
            section, _, option = key.rpartition(".")
            inside = found.setdefault(section, {}) if section else found
            assert isinstance(inside, dict)
            inside[option] = text
    members = [[int(each.id), each.name, str(each.address)] for each in node.config.members]
    return found | {"peers": members, "shared": dict(shared)}


def faults(node: "Node") -> list[dict[str, object]]:
    """Fault points that are armed: the node breaks on purpose."""
    return node.requests.desk.seams.points.describe()


def lost(node: "Node") -> dict[str, object]:
    """Tails that were cut off this node and are kept in its archive.

    `count`: asynchronous transactions of them that had been shown here, so they were answered;
    `entries`: all, also what was never answered.
    """
    try:
        kept = node.tails()
    except StoreError as error:  # a disk that is gone; the rest of the status is worth telling
        return {"count": 0, "entries": 0, "tails": [], "error": str(error)}
    tails = [
        {
            "number": tail.number,
            "first": int(tail.first),
            "last": int(tail.last),
            "term": int(tail.term),
            "time": tail.time,
            "reason": tail.reason,
            "asynchronous": tail.answered,
        }
        for tail in kept
    ]
    return {
        "count": sum(tail.answered for tail in kept),
        "entries": sum(int(tail.last) - int(tail.first) + 1 for tail in kept),
        "tails": tails[-20:],
    }
