"""The first words of a node on a connection: its greeting, and its hello to a peer."""

from typing import Final

from election.messages import Replica
from qsync import features, upgrading
from qsync.config import NodeConfig
from qsync.core import border
from qsync.data import schema
from qsync.data.ancestors import ANCESTORS_MAX, ancestors_of
from qsync.errors import ForeignCluster, Rebuilding
from qsync.member import MemberAction, Standing
from qsync.node import old_copies, refusals, snapshot_export
from qsync.node.anonymous import WORD
from qsync.node.view import NodeView
from qsync.version import __version__
from qsync.wire import descent, packed, proofs
from qsync.wire.proofs import SecretKeys
from qsync.wire.session import Greeting, Hello, Party
from qsync.wire.verbs import ChangeMemberRequest

ANONYMOUS: Final = Standing.ANONYMOUS
FEATURES: Final = (packed.FEATURE, snapshot_export.FEATURE)
"""Capabilities of this release that not every release of this protocol version has."""


def keys_of(config: NodeConfig) -> SecretKeys:
    """Return the keys of the secrets by which this node knows members."""
    own, *others = config.secret.keys or (b"",)
    if own and config.cluster.secret_optional:
        others.append(b"")
    return SecretKeys(own, tuple(others))


def greeting(node: NodeView) -> Greeting:
    """Return the greeting for a client or peer that connected."""
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
    """Return the hello for a peer that was dialled, over the connection of that number."""
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
    """Return the clusters that this one was restored from, newest first; none without rows.

    They stand where its log begins, so they are confirmed.
    """
    try:
        rows = node.replica.state.select(schema.ANCESTORS)
    except Rebuilding:
        return []
    return [each.cluster for each in ancestors_of(rows)[-ANCESTORS_MAX:]]


def introduce(node: NodeView, hello: Hello) -> None:
    """Take in a peer that connected and has said who it is.

    Raises WrongVersion, NotMember, ForeignCluster for the name of another, OldCopy, ProtocolError,
    and Superseded where this node is that.
    """
    superseded = node.replica.machine.disk.superseded
    if superseded is not None:
        raise refusals.superseded(superseded)
    node.book.note_hello(hello)
    _admit(node, hello)
    if node.links.tls is not None:
        _check_name(node, hello)
    if WORD not in hello.features:
        old_copies.introduce(node, hello)
    node.book.introduce(hello, node.reactor.effects.now(), leader_idle=node.leader_idle())
    node.links.met(Replica(hello.replica))


def check_change(node: NodeView, request: ChangeMemberRequest) -> None:
    """Check that the release of a node that gets a place can read the log. Raises WrongVersion.

    It goes by what the node said when it connected last: such a node was refused then.
    """
    if request.action in {MemberAction.REMOVE, MemberAction.MOVE}:
        return
    said = node.book.last_hello(request.replica)
    if said is not None and node.replica.machine.leader is not None:
        _admit(node, said)


def check_greeting(node: NodeView, greeting: Greeting) -> None:
    """Check that this node and the peer that it dialled may exchange messages.

    Raises WrongVersion, OldCopy, ProtocolError.
    """
    _admit(node, greeting)
    old_copies.check_greeting(node, greeting)
    border.check_term(node.replica.machine.term, greeting.term)


def _admit(node: NodeView, said: Greeting | Hello) -> None:
    """Refuse a peer whose release cannot read what the log may hold."""
    upgrading.admit(node.replica.settings, said.name, features.told_in(said.features))


def _check_name(node: NodeView, hello: Hello) -> None:
    """Refuse a peer whose certificate names another replica of the configuration."""
    for peer in node.book.members:
        if (peer.id == hello.replica) != (peer.name == hello.name):
            raise ForeignCluster(
                f"{hello.name} says that it is replica {hello.replica}; in the configuration "
                f"replica {peer.id} is {peer.name}"
            )
