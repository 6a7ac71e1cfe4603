"""Remarks under the table of nodes: why nodes are silent, refuse writes, or wait."""

from admin.cluster import sides
from admin.cluster.short import seconds
from admin.cluster.surveys import ClusterSurvey
from admin.cluster.troubles import has_place, is_named
from qsync.member import Standing
from qsync.status.members import FOLLOWS, SnapshotStatus
from qsync.status.record import NodeStatus
from qsync.units import how_many


def advice(found: ClusterSurvey) -> list[str]:
    """The fix of the doctor's worst finding, and where to see the others."""
    from admin.doctor import checks  # noqa: PLC0415 - only where something is wrong
    from admin.doctor.facts import Facts  # noqa: PLC0415 - the same

    wrong = checks.wrong(checks.run(Facts(survey=found)))
    if not wrong:
        return []
    more = f" (`qsync doctor` has {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return [f"-> {wrong[0].subject}: {wrong[0].fix}{more}"]


def details(found: ClusterSurvey) -> list[str]:
    """Remarks below the table: why nodes do not answer, refuse writes, or wait."""
    lines = [f"{each.name} {each.address} is silent: {_short(each.why)}" for each in found.silent]
    for node in found.samples:
        if sides.is_superseded(node):
            continue  # the sentence says it
        if node.standing == Standing.REMOVED:
            lines.append(f"{node.name} was removed from the cluster; it may be stopped")
            continue
        lines += [f"{node.name} is read-only: {reason}" for reason in _odd_reasons(node)]
        lines += [
            f"{node.name} sees {peer.name} as {peer.status}: {peer.message}"
            for peer in node.peers
            if peer.message and node.leads
        ]
        lines += [
            f"{node.name} sends {peer.name} a snapshot: {snapshot_words(peer.snapshot)}"
            for peer in node.peers
            if peer.snapshot is not None
        ]
        lines += reading(node)
        lines += [
            f"{node.name} has the fault point {fault.point} armed; it struck "
            f"{how_many(fault.struck, 'time')}"
            for fault in node.faults
        ]
        if node.stranger and is_named(found.samples, node):
            lines.append(f"{node.name} is a member, and has not received the log yet")
        elif node.stranger:
            named = has_place(found.samples, node.id)
            fix = f"member replace {node.name}" if named else f"member add {node.address}"
            lines.append(
                f"{node.name} is a stranger: the configuration does not name its directory "
                f"(`qsync {fix}`)"
            )
        if node.lost.entries:
            kept = how_many(node.lost.entries, "entry")
            lines.append(f"{node.name} keeps {kept} cut from its log (`qsync info lost`)")
    oldest = found.leader.synchro.queue.waiting if found.leader is not None else None
    if oldest is not None and oldest.missing:
        missing = ", ".join(each.label for each in oldest.missing)
        lines.append(f"the oldest pending transaction, index {oldest.index}, waits for {missing}")
    return lines


def anonymous(found: ClusterSurvey) -> list[str]:
    """The anonymous replicas, as the leader knows them."""
    return [
        f"{each.name} at {each.address} follows without being a member, {each.behind or 0} behind"
        if each.status == FOLLOWS
        else f"{each.name} at {each.address} followed and is gone; log is kept for it for "
        f"{seconds(each.expires)} more"
        for each in found.anonymous
    ]


def reading(node: NodeStatus) -> list[str]:
    """The readers of that node's snapshots, such as a backup, and their progress."""
    return [
        f"{node.name} gives its snapshot at {each.signature} to a backup on {each.address}: "
        f"{each.share:.0%} of {each.bytes_in_all / (1 << 20):.1f} MiB"
        for each in node.gc.readers
    ]


def snapshot_words(found: SnapshotStatus) -> str:
    """The progress of a snapshot: `chunk 3 of 12, 3.0 of 11.4 MiB`."""
    mib = 1 << 20
    if not found.chunks_in_all:
        return f"chunk {found.chunks}, {found.bytes / mib:.1f} MiB so far"
    return (
        f"chunk {found.chunks} of {found.chunks_in_all}, "
        f"{found.bytes / mib:.1f} of {found.bytes_in_all / mib:.1f} MiB"
    )


def _odd_reasons(node: NodeStatus) -> list[str]:
    """Reasons other than the ordinary one of a follower."""
    if node.standing == Standing.ANONYMOUS:
        return []  # it is meant to be
    if not node.ro or (node.role == "follower" and node.ro_reason == "election" and node.leader):
        return []
    return node.ro_texts or ([node.ro_reason] if node.ro_reason else [])


def _short(why: str) -> str:
    return why.rpartition(": ")[2] or why
