"""`box.info` of a node: the field's names and shapes, every part made only when it is asked for.

It never fails as a whole: a part that cannot be told says so, as `{"error": ...}`.
"""

import platform
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from election.messages import Index, Replica
from qsync import __version__
from qsync.core.progress import Membership
from qsync.node import view
from qsync.node.links import LinkStatus

if TYPE_CHECKING:
    from qsync.core.machine import Machine
    from qsync.core.progress import Progress
    from qsync.node.node import Node

SCHEMA: Final = "qsync/info/1"
STUCK_S: Final = 1.0
"""A write to the log that takes longer makes a node unhealthy."""


def parts(node: "Node") -> Mapping[str, Callable[[], object]]:
    """The members of `box.info` by name; the empty name is all of it."""
    found = {name: partial(_guarded, make, node) for name, make in _PARTS.items()}
    return {"": lambda: {"schema": SCHEMA} | {name: make() for name, make in found.items()}} | found


def _guarded(make: Callable[["Node"], object], node: "Node") -> object:
    try:
        return make(node)
    except Exception as error:  # noqa: BLE001 - one part that fails must not hide the others
        return {"error": f"{type(error).__name__}: {error}"}


# -- one node among the others


def replication(node: "Node") -> dict[int, object]:
    """Every member as this node sees it; itself without upstream and downstream."""
    return {int(peer.id): _member(node, int(peer.id)) for peer in node.config.members}


def _member(node: "Node", replica: int) -> dict[str, object]:
    machine = node.replica.machine
    me = replica == node.config.node.id
    found: dict[str, object] = {
        "id": replica,
        "uuid": node.identity.instance if me else node.server.instance_of(replica),
        "name": node.name_of(replica),
        "lsn": int(machine.ledger.log.lsn_of(replica)),
    }
    if me:
        return found
    found["upstream"] = _upstream(node, replica)
    if machine.leader is not None:
        found["downstream"] = _downstream(node, machine.peers[Replica(replica)])
    return found


def _upstream(node: "Node", replica: int) -> dict[str, object]:
    """What comes from that member: only the leader sends entries."""
    machine, ledger = node.replica.machine, node.replica.machine.ledger
    leads = machine.raft.leader == replica
    split = machine.follower.split
    if not node.server.hears(replica):
        status, message = "disconnected", "it has no connection to this node"
    elif leads and split is not None:
        status, message = "stopped", str(split)
    elif leads:
        status, message = ("follow" if machine.state.counts else "sync"), None
    else:
        status, message = "ready", None
    behind = ledger.visible < ledger.log.last
    return {
        "status": status,
        "idle": node.leader_idle() if leads else None,
        "lag": _age(node, Index(ledger.visible + 1)) if leads and behind else 0.0,
        "peer": node.address_of(replica),
        "message": message,
        "behind": view.behind(machine) if leads else None,
    }


def _downstream(node: "Node", progress: "Progress") -> dict[str, object]:
    """What this leader knows of a follower."""
    ledger = node.replica.machine.ledger
    link = node.links.links[progress.peer]
    follows = link.status is LinkStatus.UP
    caught_up = progress.match >= ledger.log.last
    heard = ledger.now - progress.heard_at
    return {
        "status": "follow" if follows else "stopped",
        "idle": heard if heard < node.uptime() else None,
        "lag": 0.0 if caught_up else _age(node, Index(progress.match + 1)),
        "vclock": _vclock_at(node, progress.match),
        "message": None if follows else link.message or link.status.value,
        "acked": int(progress.match),
        "behind": int(ledger.log.last - progress.match),
        "counts": progress.counts,
    }


def _age(node: "Node", index: Index) -> float:
    """Seconds since that entry was made, by the leader's clock and ours."""
    found = node.replica.machine.ledger.entries(index, index)
    return max(0.0, node.loop.timers.wall() - found[0].time) if found else 0.0


def _vclock_at(node: "Node", index: int) -> dict[int, int]:
    """Of every origin the last lsn at or below an index."""
    log, at = node.replica.machine.ledger.log, index
    origins = set(log.vclock())
    found: dict[int, int] = {}
    while at and len(found) < len(origins):
        run = log.run_at(at)
        found.setdefault(int(run.origin), int(run.first_lsn) + at - run.first)
        at = run.first - 1
    return dict(sorted(found.items()))


