"""Who says what when on a fresh connection: greeting, hello, then "ok" or "no".

The acceptor greets, the dialer says hello, the acceptor agrees or refuses. The table below is all
there is to it; both sides are sans-IO and never raise anything but errors of `qsync.errors`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import cbor2

from election.messages import Replica, Term
from qsync.errors import (
    ForeignCluster,
    ProtocolError,
    QsyncError,
    Superseded,
    WrongVersion,
    error_of,
)
from qsync.wire import cbor, limits, proofs
from qsync.wire.descent import Descent, between, superseded_node, two_recoveries
from qsync.wire.frames import LENGTH_SIZE, frame

MAGIC: Final = "qsync"


class ConnectionState(StrEnum):
    """Where a connection stands."""

    GREETING = "greeting"
    HELLO = "hello"
    READY = "ready"
    CLOSED = "closed"


class SessionInput(StrEnum):
    """What moves a connection on."""

    GREETING = "greeting"
    HELLO = "hello"
    OK = "ok"
    NO = "no"


TABLE: Final = {
    (ConnectionState.GREETING, SessionInput.GREETING): ConnectionState.HELLO,
    (ConnectionState.HELLO, SessionInput.HELLO): ConnectionState.HELLO,
    (ConnectionState.HELLO, SessionInput.OK): ConnectionState.READY,
    (ConnectionState.HELLO, SessionInput.NO): ConnectionState.CLOSED,
    (ConnectionState.GREETING, SessionInput.NO): ConnectionState.CLOSED,
}
"""Anything that is not here is a ProtocolError."""


class Party(StrEnum):
    """What the dialer is."""

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
    """The dialer's answer. A client has neither instance nor replica id, address nor nonce.

    `address`: where the dialer is dialled. Whoever is dialled may not have heard of it: it answers
    over a connection of its own.
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


class Acceptor:
    """The side that was dialled. `greet()`, feed `received()`, then `accept()` or `refuse()`.

    `secret`: of the cluster; empty without one. Peers must prove that they know it.
    """

    def __init__(self, greeting: Greeting, *, secret: bytes = b"") -> None:
        self.greeting = greeting
        self.hello: Hello | None = None
        self.state = ConnectionState.GREETING
        self.superseded_by = ""
        self.told_at = ""
        """The cluster that was made of ours, once the dialer has proved that; and its address."""
        self._secret = secret
        self._greeted = self._heard = b""

    def greet(self) -> bytes:
        """The first frame to send."""
        self.state = _after(self.state, SessionInput.GREETING)
        framed = encode_greeting(self.greeting)
        self._greeted = framed[LENGTH_SIZE:]
        return framed

    def received(self, payload: bytes) -> Hello:
        """The dialer's hello, checked. On an error send `refuse(error)` and close."""
        if self.hello is not None:
            raise ProtocolError("a second hello")
        self.state = _after(self.state, SessionInput.HELLO)
        hello = decode_hello(payload)
        descent = Descent.NONE
        if hello.party is Party.PEER:
            mine = self.greeting
            descent = between(mine.cluster, mine.features, hello.cluster, hello.features)
        if descent is Descent.NONE:
            check_hello(self.greeting, hello)
        if hello.party is Party.PEER:
            has = proofs.FEATURE in hello.features
            proofs.check_hello(self._greeted, payload, self._secret, has=has, who=hello.name)
        self.hello, self._heard = hello, payload
        if descent is not Descent.NONE:
            raise self._relative(descent, hello)
        return hello

    def _relative(self, descent: Descent, hello: Hello) -> QsyncError:
        """It has proved that it knows our secret, and is of another generation."""
        theirs, mine = str(hello.cluster), self.greeting.cluster
        if descent is Descent.SIBLING:
            return two_recoveries(mine, theirs)
        if descent is Descent.DESCENDANT:
            self.superseded_by, self.told_at = theirs, hello.address
            return superseded_node(self.greeting.name, theirs)
        return superseded_node(hello.name, mine)

    def accept(self) -> bytes:
        """The frame that ends the handshake."""
        assert self.hello is not None
        self.state = _after(self.state, SessionInput.OK)
        if self.hello.party is Party.CLIENT:
            return _OK
        proof = proofs.agreed(self._greeted, self._heard, self._secret)
        return frame(cbor2.dumps([SessionInput.OK.value, proof]))

    def refuse(self, error: QsyncError) -> bytes:
        """The last frame before closing; it tells the dialer why.

        That it is superseded is proved to it: it is not to believe that of anybody.
        """
        self.state = ConnectionState.CLOSED
        said: list[object] = ["no", error.number, error.message[: limits.TEXT_CHARS_MAX]]
        if isinstance(error, Superseded) and self._heard and not self.superseded_by:
            said.append(proofs.superseded(self._greeted, self._heard, self._secret))
        return frame(cbor2.dumps(said))


