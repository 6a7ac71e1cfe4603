"""What a node says of itself before anything else: its greeting, and its hello to a peer."""

from typing import Final

from qsync import features, upgrading
from qsync.core import border
from qsync.data import schema
from qsync.data.ancestors import ANCESTORS_MAX, ancestors_of
from qsync.errors import ForeignCluster, Rebuilding
from qsync.member import Standing
from qsync.node import old_copies, refusals, snapshot_export
from qsync.node.anonymous import WORD
from qsync.node.view import NodeView
from qsync.version import __version__
from qsync.wire import descent, packed, proofs
from qsync.wire.session import Greeting, Hello, Party

ANONYMOUS: Final = Standing.ANONYMOUS
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
    known = node.replica.machine.config.features | features.BETWEEN_PEERS
    own = features.words_of(known, __version__)
    return (
        *FEATURES,
        *own,
        *old_copies.words_of(node),
        *descent.words_of(_ancestors(node)),
        *((proofs.FEATURE,) if node.config.secret else ()),
        *((WORD,) if node.replica.machine.operations.changes.standing is ANONYMOUS else ()),
    )


def _ancestors(node: NodeView) -> list[str]:
    """The clusters that this one was made of, the newest of them; none as long as it has no rows.

    They stand where its log begins, so they are confirmed.
    """
    try:
        rows = node.replica.state.select(schema.ANCESTORS)
    except Rebuilding:
        return []
    return [each.cluster for each in ancestors_of(rows)[-ANCESTORS_MAX:]]


def introduce(node: NodeView, hello: Hello) -> None:
    """A peer connected and says who it is.

    Raises WrongVersion, NotMember, ForeignCluster for the name of another, OldCopy, ProtocolError,
    and Superseded where this node is that.
    """
    superseded = node.replica.machine.disk.superseded
    if superseded is not None:
        raise refusals.superseded(superseded)
    _admit(node, hello)
    if node.links.tls is not None:
        _check_name(node, hello)
    if WORD not in hello.features:
        old_copies.introduce(node, hello)
    node.book.introduce(hello, node.reactor.effects.now())


def check_greeting(node: NodeView, greeting: Greeting) -> None:
    """May the peer that we dialled and we exchange messages?

    Raises WrongVersion, OldCopy, ProtocolError.
    """
    _admit(node, greeting)
    old_copies.check_greeting(node, greeting)
    border.check_term(node.replica.machine.term, greeting.term)


def _admit(node: NodeView, said: Greeting | Hello) -> None:
    """The log may hold what that release cannot read."""
    upgrading.admit(node.replica.settings, said.name, features.told_in(said.features))


def _check_name(node: NodeView, hello: Hello) -> None:
    """A certificate bears a name, and in the configuration that name is of one replica id."""
    for peer in node.book.members:
        if (peer.id == hello.replica) != (peer.name == hello.name):
            raise ForeignCluster(
                f"{hello.name} says that it is replica {hello.replica}; in the configuration "
                f"replica {peer.id} is {peer.name}"
            )
