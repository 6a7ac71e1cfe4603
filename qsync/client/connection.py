"""One connection of a client to one node, without the socket: handshake, then frames of answers.

The cluster's client (`link`), the connections to a single node (`one_node`, `one_node_aio`) and the
load generator are shells around it.
"""

import errno
import os
from dataclasses import replace
from typing import Final

from election.messages import Replica
from qsync.client import login
from qsync.client.login import Credentials
from qsync.errors import ConfigError, FailureReason, ForeignCluster, Unavailable
from qsync.lookups import Unresolved
from qsync.tls.errors import TlsFailed
from qsync.tls.names import CertifiedName
from qsync.wire import limits, proofs
from qsync.wire.connection_states import ConnectionState
from qsync.wire.frames import Frames
from qsync.wire.session import Dialer, Greeting, Hello, Party

HUNG_UP: Final = "it hung up"
LATE: Final = "no answer in time"


def reason(error: BaseException) -> str:
    """Return the system's words for an error, without its number and what a library added.

    What TLS says begins with its code, as what a node says that refuses the handshake.
    """
    if isinstance(error, TlsFailed):
        return f"{error.code}: {error.message}"
    if isinstance(error, ConfigError):
        return error.message
    told = _cause(error) or error
    if not isinstance(told, OSError):
        return str(told) or type(told).__name__
    if (
        told.errno is not None and told.errno in errno.errorcode
    ):  # a resolver has numbers of its own
        return os.strerror(told.errno)
    return told.strerror or str(told) or type(told).__name__


def unavailable(address: str, error: BaseException) -> Unavailable:
    """Return the error for requests to the node at that address."""
    cause = _cause(error)
    late = isinstance(cause, TimeoutError)
    why = LATE if late and not isinstance(cause, Unresolved) else reason(error)
    failure = Unavailable(f"{address}: {why}", details={"nodes": {address: why}})
    if late:
        failure.reason = FailureReason.TIMED_OUT
    elif isinstance(cause, ConnectionRefusedError):
        failure.reason = FailureReason.REFUSED
    return failure


def _cause(error: BaseException) -> OSError | None:
    """Return the system's own error: that of the last attempt, where a library made several."""
    found: BaseException | None = error
    while found is not None and not (isinstance(found, OSError) and found.__cause__ is None):
        found = found.exceptions[-1] if isinstance(found, BaseExceptionGroup) else found.__cause__
    return found


PLAIN_HELLO: Final = Hello(party=Party.CLIENT)
"""The cluster id of a client that accepts any cluster."""


class ClientConnection:
    """Feed `received` with what comes, send what is in `out`. Once `ready`, requests may be sent.

    `replica`: who must answer there; None takes anybody of the hello's cluster. `credentials`: as
    whom to log in; the node must ask for it.
    """

    def __init__(
        self,
        hello: Hello = PLAIN_HELLO,
        *,
        replica: Replica | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        self.ready = False
        self.certified: CertifiedName | None = None
        self.out: list[bytes] = []
        self.frames = Frames(limits.HANDSHAKE_BYTES_MAX)
        derive = None
        if credentials is not None:
            nonce = os.urandom(proofs.NONCE_BYTES)
            hello = replace(hello, user=credentials.user, nonce=nonce)
            derive = credentials.derive
        acting = login.acting()
        if acting:
            hello = replace(hello, acting=acting)
        self._dialer = Dialer(hello, replica=replica, derive=derive)

    @property
    def greeting(self) -> Greeting | None:
        """The greeting of the node; None before it came."""
        return self._dialer.greeting

    def certify(self, name: CertifiedName, binding: bytes) -> None:
        """Note that the connection is over TLS, and which node its certificate names.

        Whoever greets must be that node, or it gets no hello. `binding`: what names this channel;
        a password is proven for it only, so nobody in between can pass the proof on.
        """
        self.certified = name
        self._dialer.binding = binding

    def received(self, data: bytes) -> list[bytes]:
        """Return the payloads of answers that are whole now.

        Raises the node's refusal, ForeignCluster and WrongVersion of a peer that is not the wanted
        or not the certified one, TooLarge and ProtocolError of nonsense; the connection must be
        closed then.
        """
        payloads = self.frames.feed(data)
        return payloads if self.ready else self._shake_hands(payloads)

    def _shake_hands(self, payloads: list[bytes]) -> list[bytes]:
        for at, payload in enumerate(payloads, 1):
            hello = self._dialer.received(payload)
            if self.greeting is not None and self.certified is not None:
                check_certified(self.certified, self.greeting)
            if hello is not None:
                self.out.append(hello)
            if self._dialer.state is ConnectionState.READY:
                self.ready = True
                self.frames.bytes_max = limits.ANSWER_BYTES_MAX
                return payloads[at:]
        return []


def check_certified(name: CertifiedName, greeting: Greeting) -> None:
    """Check that the greeting comes from the node of the certificate. Raises ForeignCluster.

    Not AccessDenied: another node may well be who it says.
    """
    if name.cluster != greeting.cluster:
        raise ForeignCluster(
            f"{greeting.name} is of cluster {greeting.cluster}, and shows a certificate of "
            f"cluster {name.cluster}"
        )
    if name.name != greeting.name:
        raise ForeignCluster(f"{greeting.name} shows the certificate of {name}")
