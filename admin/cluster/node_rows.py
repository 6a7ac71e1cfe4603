"""The table of nodes as text: its columns, and the cell of a node in each."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from admin.cluster.lag import behind, is_to_follow
from admin.cluster.short import seconds, vclock
from admin.cluster.surveys import ClusterSurvey, peer_of
from qsync.status.record import NodeStatus


class NodeMark(StrEnum):
    """The mark before a node's name."""

    LEADER = "*"
    DOWN = "x"
    WARNING = "!"
    FINE = " "


@dataclass(frozen=True, slots=True)
class NodeColumn:
    """`from_width`: narrower screens, in characters, leave it out."""

    title: str
    of: Callable[[ClusterSurvey, NodeStatus], str]
    from_width: int = 0
    is_number: bool = False
    min_width: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """One node; a silent one has `-` in its cells."""

    name: str
    mark: NodeMark
    cells: tuple[str, ...]


def node_rows(found: ClusterSurvey, columns: tuple[NodeColumn, ...]) -> list[NodeRow]:
    """Every member, silent or not, by replica id."""
    rows = {
        node.id: NodeRow(
            name=node.name,
            mark=mark(found, node),
            cells=tuple(each.of(found, node) for each in columns),
        )
        for node in found.samples
    }
    for silent in found.silent:
        known = {
            "": NodeMark.DOWN.value,
            "node": silent.name,
            "role": "silent",
            "address": silent.address,
        }
        cells = tuple(known.get(each.title, "-") for each in columns)
        rows[silent.id] = NodeRow(name=silent.name, mark=NodeMark.DOWN, cells=cells)
    return [rows[id] for id in sorted(rows)]


def mark(found: ClusterSurvey, node: NodeStatus) -> NodeMark:
    """Return the mark of a node: it leads, or needs attention."""
    if found.leader is not None and node.id == found.leader.id:
        return NodeMark.LEADER if not node.ro else NodeMark.WARNING
    peer = peer_of(found, node.id)
    troubled = found.leader is None or (peer is not None and peer.status == "down")
    return NodeMark.WARNING if troubled or node.quarantined else NodeMark.FINE


def _idle(found: ClusterSurvey, node: NodeStatus) -> str:
    peer = peer_of(found, node.id)
    return "-" if peer is None else seconds(peer.idle)


def _behind(found: ClusterSurvey, node: NodeStatus) -> str:
    return str(behind(found, node)) if is_to_follow(found, node) else "-"


def _upstream(found: ClusterSurvey, node: NodeStatus) -> str:
    peer = peer_of(found, node.id)
    if peer is None or peer.snapshot is None:
        return "-" if peer is None else peer.status
    return f"snapshot {peer.snapshot.share:.0%}"


def _fsync(_: ClusterSurvey, node: NodeStatus) -> str:
    return seconds(node.disk.usual_s)


COLUMNS: Final = (
    NodeColumn("", lambda found, node: mark(found, node).value),
    NodeColumn("node", lambda _, node: node.name),
    NodeColumn("role", lambda _, node: node.part),
    NodeColumn("rw", lambda _, node: "ro" if node.ro else "rw"),
    NodeColumn("term", lambda _, node: str(node.term), is_number=True),
    NodeColumn("confirmed", lambda _, node: str(node.confirmed), is_number=True),
    NodeColumn("lag", _behind, is_number=True),
    NodeColumn("limbo", lambda _, node: str(node.synchro.queue.len), is_number=True),
    NodeColumn("idle", _idle, from_width=76, is_number=True, min_width=5),
    NodeColumn("peer", _upstream, from_width=76),
    NodeColumn("vclock", lambda _, node: vclock(node.vclock), from_width=100),
    NodeColumn("fsync", _fsync, from_width=100, is_number=True, min_width=5),
    NodeColumn("address", lambda _, node: node.address, from_width=116),
)
"""In their order; only wide screens show the least important ones."""