# -- the limbo


def synchro(node: "Node") -> dict[str, object]:
    """Quorum and queue, and for the oldest pending transaction whose acks are missing."""
    machine = node.replica.machine
    config, said = machine.config, view.synchro(machine)
    queue = {name: said[name] for name in ("len", "size", "owner", "term", "age", "busy")}
    queue["confirm_lag"] = node.requests.tickets.waited
    queue["waiting"] = waiting(node)
    return {
        "quorum": config.quorum,
        "quorum_expression": str(config.synchro_quorum),
        "timeout": config.synchro_timeout,
        "policy": str(config.synchro_policy),
        "queue": queue,
    }


def waiting(node: "Node") -> dict[str, object] | None:
    """The oldest pending transaction: since when, how many acks, and who lacks it and why."""
    machine = node.replica.machine
    ledger, leader = machine.ledger, machine.leader
    if not ledger.limbo.queue:
        return None
    oldest = ledger.limbo.queue[0]
    found: dict[str, object] = {
        "index": int(oldest.index),
        "term": int(oldest.term),
        "lsn": int(oldest.lsn),
        "origin": int(oldest.origin),
        "since": oldest.time,
        "age": ledger.now - ledger.limbo.born,
        "quorum": machine.config.quorum,
    }
    if leader is None:
        return found | {"acks": None, "acked_by": [], "missing": []}
    acked = [each.peer for each in leader.counted() if each.match >= oldest.index]
    names = [node.name_of(each) for each in acked]
    if ledger.written >= oldest.index:
        names.insert(0, node.config.node.name)
    lacking = [_lacking(node, each) for each in leader.followers.values() if each.peer not in acked]
    if ledger.written < oldest.index:
        lacking.insert(0, _slow_disk(node))
    return found | {"acks": len(names), "acked_by": names, "missing": lacking}


def _lacking(node: "Node", progress: "Progress") -> dict[str, object]:
    ledger = node.replica.machine.ledger
    link = node.links.links[progress.peer]
    heard = ledger.now - progress.heard_at
    if link.status is not LinkStatus.UP:
        why = f"no connection: {link.message or link.status.value}"
    elif progress.membership is Membership.STRANGER:
        why = "it is a stranger: the configuration does not name its directory"
    elif progress.membership is Membership.RECRUIT:
        why = "it has not caught up since its log was damaged, so its acks do not count"
    elif progress.probing:
        why = "it is being asked where its log agrees"
    else:
        why = f"it has acked up to {progress.match}"
    return {
        "id": int(progress.peer),
        "name": node.name_of(progress.peer),
        "acked": int(progress.match),
        "behind": int(ledger.log.last - progress.match),
        "idle": heard if heard < node.uptime() else None,
        "why": why,
    }


def _slow_disk(node: "Node") -> dict[str, object]:
    ledger = node.replica.machine.ledger
    return {
        "id": node.config.node.id,
        "name": node.config.node.name,
        "acked": int(ledger.written),
        "behind": int(ledger.log.last - ledger.written),
        "idle": 0.0,
        "why": node.replica.machine.disk.error or "its own log is not durable that far yet",
    }


# -- the rest


def election(node: "Node") -> dict[str, object]:
    """Role, term, vote and leader, and what is known of recent votes."""
    leader = node.replica.machine.raft.leader
    told = view.election(node.replica.machine)
    return told | {
        "leader": int(leader or 0),
        "leader_name": node.name_of(leader),
        "leader_idle": node.leader_idle(),
    }


def memory(node: "Node") -> dict[str, object]:
    """Bytes, and rows that wait in memory to be folded."""
    ledger = node.replica.machine.ledger
    return {
        "rss": node.reactor.effects.usage().memory_bytes,
        "tx": ledger.queue_bytes,
        "overlay_rows": node.replica.raw.overlay_rows,
        "net": node.reactor.unsent,
        "data": node.storage.spaces.bytes_used(),
        "log": node.storage.log.bytes_used(),
    }


