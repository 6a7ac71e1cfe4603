"""Connections to this node: peers bring replication messages, clients bring requests."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Protocol

from election.messages import Replica
from qsync.core.inputs import Input, Received
from qsync.core.messages import Message
from qsync.error_details import BY_LEADER
from qsync.errors import AccessDenied, ForeignCluster, Overloaded, ProtocolError, QsyncError
from qsync.node import keepalive
from qsync.node.client_room import ClientRoom
from qsync.node.connection import ClosedBy, Connection
from qsync.node.effects import Effects, Socket
from qsync.node.listener import STRANGERS_MAX
from qsync.node.logins import Logins
from qsync.node.requests import ClientRequests
from qsync.node.strangers import Strangers
from qsync.node.tls import NodeTls, check_hello, check_stranger
from qsync.record import Instance, read_instance
from qsync.rights import LOCAL_ADMIN
from qsync.tls.channel import TlsSocket
from qsync.tls.errors import TlsFailed
from qsync.wire import limits, peer_audit, peer_messages, peer_sums, snapshots
from qsync.wire.frames import SealedFrames
from qsync.wire.peer_audit import PeerAudit
from qsync.wire.peer_sums import PeerSums
from qsync.wire.proofs import NO_KEYS, SecretKeys
from qsync.wire.session import Acceptor, Greeting, Hello, Party
from qsync.wire.snapshots import SnapshotMessage

BESIDE = b"\x18"
"""Behind the head of an array: the type of the message is above those of the log (CBOR)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The rules for connections. `introduce` takes the hello of a peer, or raises.

    `depart`: a peer that was introduced has no connection to us any more.
    """

    introduce: Callable[[Hello], None]
    depart: Callable[[Replica], None]
    connections_max: int
    client_frame_bytes_max: int
    peer_frame_bytes_max: int
    keys: SecretKeys = NO_KEYS
    """Of the cluster; a peer must prove that it knows it."""
    say: Callable[[str, Mapping[str, object]], None] | None = None
    """Hears of every refusal."""
    tls: NodeTls | None = None
    """Without it bytes go as they are."""
    logins: Logins | None = None
    """Checks the passwords of clients; None: no password is needed."""
    leads: Callable[[], bool] = lambda: False
    """Whether this node is the leader, and knows all that was confirmed before."""


class Sockets(Protocol):
    """The part of a reactor that a server uses."""

    @property
    def effects(self) -> Effects:
        """The system below the node."""

    def add(self, connection: Connection) -> None:
        """Watch a connection."""

    def send(self, connection: Connection, data: bytes) -> None:
        """Queue bytes; they are sent by the next `flush`."""

    def flush(self) -> None:
        """Send what was queued."""

    def close(self, connection: Connection, why: str, *, by: ClosedBy = ClosedBy.US) -> None:
        """Close a connection and notify its owner once."""


def _nothing(_peer: Replica, _sums: PeerSums) -> None:
    """The default: sums of a peer are dropped."""


def _no_snapshot(_peer: Replica, _message: SnapshotMessage) -> None:
    """The default: messages about snapshots are dropped."""


def _no_head(_peer: Replica, _message: PeerAudit) -> None:
    """The default: heads of a peer's audit trail are dropped."""


def _unheard(_cluster: str, _where: str) -> None:
    """The default: news of a cluster made of ours are dropped."""