class Dialer:
    """The side that dials. Feed `received()`; when it returns bytes, send them.

    `replica`: who is expected to answer at that address; None when it is not known yet.
    """

    def __init__(
        self, hello: Hello, *, replica: Replica | None = None, secret: bytes = b""
    ) -> None:
        self._secret = secret
        self._heard = self._said = b""
        self.hello = hello
        self.greeting: Greeting | None = None
        self.state = ConnectionState.GREETING
        self.superseded_by = ""
        """The cluster that was made of ours, once the acceptor has proved that."""
        self._descent = Descent.NONE
        self._expected = replica

    def received(self, payload: bytes) -> bytes | None:
        """Take the acceptor's next frame. Raises the acceptor's own error when it refuses us."""
        if self.greeting is None:
            return self._greeted(payload)
        self._answered(payload)
        return None

    def _greeted(self, payload: bytes) -> bytes:
        fields = cbor.Fields(cbor.loads_array(payload), "greeting")
        word = fields.text()
        if word == SessionInput.NO:
            self._refused(fields)
        greeting = _read_greeting(word, fields)
        mine = self.hello
        if mine.party is Party.PEER and mine.cluster is not None:
            words = (mine.features, greeting.cluster, greeting.features)
            self._descent = between(mine.cluster, *words)
            if self._descent is Descent.SIBLING:
                raise two_recoveries(mine.cluster, greeting.cluster)
        if self._descent is Descent.NONE:
            check_greeting(mine, greeting, replica=self._expected)
        self.state = _after(self.state, SessionInput.GREETING)
        self.greeting = greeting
        framed = encode_hello(self.hello, greeted=payload, secret=self._secret)
        self._heard, self._said = payload, framed[LENGTH_SIZE:]
        return framed

    def _answered(self, payload: bytes) -> None:
        fields = cbor.Fields(cbor.loads_array(payload), "answer to hello")
        match fields.text():
            case SessionInput.OK:
                if self._descent is not Descent.NONE:
                    raise ProtocolError("a node of another generation agreed to a connection")
                after = _after(self.state, SessionInput.OK)
                if self.hello.party is Party.PEER:
                    self._check_proof(fields.raw(proofs.PROOF_BYTES))
                self.state = after
            case SessionInput.NO:
                self._refused(fields)
            case word:
                raise ProtocolError(f"{word!r} is no answer to hello")

    def _check_proof(self, proof: bytes) -> None:
        assert self.greeting is not None
        has = proofs.FEATURE in self.greeting.features
        who = self.greeting.name
        proofs.check_ok(self._heard, self._said, proof, self._secret, has=has, who=who)

    def _refused(self, fields: cbor.Fields) -> None:
        self.state = _after(self.state, SessionInput.NO)
        error = error_of(fields.uint(), fields.text())
        greeting = self.greeting
        if isinstance(error, Superseded) and self._descent is Descent.DESCENDANT:
            assert greeting is not None
            proof = fields.raw(proofs.PROOF_BYTES)
            has = proofs.FEATURE in greeting.features
            heard = (self._heard, self._said, proof, self._secret)
            proofs.check_superseded(*heard, has=has, who=greeting.name)
            self.superseded_by = greeting.cluster
            raise superseded_node(self.hello.name, greeting.cluster)
        raise error


def check_hello(mine: Greeting, hello: Hello) -> None:
    """May this dialer talk to us? Raises WrongVersion or ForeignCluster.

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
    """Is this the acceptor we wanted? Raises WrongVersion or ForeignCluster."""
    if mine.version not in greeting.versions:
        raise WrongVersion(f"{greeting.name} speaks {greeting.versions}, not {mine.version}")
    if mine.cluster is not None and mine.cluster != greeting.cluster:
        raise ForeignCluster(f"{greeting.name} is of cluster {greeting.cluster}")
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
    return _read_greeting(fields.text(), fields)


def encode_hello(hello: Hello, *, greeted: bytes = b"", secret: bytes = b"") -> bytes:
    """A framed hello; that of a peer ends with its proof, which covers what greeted it."""
    h = hello
    values = [h.version, list(h.features), h.party.value, h.cluster, h.instance, h.replica, h.name]
    said = ["hello", *values, h.epoch, h.user]
    if h.party is Party.CLIENT:
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
        party=_party(fields),
        cluster=fields.text_or_none(limits.NAME_CHARS_MAX),
        instance=fields.text_or_none(limits.NAME_CHARS_MAX),
        replica=fields.uint(limits.REPLICA_MAX),
        name=fields.text(limits.NAME_CHARS_MAX),
        epoch=fields.uint(),
        user=fields.text_or_none(limits.NAME_CHARS_MAX),
        address=fields.text(limits.NAME_CHARS_MAX) if fields.more() else "",
        nonce=fields.raw(proofs.NONCE_BYTES) if fields.more() else b"",
    )


def common_version(theirs: Iterable[int]) -> int:
    """The highest version that both sides speak. Raises WrongVersion."""
    offered = set(theirs)
    common = [version for version in limits.VERSIONS if version in offered]
    if common:
        return max(common)
    raise WrongVersion(f"they speak {sorted(offered)}, we {limits.VERSIONS}")


def _read_greeting(word: str, fields: cbor.Fields) -> Greeting:
    if word != MAGIC:
        raise ProtocolError("whoever answers there does not speak qsync")
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


def _after(state: ConnectionState, said: SessionInput) -> ConnectionState:
    after = TABLE.get((state, said))
    if after is None:
        raise ProtocolError(f"{said.value} does not fit the state {state.value}")
    return after


_OK: Final = frame(cbor2.dumps(["ok"]))
