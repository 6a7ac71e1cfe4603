"""What a node says of itself before anything else: its greeting, and its hello to a peer."""

from typing import Final

from qsync.node import snapshot_export
from qsync.node.view import NodeView
from qsync.wire import packed, proofs
from qsync.wire.session import Greeting, Hello, Party

FEATURES: Final = (packed.FEATURE, snapshot_export.FEATURE)
"""What this release can do that not every release of this version of the protocol could."""


def greeting(node: NodeView) -> Greeting:
    """To whoever dials."""
    return Greeting(
        cluster=node.identity.cluster,
        instance=node.identity.instance,
        replica=node.identity.replica,
        name=node.config.node.name,
        term=node.replica.machine.term,
        features=_features(node),
        nonce=node.reactor.effects.secret(proofs.NONCE_BYTES),
    )


def hello(node: NodeView, epoch: int) -> Hello:
    """To a peer that was dialled, over the connection of that number."""
    return Hello(
        party=Party.PEER,
        cluster=node.identity.cluster,
        instance=node.identity.instance,
        replica=node.identity.replica,
        name=node.config.node.name,
        epoch=epoch,
        address=node.address,
        features=_features(node),
        nonce=node.reactor.effects.secret(proofs.NONCE_BYTES),
    )


def _features(node: NodeView) -> tuple[str, ...]:
    return (*FEATURES, proofs.FEATURE) if node.config.secret else FEATURES