def gc(node: "Node") -> dict[str, object]:
    """What of the log is still needed, and how far the spaces on disk are."""
    folded = int(node.replica.raw.folded)
    return {
        "vclock": _vclock_at(node, folded),
        "signature": folded,
        "checkpoint_is_in_progress": node.folding.hurried,
        "is_paused": False,
        "checkpoints": [{"signature": folded, "vclock": _vclock_at(node, folded)}],
        "consumers": [
            {"name": node.name_of(each.peer), "signature": int(each.match)}
            for each in node.replica.machine.peers.values()
            if node.replica.machine.leader is not None
        ],
    }


def health(node: "Node") -> dict[str, object]:
    """Checks of a live and a ready node, each with what is wrong if it fails."""
    machine = node.replica.machine
    disk = node.disk()["error"]
    leader, stuck = machine.raft.leader, machine.disk.stuck
    checks = {
        "box": None if status(node) == "running" else f"status is {status(node)}",
        "disk": disk,
        "spaces": _rows(node),
        "writer": f"a write takes {stuck:.1f} s already" if stuck > STUCK_S else None,
        "leader": None if leader else f"nobody leads in term {machine.term}",
    }
    return {
        "alive": checks["writer"] is None,
        "ready": all(why is None for why in checks.values()),
        "checks": {name: {"ok": why is None, "why": why} for name, why in checks.items()},
    }


def _rows(node: "Node") -> str | None:
    """What is wrong with the rows on disk."""
    found = node.folding.comparing
    if node.replica.lost is not None:
        return str(node.replica.lost)
    if found.differs:
        return f"{', '.join(found.differs)} differs from the leader's at {found.compared}"
    return None


def reason(node: "Node") -> str | None:
    """The weightiest reason for being read-only, in one word; `ro_reasons` has all of them."""
    reasons = node.replica.machine.reasons()
    return reasons[0].why.value if reasons else None


def reasons(node: "Node") -> list[object]:
    """Every reason: its name, the numbers behind it, and what lifts it."""
    name = node.config.node.name
    return [
        {"why": each.why.value, "text": each.text, "lifts": each.lifts, "node": name}
        for each in node.replica.machine.reasons()
    ]


def status(node: "Node") -> str:
    """`running`, `loading` (it does not count: a stranger, or damaged) or `split_brain`."""
    return standing(node.replica.machine)


def standing(machine: "Machine") -> str:
    """The same of a machine without a node around it."""
    if machine.follower.split is not None:
        return "split_brain"
    return "running" if machine.state.counts else "loading"


def _pid(node: "Node") -> int:
    return node.reactor.effects.usage().pid


def _vclock(node: "Node") -> dict[int, int]:
    return {int(o): int(lsn) for o, lsn in node.replica.machine.ledger.log.vclock().items()}


_PARTS: Final[Mapping[str, Callable[["Node"], object]]] = {
    "id": lambda node: int(node.config.node.id),
    "uuid": lambda node: node.identity.instance,
    "name": lambda node: node.config.node.name,
    "lsn": lambda node: int(node.replica.machine.ledger.log.lsn_of(node.config.node.id)),
    "signature": lambda node: int(node.replica.machine.ledger.log.last),
    "vclock": _vclock,
    "ro": lambda node: bool(node.replica.machine.reasons()),
    "ro_reason": reason,
    "ro_reasons": reasons,
    "status": status,
    "uptime": lambda node: node.uptime(),
    "version": lambda _: __version__,
    "package": lambda _: "qsync",
    "hostname": lambda _: platform.node(),
    "pid": _pid,
    "listen": lambda node: node.address,
    "cluster": lambda node: {"name": node.config.cluster.name, "tag": node.config.cluster.tag},
    "replicaset": lambda node: {
        "uuid": node.identity.cluster,
        "name": node.config.cluster.name,
    },
    "replication": replication,
    "replication_anon": lambda _: {"count": 0},
    "election": election,
    "synchro": synchro,
    "memory": memory,
    "gc": gc,
    "lost": view.lost,
    "faults": view.faults,
    "health": health,
}
