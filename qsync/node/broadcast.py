"""The values that a node broadcasts for `box.watch`: small, and seldom changed."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from qsync.core.writable import Reason
from qsync.node import outside
from qsync.node.limbo_status import is_busy
from qsync.node.status import state
from qsync.node.view import NodeView

if TYPE_CHECKING:
    from qsync.core.machine import Machine


def values(node: NodeView) -> Mapping[str, Callable[[], object]]:
    """Return the broadcast keys with their values."""
    return {name: partial(make, node) for name, make in _BROADCAST.items()}


def box_status(machine: "Machine", reasons: Sequence[Reason]) -> dict[str, object]:
    """Return whether the node may write and, if not, the weightiest of the reasons."""
    return {
        "is_ro": bool(reasons),
        "is_ro_cfg": machine.config.read_only,
        "ro_reason": reasons[0].why.value if reasons else None,
        "status": state(machine),
    }


def box_election(machine: "Machine") -> dict[str, object]:
    """Return the leader that this node knows; 0 without one."""
    return {
        "term": int(machine.term),
        "role": machine.raft.role.value,
        "is_ro": bool(machine.reasons()),
        "leader": int(machine.raft.leader or 0),
    }


def box_synchro(machine: "Machine") -> dict[str, object]:
    """Return a summary of the limbo."""
    limbo = machine.replicated_log.limbo
    return {
        "quorum": machine.config.quorum,
        "owner": int(limbo.owner.owner),
        "term": int(limbo.owner.term),
        "len": len(limbo.queue),
        "busy": is_busy(machine),
    }


def _box_status(node: NodeView) -> dict[str, object]:
    return box_status(node.replica.machine, outside.reasons_of(node))


def _box_election(node: NodeView) -> dict[str, object]:
    machine = node.replica.machine
    return box_election(machine) | {"leader_name": node.book.name_of(machine.raft.leader)}


def _box_synchro(node: NodeView) -> dict[str, object]:
    return box_synchro(node.replica.machine)


def _box_id(node: NodeView) -> dict[str, object]:
    return {
        "id": int(node.config.node.id),
        "instance_uuid": node.identity.instance,
        "instance_name": node.config.node.name,
        "replicaset_uuid": node.identity.cluster,
        "replicaset_name": node.config.cluster.name,
    }


_BROADCAST: Final[Mapping[str, Callable[[NodeView], object]]] = {
    "box.id": _box_id,
    "box.status": _box_status,
    "box.election": _box_election,
    "box.synchro": _box_synchro,
}
