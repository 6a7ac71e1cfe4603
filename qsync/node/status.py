"""Fills the record of a node's status, all its parts at the same moment."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from qsync import features, upgrading
from qsync.core.writable import Reason
from qsync.member import MemberRole, Standing
from qsync.node import limbo_status, member_status, mishaps, outside, retention_status
from qsync.node.tls import tls_status
from qsync.node.view import NodeView
from qsync.record import instance_text
from qsync.status import health
from qsync.status.limbo import SynchroStatus
from qsync.status.members import ElectionStatus
from qsync.status.record import AnonymousReplicas, ClusterName, NodeStatus, ReadOnlyInfo, ReplicaSet
from qsync.status.storage import (
    CutTail,
    DiskStatus,
    FaultStatus,
    GcStatus,
    LostStatus,
    MemoryStatus,
    SpacesStatus,
)
from qsync.status.upgrade import UpgradeStatus
from qsync.version import __version__
from qsync.wire import limits

if TYPE_CHECKING:
    from qsync.core.machine import Machine


TAILS_SHOWN = 20
"""How many of the newest tails an answer holds."""


def disk(node: NodeView) -> DiskStatus:
    """Return how the log is written, and whether that works."""
    writer = node.loop.writer
    free, total = _room(node)
    return DiskStatus(
        writer=writer.mode.value,
        fsync_us=round(node.storage.probe_s * 1e6),
        write_us=round(writer.choice.median_s * 1e6),
        write_us_max=round(writer.choice.slowest_s * 1e6),
        writes=writer.times.spread(),
        stalled=writer.busy_since is not None,
        busy_s=writer.busy_s,
        error=_disk_error(node),
        free=free,
        total=total,
    )


def upgrade(node: NodeView) -> UpgradeStatus:
    """Return protocol, directory format and features, and which nodes delay a feature."""
    machine = node.replica.machine
    here, knows = features.enabled(node.replica.settings), machine.config.features
    leads, new = machine.leader is not None, knows - here
    return UpgradeStatus(
        protocol=limits.VERSIONS,
        format=node.storage.directory.format,
        features=tuple(sorted(here)),
        knows=tuple(sorted(knows)),
        waits=tuple(upgrading.lacking(machine, new)) if leads else (),
        unheard=tuple(upgrading.unheard(machine)) if leads and features.due(knows, here) else (),
    )


def _disk_error(node: NodeView) -> str | None:
    """Return the error of writing the log, with its place, or of the spaces."""
    failed = node.folding.error
    written = node.replica.machine.disk.error or node.storage.gone
    return str(failed) if not written and failed is not None else written


def _room(node: NodeView) -> tuple[int | None, int | None]:
    """Return the free room of the disk; nothing when the disk cannot say."""
    try:
        return node.reactor.effects.room(node.storage.directory.path)
    except OSError:
        return None, None


def spaces(node: NodeView) -> SpacesStatus:
    """Return the state of the rows on disk: trusted or not, and how far they are remade."""
    lost, care, comparing = node.replica.lost, node.folding.care, node.folding.comparing
    return SpacesStatus(
        error=None if lost is None else str(lost),
        replayed=None if lost is None else lost.at,
        to_replay=None if lost is None else lost.goal,
        rebuilds=care.rebuilds,
        scrubs=care.scrubs,
        compared=comparing.compared,
        differs=tuple(comparing.differs),
    )


def memory(node: NodeView) -> MemoryStatus:
    """Return the bytes in memory, and the rows that wait there to be folded."""
    return MemoryStatus(
        rss=node.reactor.effects.usage().memory_bytes,
        tx=node.replica.machine.replicated_log.queue_bytes,
        overlay_rows=node.replica.raw.overlay_rows,
        net=node.reactor.unsent,
        data=node.storage.spaces.bytes_used(),
        log=node.storage.log.bytes_used(),
    )


def lost(node: NodeView) -> LostStatus:
    """Return the tails that were cut off this node and are kept in its archive.

    Raises StoreError when the archive cannot be read.
    """
    kept = node.storage.log.archived()
    return LostStatus(
        count=sum(tail.answered for tail in kept),
        entries=sum(int(tail.last) - int(tail.first) + 1 for tail in kept),
        tails=tuple(
            CutTail(
                number=tail.number,
                first=tail.first,
                last=tail.last,
                term=tail.term,
                time=tail.time,
                reason=tail.reason,
                asynchronous=tail.answered,
            )
            for tail in kept[-TAILS_SHOWN:]
        ),
    )


def faults(node: NodeView) -> tuple[FaultStatus, ...]:
    """Return the fault points that are armed."""
    armed = node.fault_points.describe()
    return tuple(msgspec.convert(each, FaultStatus) for each in armed)


T = TypeVar("T")


def status(node: NodeView) -> NodeStatus:
    """Return the record. It never fails as a whole: parts that fail are named in its `errors`."""
    machine, config, identity = node.replica.machine, node.config, node.identity
    replicated_log, raft, log = machine.replicated_log, machine.raft, machine.replicated_log.log
    usage, reasons = node.reactor.effects.usage(), outside.reasons_of(node)
    parts, members = _Parts(node), _members(machine)
    standing = outside.standing_of(node)
    found = NodeStatus(
        id=config.node.id,
        uuid=identity.instance,
        name=config.node.name,
        lsn=log.lsn_of(config.node.id),
        signature=log.last,
        vclock={int(origin): int(lsn) for origin, lsn in log.vclock().items()},
        ro=bool(reasons),
        ro_reason=reasons[0].why.value if reasons else None,
        ro_reasons=_reasons(node, reasons),
        status=_state(node),
        uptime=node.uptime(),
        version=__version__,
        upgrade=upgrade(node),
        package="qsync",
        form=usage.form,
        hostname=usage.hostname,
        pid=usage.pid,
        listen=node.address,
        cluster=ClusterName(name=config.cluster.name, tag=config.cluster.tag),
        replicaset=ReplicaSet(uuid=identity.cluster, name=config.cluster.name),
        replication=parts.or_error("replication", member_status.replication, {}),
        replication_anon=parts.or_error(
            "replication_anon", member_status.anonymous, AnonymousReplicas()
        ),
        election=parts.or_error("election", member_status.election, ElectionStatus()),
        synchro=parts.or_error("synchro", limbo_status.of_node, SynchroStatus()),
        memory=parts.or_error("memory", memory, MemoryStatus()),
        gc=parts.or_error("gc", retention_status.gc, GcStatus()),
        lost=parts.or_error("lost", lost, LostStatus()),
        faults=faults(node),
        time=node.loop.timers.wall(),
        mode=machine.config.mode.value,
        leader_address=node.book.address_of(raft.leader),
        behind=member_status.behind(machine),
        crc=log.crc_at(log.last),
        written=replicated_log.written,
        confirmed=replicated_log.confirmed,
        visible=replicated_log.visible,
        folded=node.replica.raw.folded,
        nodes=_nodes(node),
        peers=parts.or_error("peers", member_status.peers, ()),
        disk=disk(node),
        spaces=spaces(node),
        latency=node.requests.tickets.latency.spread(),
        counters=_counters(node),
        refused=dict(node.server.refused),
        mishaps=node.timeline.counts[mishaps.EVENT],
        events=node.timeline.counts.total(),
        waiters=len(node.requests.tickets),
        clients=node.server.room.count,
        files=tuple(usage.files),
        recruit=is_recruit(machine),
        stranger=standing is Standing.STRANGER,
        voters=tuple(each[:2] for each in members if each[2] == MemberRole.VOTER),
        members=members,
        standing=standing.value,
        quarantined=None if raft.ballot.member else machine.disk.quarantined,
        old_copy=_old_copy(node, standing),
        tls=tls_status(node.links.tls),
        errors=parts.errors,
    )
    return msgspec.structs.replace(found, health=health.judge(found))


class _Parts:
    """Makes parts of the record, so that one that fails does not hide the others."""

    def __init__(self, node: NodeView) -> None:
        self.errors: dict[str, str] = {}
        self._node = node

    def or_error(self, name: str, make: Callable[[NodeView], T], without: T) -> T:
        """Return what `make` gives; `without` if it fails, with the reason in `errors`."""
        try:
            return make(self._node)
        except Exception as error:  # noqa: BLE001 - the record says which
            self.errors[name] = f"{type(error).__name__}: {error}"
            return without


def state(machine: "Machine") -> str:
    """Return `running`, `loading` (it does not count: a stranger, or damaged), or what is wrong."""
    if machine.disk.superseded is not None:
        return "superseded"
    if machine.follower.split is not None:
        return "split_brain"
    return "loading" if is_recruit(machine) else "running"


def _state(node: NodeView) -> str:
    is_old = node.storage.lives.is_old(node.identity.instance)
    return "old_copy" if is_old else state(node.replica.machine)


def _old_copy(node: NodeView, standing: Standing) -> str | None:
    lives = node.storage.lives
    counts = standing is Standing.VOTER and not lives.is_old(node.identity.instance)
    return None if counts else lives.why or None


def is_recruit(machine: "Machine") -> bool:
    """Return whether it is to count in quorums and does not yet; no learner, none removed."""
    standing = machine.operations.changes.standing
    return not machine.state.counts and standing not in {
        Standing.LEARNER,
        Standing.ANONYMOUS,
        Standing.REMOVED,
    }


def _reasons(node: NodeView, reasons: Iterable[Reason]) -> tuple[ReadOnlyInfo, ...]:
    return tuple(
        ReadOnlyInfo(
            why=each.why.value, text=each.text, lifts=each.lifts, node=node.config.node.name
        )
        for each in reasons
    )


def _nodes(node: NodeView) -> tuple[tuple[int, str, str], ...]:
    return tuple(
        (peer.id, peer.name, node.book.address_of(peer.id) or "") for peer in node.book.members
    )


def _members(machine: "Machine") -> tuple[tuple[int, str, str], ...]:
    """Return the members by the configuration in this log; none for a stranger."""
    configuration = machine.replicated_log.configurations.followed
    if configuration is None:
        return ()
    return tuple(
        (int(each.replica), instance_text(each.instance), each.role.value)
        for each in configuration.members
    )


def _counters(node: NodeView) -> dict[str, int]:
    """Return the counters since the process began: requests, and events of the timeline."""
    counts, sums = node.timeline.counts, node.timeline.sums
    return {
        **node.requests.counters,
        "reads": node.requests.reads.count,
        "cuts": node.replica.machine.replicated_log.cuts,
        "lost_async": sums["cut"],
        "elections": counts["elected"],
        "step_downs": counts["stepped_down"],
        "rollbacks": counts["rollback"],
        "transactions_rolled_back": sums["rollback"],
        "disk_failures": counts["disk_failed"],
        "consumers_let_go": counts["consumer_let_go"],
        "events_unwritten": node.timeline.unwritten,
        "audit_unwritten": node.requests.queries.audit.unwritten,
        "audit_cuts": counts["audit_cut"],
        "snapshots_sent": counts["snapshot_sent"],
        "snapshots_installed": counts["snapshot_installed"],
        "rebuilds": node.folding.care.rebuilds,
        "scrubs": node.folding.care.scrubs,
        "turns": node.loop.turns,
    }
