"""Greeting and hello: what both sides of a fresh connection say of themselves, and its bytes."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import cbor2

from election.messages import Replica, Term
from qsync.error_details import OF_CLUSTER
from qsync.errors import ForeignCluster, ProtocolError, WrongVersion
from qsync.wire import cbor, limits, proofs
from qsync.wire.connection_states import SessionInput
from qsync.wire.frames import frame

MAGIC: Final = "qsync"


class Party(StrEnum):
    """The kind of the dialer."""

    PEER = "peer"
    CLIENT = "client"


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """The acceptor's first words. `term`: the one that it is in.

    `nonce`: never said twice.
    """

    cluster: str
    instance: str
    replica: Replica
    name: str
    term: Term = Term(0)
    versions: tuple[int, ...] = limits.VERSIONS
    features: tuple[str, ...] = ()
    nonce: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """The dialer's answer. A client has neither instance nor replica id nor address.

    `user`: of a client that logs in with a password; then it says a nonce as well. `acting`: as
    whom a client wants to be judged, which takes the right to everything. `address`: where the
    dialer is dialled. Whoever is dialled may not have heard of it: it answers over a connection of
    its own.
    """

    party: Party
    cluster: str | None = None
    instance: str | None = None
    replica: int = 0
    name: str = ""
    epoch: int = 0
    user: str | None = None
    version: int = limits.VERSIONS[-1]
    features: tuple[str, ...] = ()
    address: str = ""
    nonce: bytes = b""
    acting: str | None = None


def check_hello(mine: Greeting, hello: Hello) -> None:
    """Check that this dialer may talk to us. Raises WrongVersion or ForeignCluster.

    Whether a peer's id and instance are a known member's is for the node to say.
    """
    if hello.version not in mine.versions:
        raise WrongVersion(f"version {hello.version} is not spoken here, only {mine.versions}")
    if hello.cluster is not None and hello.cluster != mine.cluster:
        raise ForeignCluster(f"this is cluster {mine.cluster}, not {hello.cluster}")
    if hello.party is Party.CLIENT:
        return
    if hello.cluster is None or hello.instance is None or not hello.replica:
        raise ProtocolError("a peer must name its cluster, instance and replica id")
    if hello.replica == mine.replica and hello.instance != mine.instance:
        raise ForeignCluster(f"replica id {hello.replica} is mine ({mine.name})")
    if hello.replica == mine.replica:
        raise ProtocolError("this node dialled itself")
    if len(hello.nonce) != proofs.NONCE_BYTES:
        raise WrongVersion(f"{hello.name} says no nonce: it is of an older release")


def check_greeting(mine: Hello, greeting: Greeting, *, replica: Replica | None) -> None:
    """Check that this is the wanted acceptor. Raises WrongVersion or ForeignCluster."""
    if mine.version not in greeting.versions:
        raise WrongVersion(f"{greeting.name} speaks {greeting.versions}, not {mine.version}")
    if mine.cluster is not None and mine.cluster != greeting.cluster:
        of_cluster: dict[str, object] = {OF_CLUSTER: greeting.cluster}
        raise ForeignCluster(
            f"{greeting.name} is of cluster {greeting.cluster}", details=of_cluster
        )
    if replica is not None and replica != greeting.replica:
        raise ForeignCluster(f"replica {greeting.replica} answers where {replica} was expected")
    if mine.party is Party.CLIENT:
        return
    if len(greeting.nonce) != proofs.NONCE_BYTES:
        raise WrongVersion(f"{greeting.name} says no nonce: it is of an older release")


def encode_greeting(greeting: Greeting) -> bytes:
    """A framed greeting."""
    g = greeting
    values = [list(g.versions), list(g.features), g.cluster, g.instance, g.replica, g.name]
    return frame(cbor2.dumps([MAGIC, *values, g.term, g.nonce]))


def decode_greeting(payload: bytes) -> Greeting:
    """The greeting in a payload. Raises ProtocolError."""
    fields = cbor.Fields(cbor.loads_array(payload), "greeting")
    return read_greeting(fields.text(), fields)


def encode_hello(hello: Hello, *, greeted: bytes = b"", secret: bytes = b"") -> bytes:
    """A framed hello; that of a peer ends with its proof, which covers what greeted it."""
    h = hello
    values = [h.version, list(h.features), h.party.value, h.cluster, h.instance, h.replica, h.name]
    said = ["hello", *values, h.epoch, h.user]
    if h.party is Party.CLIENT:
        if h.nonce or h.acting:
            said += [h.address, h.nonce, *([h.acting] if h.acting else [])]
        return frame(cbor2.dumps(said))
    return frame(proofs.proven(greeted, [*said, h.address, h.nonce], secret))


def decode_hello(payload: bytes) -> Hello:
    """The hello in a payload. Raises ProtocolError; WrongVersion before it reads on."""
    fields = cbor.Fields(cbor.loads_array(payload), "hello")
    if fields.text() != SessionInput.HELLO:
        raise fields.refused("'hello'")
    version = fields.uint()
    if version not in limits.VERSIONS:
        # The rest may look different in that version.
        raise WrongVersion(f"version {version} is not spoken here, only {limits.VERSIONS}")
    return Hello(
        version=version,
        features=_texts(fields),
        party=(party := _party(fields)),
        cluster=fields.text_or_none(limits.NAME_CHARS_MAX),
        instance=fields.text_or_none(limits.NAME_CHARS_MAX),
        replica=fields.uint(limits.REPLICA_MAX),
        name=fields.text(limits.NAME_CHARS_MAX),
        epoch=fields.uint(),
        user=fields.text_or_none(limits.NAME_CHARS_MAX),
        address=fields.text(limits.NAME_CHARS_MAX) if fields.more() else "",
        nonce=fields.raw(proofs.NONCE_BYTES) if fields.more() else b"",
        acting=_acting(party, fields),
    )


def _acting(party: Party, fields: cbor.Fields) -> str | None:
    """Return the last field of a client's hello; in that of a peer it is the proof."""
    if party is Party.PEER or not fields.more():
        return None
    return fields.text_or_none(limits.NAME_CHARS_MAX)


