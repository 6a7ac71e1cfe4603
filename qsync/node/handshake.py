"""What a node says of itself before anything else: its greeting, and its hello to a peer."""

from typing import TYPE_CHECKING, Final

from qsync.wire import packed, proofs
from qsync.wire.session import Greeting, Hello, Party

if TYPE_CHECKING:
    from qsync.node.node import Node

FEATURES: Final = (packed.FEATURE,)
"""What this release can do that not every release of this version of the protocol could."""


def greeting(node: "Node") -> Greeting:
    """To whoever dials."""
    return Greeting(
        cluster=node.identity.cluster,
        instance=node.identity.instance,
        replica=node.identity.replica,
        name=node.config.node.name,
        term=node.replica.machine.term,
        features=_features(node),
        members=_members(node),
        nonce=node.reactor.effects.secret(proofs.NONCE_BYTES),
    )


def hello(node: "Node", epoch: int) -> Hello:
    """To a peer that was dialled, over the connection of that number."""
    return Hello(
        party=Party.PEER,
        cluster=node.identity.cluster,
        instance=node.identity.instance,
        replica=node.identity.replica,
        name=node.config.node.name,
        epoch=epoch,
        features=_features(node),
        members=_members(node),
        nonce=node.reactor.effects.secret(proofs.NONCE_BYTES),
    )


def _features(node: "Node") -> tuple[str, ...]:
    return (*FEATURES, proofs.FEATURE) if node.config.secret else FEATURES


def _members(node: "Node") -> tuple[int, ...]:
    return tuple(peer.id for peer in node.config.members)
