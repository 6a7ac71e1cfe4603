"""Fills the record of a node's status, every part of it from the same moment."""

import platform
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from qsync.node import limbo_status, member_status, mishaps, storage_status
from qsync.node.view import NodeView
from qsync.record import instance_text
from qsync.status import health
from qsync.status.limbo import SynchroStatus
from qsync.status.members import ElectionStatus
from qsync.status.record import ClusterName, NodeStatus, ReadOnlyInfo, ReplicaSet
from qsync.status.storage import GcStatus, LostStatus, MemoryStatus
from qsync.version import __version__

if TYPE_CHECKING:
    from qsync.core.machine import Machine

T = TypeVar("T")


def status(node: NodeView) -> NodeStatus:
    """The record. Never fails as a whole: what cannot be told is in its `errors`."""
    machine, config, identity = node.replica.machine, node.config, node.identity
    ledger, raft, log = machine.ledger, machine.raft, machine.ledger.log
    usage, reasons = node.reactor.effects.usage(), machine.reasons()
    parts = _Parts(node)
    found = NodeStatus(
        id=config.node.id,
        uuid=identity.instance,
        name=config.node.name,
        lsn=log.lsn_of(config.node.id),
        signature=log.last,
        vclock={int(origin): int(lsn) for origin, lsn in log.vclock().items()},
        ro=bool(reasons),
        ro_reason=reasons[0].why.value if reasons else None,
        ro_reasons=_reasons(node),
        status=state(machine),
        uptime=node.uptime(),
        version=__version__,
        package="qsync",
        hostname=platform.node(),
        pid=usage.pid,
        listen=node.address,
        cluster=ClusterName(name=config.cluster.name, tag=config.cluster.tag),
        replicaset=ReplicaSet(uuid=identity.cluster, name=config.cluster.name),
        replication=parts.or_error("replication", member_status.replication, {}),
        election=parts.or_error("election", member_status.election, ElectionStatus()),
        synchro=parts.or_error("synchro", limbo_status.of_node, SynchroStatus()),
        memory=parts.or_error("memory", storage_status.memory, MemoryStatus()),
        gc=parts.or_error("gc", storage_status.gc, GcStatus()),
        lost=parts.or_error("lost", storage_status.lost, LostStatus()),
        faults=storage_status.faults(node),
        time=node.loop.timers.wall(),
        mode=machine.config.mode.value,
        leader_address=node.address_of(raft.leader),
        behind=member_status.behind(machine),
        crc=log.crc_at(log.last),
        written=ledger.written,
        confirmed=ledger.confirmed,
        visible=ledger.visible,
        folded=node.replica.raw.folded,
        nodes=_nodes(node),
        peers=parts.or_error("peers", member_status.peers, ()),
        disk=storage_status.disk(node),
        spaces=storage_status.spaces(node),
        latency=node.requests.tickets.latency.spread(),
        counters=_counters(node),
        refused=dict(node.server.refused),
        mishaps=node.timeline.counts[mishaps.EVENT],
        events=node.timeline.counts.total(),
        waiters=len(node.requests.tickets),
        clients=node.server.clients,
        files=tuple(usage.files),
        recruit=not machine.state.counts,
        stranger=not raft.electorate.named,
        voters=_voters(machine),
        quarantined=None if raft.ballot.member else machine.disk.quarantined,
        errors=parts.errors,
    )
    return msgspec.structs.replace(found, health=health.judge(found))


class _Parts:
    """Parts of the record; one that fails must not hide the others."""

    def __init__(self, node: NodeView) -> None:
        self.errors: dict[str, str] = {}
        self._node = node

    def or_error(self, name: str, make: Callable[[NodeView], T], without: T) -> T:
        """What `make` gives; `without` if it fails, and then `errors` says why."""
        try:
            return make(self._node)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told
            self.errors[name] = f"{type(error).__name__}: {error}"
            return without


def state(machine: "Machine") -> str:
    """`running`, `loading` (it does not count: a stranger, or damaged) or `split_brain`."""
    if machine.follower.split is not None:
        return "split_brain"
    return "running" if machine.state.counts else "loading"


def _reasons(node: NodeView) -> tuple[ReadOnlyInfo, ...]:
    return tuple(
        ReadOnlyInfo(
            why=each.why.value, text=each.text, lifts=each.lifts, node=node.config.node.name
        )
        for each in node.replica.machine.reasons()
    )


def _nodes(node: NodeView) -> tuple[tuple[int, str, str], ...]:
    return tuple((peer.id, peer.name, node.address_of(peer.id) or "") for peer in node.config.peers)


def _voters(machine: "Machine") -> tuple[tuple[int, str], ...]:
    """By the configuration in this log; none in a stranger's."""
    configuration = machine.ledger.configurations.followed
    if configuration is None:
        return ()
    return tuple((int(each), instance_text(instance)) for each, instance in configuration.voters)


def _counters(node: NodeView) -> dict[str, int]:
    """Since the process began: requests, and what the timeline has seen."""
    counts, sums = node.timeline.counts, node.timeline.sums
    return {
        **node.requests.counters,
        "reads": node.requests.reads.count,
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
