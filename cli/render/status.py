"""The table of nodes and the sentence under it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from admin.cluster import sides
from admin.cluster.surveys import (
    ClusterHealth,
    ClusterSurvey,
    ClusterVerdict,
    behind,
    peer_of,
)
from admin.cluster.troubles import has_place
from qsync.member import Standing
from qsync.status.members import FOLLOWS, SnapshotStatus
from qsync.status.record import NodeStatus

NARROW = 60
"""Below this many columns a node is one line of text."""
_COLOURS = {
    ClusterHealth.HEALTHY: "green",
    ClusterHealth.DEGRADED: "yellow",
    ClusterHealth.DOWN: "red",
}
_LEADER, _DOWN, _WARNING, _FINE = "*", "x", "!", " "


def status(
    found: ClusterSurvey, verdict: ClusterVerdict, *, width: int, plain: bool = False
) -> RenderableType:
    """The whole view at a width."""
    parts: list[RenderableType] = []
    if width < NARROW:
        parts += [Text(_one_line(found, each)) for each in found.samples]
        parts += [Text(f"{_DOWN} {each.name} {each.why}") for each in found.silent]
    else:
        parts.append(table(found, width=width, plain=plain))
    parts += [Text(line, style="dim") for line in details(found)]
    parts += [Text(line, style="dim") for line in anonymous(found)]
    parts += [Text(f"{_WARNING} {sides.sentence(each)}") for each in found.apart]
    parts.append(Text(verdict.sentence, style=f"bold {_COLOURS[verdict.health]}"))
    if verdict.health is not ClusterHealth.HEALTHY:
        parts += [Text(line) for line in advice(found)]
    return Group(*parts)


def advice(found: ClusterSurvey) -> list[str]:
    """The cure of the worst that the doctor finds, and where there is more."""
    from admin.doctor import checks  # noqa: PLC0415 - only where something is wrong
    from admin.doctor.facts import Facts  # noqa: PLC0415 - the same

    wrong = checks.wrong(checks.run(Facts(survey=found)))
    if not wrong:
        return []
    more = f" (`qsync doctor` has {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return [f"-> {wrong[0].subject}: {wrong[0].cure}{more}"]


def table(found: ClusterSurvey, *, width: int, plain: bool = False) -> Table:
    """One row a node; columns that do not fit are left out, the least telling first."""
    columns = [each for each in _COLUMNS if width >= each.from_width]
    made = Table(box=None if plain else box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for each in columns:
        made.add_column(each.title, justify=each.justify, min_width=each.min_width, no_wrap=True)
    rows: dict[int, list[str]] = {
        node.id: [escape(each.of(found, node)) for each in columns] for node in found.samples
    }
    for silent in found.silent:
        known = {"": _DOWN, "node": silent.name, "role": "silent", "address": silent.address}
        rows[silent.id] = [escape(known.get(each.title, "-")) for each in columns]
    for id in sorted(rows):
        made.add_row(*rows[id])
    return made


def details(found: ClusterSurvey) -> list[str]:
    """What the table has no room for: why nodes are silent, refuse writes, or wait."""
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
        lines += [
            f"{node.name} has the fault point {fault.point} armed; it struck {fault.struck} times"
            for fault in node.faults
        ]
        if node.stranger:
            named = has_place(found.samples, node.id)
            cure = f"member replace {node.name}" if named else f"member add {node.address}"
            lines.append(
                f"{node.name} is a stranger: the configuration does not name its directory "
                f"(`qsync {cure}`)"
            )
        if node.lost.entries:
            kept = f"keeps {node.lost.entries} entries cut from its log (`qsync info lost`)"
            lines.append(f"{node.name} {kept}")
    oldest = found.leader.synchro.queue.waiting if found.leader is not None else None
    if oldest is not None and oldest.missing:
        missing = ", ".join(each.label for each in oldest.missing)
        lines.append(f"the oldest pending transaction, index {oldest.index}, waits for {missing}")
    return lines


def anonymous(found: ClusterSurvey) -> list[str]:
    """Those that follow without being members, as the leader knows them."""
    return [
        f"{each.name} at {each.address} follows without being a member, {each.behind or 0} behind"
        if each.status == FOLLOWS
        else f"{each.name} at {each.address} followed and is gone; log is kept for it for "
        f"{seconds(each.expires)} more"
        for each in found.anonymous
    ]


@dataclass(frozen=True, slots=True)
class _Column:
    title: str
    of: Callable[[ClusterSurvey, NodeStatus], str]
    from_width: int = 0
    justify: Literal["left", "right"] = "left"
    min_width: int | None = None


def _mark(found: ClusterSurvey, node: NodeStatus) -> str:
    if found.leader is not None and node.id == found.leader.id:
        return _LEADER if not node.ro else _WARNING
    peer = peer_of(found, node.id)
    troubled = found.leader is None or (peer is not None and peer.status == "down")
    return _WARNING if troubled or node.quarantined else _FINE


def _vclock(_: ClusterSurvey, node: NodeStatus) -> str:
    return "{" + " ".join(f"{id}:{lsn}" for id, lsn in sorted(node.vclock.items())) + "}"


def _idle(found: ClusterSurvey, node: NodeStatus) -> str:
    peer = peer_of(found, node.id)
    return "-" if peer is None or peer.idle is None else seconds(peer.idle)


def _behind(found: ClusterSurvey, node: NodeStatus) -> str:
    leads = found.leader is None or found.leader.id == node.id
    return "-" if leads else str(behind(found, node))


def _upstream(found: ClusterSurvey, node: NodeStatus) -> str:
    peer = peer_of(found, node.id)
    if peer is None or peer.snapshot is None:
        return "-" if peer is None else peer.status
    return f"snapshot {peer.snapshot.share:.0%}"


def snapshot_words(found: SnapshotStatus) -> str:
    """How far a snapshot is: `chunk 3 of 12, 3.0 of 11.4 MiB`."""
    mib = 1 << 20
    if not found.chunks_in_all:
        return f"chunk {found.chunks}, {found.bytes / mib:.1f} MiB so far"
    return (
        f"chunk {found.chunks} of {found.chunks_in_all}, "
        f"{found.bytes / mib:.1f} of {found.bytes_in_all / mib:.1f} MiB"
    )


def _fsync(_: ClusterSurvey, node: NodeStatus) -> str:
    usual = node.disk.usual_s
    return "-" if usual is None else seconds(usual)


_COLUMNS = (
    _Column("", _mark),
    _Column("node", lambda _, node: node.name),
    _Column("role", lambda _, node: node.part),
    _Column("rw", lambda _, node: "ro" if node.ro else "rw"),
    _Column("term", lambda _, node: str(node.term), justify="right"),
    _Column("confirmed", lambda _, node: str(node.confirmed), justify="right"),
    _Column("lag", _behind, justify="right"),
    _Column("limbo", lambda _, node: str(node.synchro.queue.len), justify="right"),
    _Column("idle", _idle, from_width=76, justify="right", min_width=5),
    _Column("peer", _upstream, from_width=76),
    _Column("vclock", _vclock, from_width=100),
    _Column("fsync", _fsync, from_width=100, justify="right", min_width=5),
    _Column("address", lambda _, node: node.address, from_width=116),
)


_UNITS = ((1e-3, 1e6, "us"), (1, 1e3, "ms"), (100, 1, "s"), (6e3, 1 / 60, "m"))


def seconds(value: float) -> str:
    """A duration in at most five characters: `12ms`, `2.4s`, `3m`."""
    for below, factor, unit in _UNITS:
        if value < below:
            return f"{value * factor:.1f}{unit}" if unit == "s" else f"{value * factor:.0f}{unit}"
    return f"{value / 3600:.0f}h"


def _one_line(found: ClusterSurvey, node: NodeStatus) -> str:
    access = "ro" if node.ro else "rw"
    return f"{_mark(found, node)} {node.name} {node.role} {access} t{node.term} c{node.confirmed}"


def _odd_reasons(node: NodeStatus) -> list[str]:
    """Reasons other than the ordinary one of a follower."""
    if node.standing == Standing.ANONYMOUS:
        return []  # it is meant to be
    if not node.ro or (node.role == "follower" and node.ro_reason == "election" and node.leader):
        return []
    return node.ro_texts or ([node.ro_reason] if node.ro_reason else [])


def _short(why: str) -> str:
    return why.rpartition(": ")[2] or why