class Server:
    """Greets, reads the hello, and hands every payload to the part that handles it."""

    hear_sums: Callable[[Replica, PeerSums], None] = staticmethod(_nothing)
    """Set by a node; takes the sums of a peer's stored rows, which are not for the machine."""
    hear_snapshot: Callable[[Replica, SnapshotMessage], None] = staticmethod(_no_snapshot)
    """Set by a node; takes the rows of a snapshot, which are not for the machine either."""
    hear_audit: Callable[[Replica, PeerAudit], None] = staticmethod(_no_head)
    """Set by a node; takes the head of a peer's audit trail."""
    hear_superseded: Callable[[str, str], None] = staticmethod(_unheard)
    """Set by a node; called with the id and place of a cluster that was made of ours."""

    def __init__(
        self,
        *,
        reactor: Sockets,
        greeting: Callable[[], Greeting],
        admission: Admission,
        step: Callable[[Input], None],
        check: Callable[[Replica, Message], None],
        requests: ClientRequests,
        now: Callable[[], float],
        strangers: Strangers | None = None,
    ) -> None:
        self._check_message = check
        self.strangers = Strangers() if strangers is None else strangers
        self.room = ClientRoom(admission.connections_max)
        self.refused: dict[str, int] = {}
        self._reactor = reactor
        self._greeting = greeting
        self._admission = admission
        self._step = step
        self._requests = requests
        self._now = now
        self._inbound: dict[int, Connection] = {}
        self._instances: dict[int, str] = {}

    def accept(self, sock: Socket, host: str = "", *, local: bool = False) -> None:
        """Greet a fresh connection, over TLS as soon as the other side is known.

        `local`: it came through the socket in this node's directory, from its owner.
        """
        tls = None if local else self._admission.tls
        stream = sock if tls is None else tls.accepted(sock)
        connection = Connection(
            stream,
            frame_bytes_max=limits.HANDSHAKE_BYTES_MAX,
            opened_at=self._now(),
            clock=self._reactor.effects.stopwatch,
        )
        if len(self.strangers) + self.room.count >= self.room.most + STRANGERS_MAX:
            oldest = self.strangers.oldest()
            self._count("strangers", oldest)
            self._reactor.close(oldest, "too many have not said who they are")
        connection.turn.user = LOCAL_ADMIN if local else ""
        connection.turn.address = host
        acceptor = Acceptor(self._greeting(), keys=self._admission.keys)
        connection.take = self._hello
        connection.lost = self._stranger_lost
        self._reactor.add(connection)
        try:
            self.strangers.add(connection, acceptor, host)
        except Overloaded as error:
            if tls is None:  # over TLS nothing can be said yet
                self._reactor.send(connection, acceptor.refuse(error))
                self._reactor.flush()
            self._count("handshakes_per_address", connection)
            self._reactor.close(connection, error.message)
            return
        if isinstance(stream, TlsSocket):
            stream.secured = lambda found: self._secured(connection, found.binding)
        else:
            self._reactor.send(connection, acceptor.greet())

    def _secured(self, connection: Connection, binding: bytes) -> None:
        """Begin once TLS is set up, with the certificate of the other side."""
        acceptor = self.strangers[connection]
        acceptor.binding = binding
        tls = self._admission.tls
        assert tls is not None
        try:
            cluster = acceptor.greeting.cluster
            check_stranger(connection.identity, cluster, demand=tls.demands)
        except QsyncError as error:
            self._refuse(connection, acceptor, error)
            raise
        self._reactor.send(connection, acceptor.greet())

    def instance_of(self, replica: int) -> str | None:
        """The instance that a member sent in its hello; None before one came."""
        return self._instances.get(replica)

    def hears(self, replica: int, instance: str | None = None) -> bool:
        """Return whether that node has a connection to us, from that directory if one is named."""
        return replica in self._inbound and instance in (None, self._instances.get(replica))

    def sweep(self) -> None:
        """Close connections that did not say in time who they are."""
        for connection in self.strangers.late(self._now()):
            self._count("handshake_timeout", connection)
            self._reactor.close(connection, "no hello in time")

    def tick(self, period: float) -> None:
        """Close peers that were silent for too many periods; one more has passed.

        Patience goes by the longer period of the two, if they are configured differently.
        """
        for replica, connection in list(self._inbound.items()):
            times = max(1.0, connection.turn.period / period)
            patience = ceil(keepalive.SILENT_TICKS_MAX * times)
            if keepalive.silent(connection, self._reactor.effects, ticks_max=patience):
                self._count("silent", connection)
                self._reactor.close(connection, f"no word of node {replica}")

    def part(self, why: str, only: int | None = None) -> None:
        """Close the connections of every peer, or of one."""
        for replica, connection in list(self._inbound.items()):
            if only in (None, replica):
                self._reactor.close(connection, why)

    def _stranger_lost(self, connection: Connection, _why: str) -> None:
        self.strangers.remove(connection)
        if self._admission.logins is not None:
            self._admission.logins.open.pop(connection, None)
        if isinstance(connection.sock, TlsSocket) and connection.sock.failed:
            self._count(TlsFailed.code.lower(), connection, error=connection.sock.failed)

    def _hello(self, connection: Connection, payloads: list[bytes]) -> int:
        acceptor = self.strangers[connection]
        try:
            logins = self._admission.logins
            if acceptor.hello is not None and logins is not None:
                hello = acceptor.hello
                logins.hear_proof(connection, acceptor, payloads[0])
            else:
                hello = acceptor.received(payloads[0])
                if hello.party is Party.PEER and (payloads[1:] or connection.frames.buffered):
                    raise ProtocolError("a peer that speaks before it was agreed to")
                self._check(connection, hello)
                asked = None if logins is None else logins.ask(connection, acceptor, hello)
                if asked is not None:
                    self._reactor.send(connection, asked)
                    return 1
            if logins is not None:
                logins.act(connection, hello)
                self.room.check_user(connection.turn.login)
        except QsyncError as error:
            error = self._hears_of_descendant(connection, acceptor) or error
            self._refuse(connection, acceptor, error)
            self._reactor.close(connection, str(error))
            return len(payloads)
        self.strangers.remove(connection)
        self._reactor.send(connection, acceptor.accept())
        if hello.party is Party.PEER:
            self._welcome_peer(connection, hello)
        else:
            self._welcome_client(connection)
            if payloads[1:]:
                return 1 + self._serve(connection, payloads[1:])
        return len(payloads)

    def _hears_of_descendant(self, connection: Connection, acceptor: Acceptor) -> QsyncError | None:
        """Note a cluster that was made of ours, once that is proved; before it is answered.

        Returns an error if the certificate of the sender bears another name.
        """
        if not acceptor.superseded_by:
            return None
        assert acceptor.hello is not None
        if self._admission.tls is not None:
            try:
                check_hello(connection.identity, acceptor.hello)
            except QsyncError as error:
                return error
        self.hear_superseded(acceptor.superseded_by, acceptor.told_at)
        return None

    def _refuse(self, connection: Connection, acceptor: Acceptor, error: QsyncError) -> None:
        """Answer the last payload with the reason for closing; the caller closes the connection."""
        if isinstance(error, AccessDenied) and self._admission.leads():
            error.details[BY_LEADER] = True
        told = error.message[: limits.REFUSAL_CHARS_MAX]
        self._count(error.code.lower(), connection, told=told)
        self._reactor.send(connection, acceptor.refuse(error))
        self._reactor.flush()

    def _check(self, connection: Connection, hello: Hello) -> None:
        if self._admission.tls is not None:
            check_hello(connection.identity, hello)
        if hello.party is Party.CLIENT:
            self.room.check(local=connection.turn.user == LOCAL_ADMIN)
            return
        instance = hello.instance or ""
        known = self._instances.get(hello.replica, instance)
        if known != instance and hello.replica in self._inbound:
            raise ForeignCluster(
                f"replica id {hello.replica} is taken by instance {known}",
                hint="two directories run under one replica id; stop one of them",
            )
        self._admission.introduce(hello)
        self._instances[hello.replica] = instance

    def _welcome_peer(self, connection: Connection, hello: Hello) -> None:
        replica, instance = Replica(hello.replica), read_instance(hello.instance or "")
        connection.frames = SealedFrames(self._admission.peer_frame_bytes_max)
        former = self._inbound.get(replica)
        self._inbound[replica] = connection  # before the former one is lost: it did not depart
        if former is not None:
            self._reactor.close(former, "the peer connected again")
        connection.lost = lambda lost, _why: self._peer_lost(replica, lost)

        connection.whose = f"node {replica}"
        keepalive.watched(connection.sock)
        connection.take = partial(self._hear, replica, instance)

    def _hear(
        self, replica: Replica, instance: Instance, connection: Connection, payloads: list[bytes]
    ) -> int:
        """Handle a peer's message. All of it is read and checked before any state changes."""
        for payload in payloads:
            try:
                period = keepalive.period_of(payload)
                if period is not None:
                    connection.turn.period = period
                    self._reactor.send(connection, keepalive.PONG)
                    continue
                if payload[1:2] == BESIDE and self._hear_beside(replica, payload):
                    continue
                message = peer_messages.decode(payload)
                self._check_message(replica, message)
            except QsyncError as error:
                self._count(error.code.lower(), connection)
                raise
            self._step(Received(peer=replica, message=message, instance=instance))
        return len(payloads)

    def _hear_beside(self, replica: Replica, payload: bytes) -> bool:
        """Handle a message that is not for the machine; return false if it is."""
        if peer_sums.is_sums(payload):
            self.hear_sums(replica, peer_sums.decode(payload))
        elif peer_audit.is_head(payload):
            self.hear_audit(replica, peer_audit.decode(payload))
        elif snapshots.is_of_snapshot(payload):
            self.hear_snapshot(replica, snapshots.decode(payload))
        else:
            return False
        return True

    def _peer_lost(self, replica: Replica, connection: Connection) -> None:
        if self._inbound.get(replica) is connection:
            del self._inbound[replica]
            self._admission.depart(replica)

    def _welcome_client(self, connection: Connection) -> None:
        user = connection.turn.login
        self.room.enter(user)
        connection.whose, connection.urgent = "a client", False
        connection.frames.bytes_max = self._admission.client_frame_bytes_max
        connection.lost = lambda _lost, _why: self.room.leave(user)
        connection.take = self._serve

    def _serve(self, connection: Connection, payloads: list[bytes]) -> int:
        try:
            return self._requests.handle_frames(connection, payloads)
        except ProtocolError as error:
            self._count(error.code.lower(), connection)
            self._reactor.flush()
            raise

    def _count(self, why: str, connection: Connection, **more: str) -> None:
        """Count a refusal. `more`: what the other side was answered, or what TLS said."""
        self.refused[why] = self.refused.get(why, 0) + 1
        say = self._admission.say
        if say is not None:
            fields = {"why": why, "address": connection.turn.address} | more
            say("refused", fields)
