"""Problems of the members of a cluster, in words."""

from collections.abc import Collection, Iterable, Sequence

from admin.cluster import sides
from qsync.status import health
from qsync.status.members import IN_TOUCH, PeerStatus
from qsync.status.record import NodeStatus


def has_place(samples: Sequence[NodeStatus], id: int) -> bool:
    """Whether a configuration of any node names that id, with any directory."""
    members = sides.configuration(samples)
    return not members or id in {member for member, _, _ in members}


def is_named(samples: Sequence[NodeStatus], node: NodeStatus) -> bool:
    """Whether it is a member by the configuration of another node: it waits for the log itself."""
    return (node.id, node.uuid) in {(id, uuid) for id, uuid, _ in sides.configuration(samples)}


def troubled(samples: Sequence[NodeStatus]) -> list[NodeStatus]:
    """Members that answer and report a problem of their own."""
    members = [each for each in samples if has_place(samples, each.id)]
    return [each for each in members if each.faults or health.unsound(each)]


def words(
    samples: Sequence[NodeStatus], silent: Collection[str], away: Sequence[PeerStatus]
) -> str:
    """Return which nodes are away, damaged or faulty. `silent`: those without an answer."""
    parts = [f"{name} does not answer" for name in sorted(silent)]
    parts += [f"{each.name} is {_way(each)}" for each in away if each.name not in silent]
    told = {each.name for each in away}
    parts += [
        _unsound(each) for each in troubled(samples) if not each.faults and each.name not in told
    ]
    parts += [
        f"{each.name} is broken on purpose ({', '.join(fault.point for fault in each.faults)})"
        for each in samples
        if each.faults
    ]
    return ", ".join(parts)


def _unsound(node: NodeStatus) -> str:
    if node.status != "running":
        return f"{node.name} is {node.status}"
    return f"{node.name}: {health.unsound(node)}"


def _way(peer: PeerStatus) -> str:
    if peer.stranger:
        return "a stranger: its directory is new"
    return "catching up" if peer.status == IN_TOUCH else peer.status


def listed(names: Iterable[str]) -> str:
    """Return `n1, n2`; without names, `the others`."""
    return ", ".join(names) or "the others"
