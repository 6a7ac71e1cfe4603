"""What a node keeps, in its status: disk, stored rows, memory, cut tails, armed fault points."""

import msgspec

from qsync.node.member_status import vclock_at
from qsync.node.view import NodeView
from qsync.status.storage import (
    CheckpointStatus,
    ConsumerStatus,
    CutTail,
    DiskStatus,
    FaultStatus,
    GcStatus,
    LostStatus,
    MemoryStatus,
    SpacesStatus,
)

TAILS_SHOWN = 20
"""How many of the newest tails an answer holds."""


def disk(node: NodeView) -> DiskStatus:
    """How the log is written, and whether that goes well."""
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


def _disk_error(node: NodeView) -> str | None:
    """What is wrong with writing the log, with its place, or with the spaces."""
    return node.replica.machine.disk.error or node.storage.gone or node.folding.error


def _room(node: NodeView) -> tuple[int | None, int | None]:
    """What is left on the disk; nothing when that cannot be asked."""
    try:
        return node.reactor.effects.room(node.storage.directory.path)
    except OSError:
        return None, None


def spaces(node: NodeView) -> SpacesStatus:
    """The rows on disk: whether they can be trusted, and how far they are made anew."""
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
    """Bytes, and rows that wait in memory to be folded."""
    return MemoryStatus(
        rss=node.reactor.effects.usage().memory_bytes,
        tx=node.replica.machine.ledger.queue_bytes,
        overlay_rows=node.replica.raw.overlay_rows,
        net=node.reactor.unsent,
        data=node.storage.spaces.bytes_used(),
        log=node.storage.log.bytes_used(),
    )


def gc(node: NodeView) -> GcStatus:
    """What of the log is still needed, and how far the spaces on disk are."""
    folded, machine = int(node.replica.raw.folded), node.replica.machine
    vclock = vclock_at(node, folded)
    followers = machine.peers.values() if machine.leader is not None else ()
    return GcStatus(
        vclock=vclock,
        signature=folded,
        checkpoint_is_in_progress=node.folding.hurried,
        checkpoints=(CheckpointStatus(signature=folded, vclock=vclock),),
        consumers=tuple(
            ConsumerStatus(name=node.name_of(each.peer), signature=each.match) for each in followers
        ),
    )


def lost(node: NodeView) -> LostStatus:
    """Tails that were cut off this node and are kept in its archive.

    Raises StoreError when the archive cannot be read.
    """
    kept = node.tails()
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
    """Fault points that are armed: the node breaks on purpose."""
    armed = node.fault_points.describe()
    return tuple(msgspec.convert(each, FaultStatus) for each in armed)
