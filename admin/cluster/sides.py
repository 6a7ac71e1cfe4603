"""Separates the answering nodes of the requested cluster from those of other clusters.

A cluster that was recovered elsewhere leaves superseded nodes behind, which name the members of the
former one and are named by them; another cluster may now use an address of this one. Their answers
do not count for a verdict on this cluster: their ids, terms and members are different.
"""

from collections.abc import Iterable, Mapping, Sequence

from qsync.member import Standing
from qsync.status.record import NodeStatus


def parted(answers: Iterable[NodeStatus]) -> tuple[list[NodeStatus], list[NodeStatus]]:
    """The nodes of the cluster of the first one that is not superseded, and all others.

    If all are superseded, they are the requested cluster. A stranger does not belong
    to a cluster yet, and may become a member of this one.
    """
    heard = list(answers)
    clusters = [each.replicaset.uuid for each in heard if not is_superseded(each)]
    ours = next((each for each in clusters if each), None)
    if not clusters:
        ours = heard[0].replicaset.uuid if heard else None

    def belongs(node: NodeStatus) -> bool:
        if clusters and is_superseded(node):
            return False
        return ours is None or node.replicaset.uuid in {ours, ""}

    return [each for each in heard if belongs(each)], [each for each in heard if not belongs(each)]


def newest(nodes: Iterable[NodeStatus]) -> NodeStatus | None:
    """The node that knows the configuration best: the leader; without one, the longest log."""
    return max(nodes, key=_age, default=None)


def configuration(nodes: Iterable[NodeStatus]) -> Sequence[tuple[int, str, str]]:
    """The newest members that a node names: id, instance and role; none where no node does."""
    told = newest(each for each in nodes if each.members)
    return () if told is None else told.members


def instances(nodes: Iterable[NodeStatus]) -> dict[int, str]:
    """The instance of each member."""
    return {id: uuid for id, uuid, _ in configuration(nodes)}


def by_id(nodes: Iterable[NodeStatus], named: Mapping[int, str]) -> dict[int, NodeStatus]:
    """One node for each id: the member, where a removed node has the id of a later one."""
    ordered = sorted(nodes, key=lambda each: each.uuid == named.get(each.id))
    return {each.id: each for each in ordered}


def places(nodes: Sequence[NodeStatus]) -> dict[int, tuple[str, str]]:
    """Name and address of each member that any node names: where it is by the newest log.

    The list of a removed node is of the moment of its removal: it counts only if all are removed.
    """
    present = [each for each in nodes if each.standing != Standing.REMOVED] or nodes
    ordered = sorted(present, key=_age)
    return {id: (name, address) for each in ordered for id, name, address in each.nodes}


def known_places(nodes: Sequence[NodeStatus]) -> dict[int, tuple[str, str]]:
    """As `places`, with the nodes themselves, which no list may name: one that is to join."""
    return {each.id: (each.name, each.address) for each in nodes} | places(nodes)


def _age(node: NodeStatus) -> tuple[bool, int, int]:
    return node.leads, node.term, node.last


def is_superseded(node: NodeStatus) -> bool:
    """It is superseded by another cluster, and serves no requests any more."""
    return node.status == "superseded"


def sentence_of_all(nodes: Iterable[NodeStatus]) -> str:
    """Return a sentence for nodes that are superseded by the same cluster."""
    by_reason: dict[str, list[NodeStatus]] = {}
    for each in nodes:
        by_reason.setdefault(_reason(each), []).append(each)
    return "; ".join(
        sentence(those[0])
        if len(those) == 1
        else f"{', '.join(each.name for each in those)} are {why.replace('its', 'their', 1)}"
        for why, those in by_reason.items()
    )


def _reason(node: NodeStatus) -> str:
    why = next(iter(node.ro_texts), "superseded: its history continues in another cluster")
    return why.removeprefix("this node is ")


def sentence(node: NodeStatus) -> str:
    """Why a node stands apart: `n2 (10.0.0.2:3301) is superseded: its history continues in ...`."""
    who = f"{node.name} ({node.address})"
    if not is_superseded(node):
        return f"{who} is of another cluster: {node.replicaset.uuid}"
    return f"{who} is {_reason(node)}"
