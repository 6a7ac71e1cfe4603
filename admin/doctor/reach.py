"""Checks that all members answer, belong to one cluster, run one release and are connected."""

from collections.abc import Iterator
from typing import Final

from admin.cluster import sides
from admin.doctor.facts import CLUSTER, Facts, Finding, critical, notice, warning
from qsync.client import refused_tls
from qsync.errors import AccessDenied, ForeignCluster, WrongVersion
from qsync.member import Standing
from qsync.status.members import IN_TOUCH, PeerStatus
from qsync.status.record import NodeStatus
from qsync.tls.errors import TlsFailed

YOUNG_S: Final = 2.0
"""Uptime in seconds from which on the others must have reached a node. It dials them, they dial it
back, and either handshake takes round trips: 1.5 s at the most where one takes 0.2 s, over TLS."""
_REFUSALS = tuple(
    f"{each.code}: " for each in (AccessDenied, ForeignCluster, TlsFailed, WrongVersion)
)
"""How the words of a link begin whose ends can talk, and one refuses the other."""
_START: Final = (
    "start it, or bring back its host or network; if others reach it, check the network path to "
    "its host"
)
_CERTIFICATES: Final = (
    "it runs, and TLS with it fails: `qsync cert check` judges its certificate and yours, by "
    "authority, dates and the host that is dialled"
)


def members_answer(facts: Facts) -> Iterator[Finding]:
    """Every member answers."""
    for each in facts.silent:
        if each.denied:
            yield notice(each.name, f"cannot be asked from here: {each.why}", each.fix)
            continue
        seen = [
            f"{node.name} {_reached(peer)}"
            for node in facts.nodes
            for peer in node.peers
            if peer.id == each.id
        ]
        others = f" ({', '.join(seen)})" if seen else ""
        yield critical(
            each.name,
            f"{each.address} does not answer: {each.why.rpartition(': ')[2]}{others}",
            _CERTIFICATES if refused_tls.is_met(each.why) else _START,
        )


def members_agree(facts: Facts) -> Iterator[Finding]:
    """All members have the same list of members."""
    told = {
        node.name: sorted((id, name) for id, name, _ in node.nodes)
        for node in facts.nodes
        if not node.stranger and node.standing != Standing.REMOVED
    }
    if not told:
        return
    most = max(told.values(), key=list(told.values()).count)
    for name, members in told.items():
        if members != most:
            ours = ", ".join(each for _, each in members)
            theirs = ", ".join(each for _, each in most)
            yield critical(
                name,
                f"knows the members {ours}; the others know {theirs}",
                "it is behind: it names the others when it has caught up; is it in touch?",
            )


def one_cluster(facts: Facts) -> Iterator[Finding]:
    """All nodes belong to one cluster, under different ids."""
    serving = [*facts.nodes, *(each for each in facts.apart if not sides.is_superseded(each))]
    ids = {node.replicaset.uuid for node in serving}
    if len(ids) > 1:
        whose = ", ".join(f"{node.name} {node.replicaset.uuid}" for node in serving)
        yield critical(
            CLUSTER,
            f"nodes of different clusters answer: {whose}",
            "give `cluster.id` of one cluster, or the right addresses in `peers`",
        )
    for node in facts.nodes:
        twins = [each.name for each in facts.nodes if each.uuid == node.uuid and each is not node]
        if twins and node.uuid and node.name < min(twins):
            yield critical(
                node.name,
                f"has the same uuid as {', '.join(twins)}: a copied directory",
                "wipe the copy's directory and let it catch up as a new node",
            )


def one_version(facts: Facts) -> Iterator[Finding]:
    """All nodes run the same release."""
    versions = sorted({node.version for node in facts.nodes})
    if len(versions) > 1:
        who = ", ".join(f"{node.name} {node.version}" for node in facts.nodes)
        yield notice(
            CLUSTER,
            f"nodes run different releases: {who}",
            "fine during a rolling upgrade; finish it, the leader last",
        )
    for node in facts.nodes:
        if node.upgrade.waits:
            yield notice(
                CLUSTER,
                f"a feature of the log is not used yet: {'; '.join(node.upgrade.waits)}",
                "upgrade those nodes, or take them out of the cluster",
            )
        if node.upgrade.unheard:
            yield notice(
                CLUSTER,
                f"a feature of the log is not used yet: {'; '.join(node.upgrade.unheard)}",
                "start those nodes, or take them out of the cluster",
            )


def links_stand(facts: Facts) -> Iterator[Finding]:
    """All nodes that answer reach each other, in both directions."""
    there = {node.id: node for node in facts.nodes if node.standing != Standing.REMOVED}
    for node in there.values():
        for peer in node.peers:
            if peer.status == IN_TOUCH or peer.id not in there:
                continue
            if _has_just_started(there[peer.id]) and not _is_refused(peer):
                continue
            back = next((p for p in there[peer.id].peers if p.id == node.id), None)
            one_way = back is not None and back.status == IN_TOUCH
            why = f" ({peer.message})" if peer.message else ""
            way = ", but is reached by it: the link is cut one way" if one_way else ""
            yield warning(
                f"{node.name} -> {peer.name}",
                f"{node.name} does not reach {peer.name}{why}{way}",
                _cure(peer),
            )


def _has_just_started(node: NodeStatus) -> bool:
    """Others dial a node when it has dialled them. 0: its uptime is unknown."""
    return 0.0 < node.uptime < YOUNG_S


def _cure(peer: PeerStatus) -> str:
    if not _is_refused(peer):
        return "look at routes, firewalls and `peers` addresses between these two hosts"
    if (peer.message or "").startswith(WrongVersion.code):
        return "the network is fine: one node refuses the release of the other; upgrade that one"
    return (
        "the network is fine: one node refuses the other; change the secret or the certificate of "
        "the node that is wrong"
    )


def _reached(peer: PeerStatus) -> str:
    if peer.status == IN_TOUCH:
        return "reaches it"
    return "does not reach it" + (f": {peer.message}" if _is_refused(peer) else "")


def _is_refused(peer: PeerStatus) -> bool:
    return (peer.message or "").startswith(_REFUSALS)