def common_version(theirs: Iterable[int]) -> int:
    """The highest version that both sides speak. Raises WrongVersion."""
    offered = set(theirs)
    common = [version for version in limits.VERSIONS if version in offered]
    if common:
        return max(common)
    raise WrongVersion(f"they speak {sorted(offered)}, we {limits.VERSIONS}")


def read_greeting(word: str, fields: cbor.Fields) -> Greeting:
    """The greeting behind its first word. Raises ProtocolError, WrongVersion."""
    if word != MAGIC:
        raise ProtocolError("the program that answers there does not speak qsync")
    versions = _versions(fields)
    common_version(versions)
    return Greeting(
        versions=versions,
        features=_texts(fields),
        cluster=fields.text(limits.NAME_CHARS_MAX),
        instance=fields.text(limits.NAME_CHARS_MAX),
        replica=fields.replica(),
        name=fields.text(limits.NAME_CHARS_MAX),
        term=Term(fields.uint()),
        nonce=fields.raw(proofs.NONCE_BYTES) if fields.more() else b"",
    )


def _versions(fields: cbor.Fields) -> tuple[int, ...]:
    items = fields.array(limits.FEATURES_MAX)
    inner = cbor.Fields(items, "versions")
    return tuple(inner.uint() for _ in items)


def _texts(fields: cbor.Fields) -> tuple[str, ...]:
    items = fields.array(limits.FEATURES_MAX)
    inner = cbor.Fields(items, "features")
    return tuple(inner.text(limits.NAME_CHARS_MAX) for _ in items)


def _party(fields: cbor.Fields) -> Party:
    name = fields.text(limits.NAME_CHARS_MAX)
    if name in (Party.PEER, Party.CLIENT):
        return Party(name)
    raise fields.refused("'peer' or 'client'")
