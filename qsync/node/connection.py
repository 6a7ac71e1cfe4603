"""One socket with its buffers: it reads what is there, sends what fits, and never waits."""

import select
import socket
from collections.abc import Callable
from enum import IntEnum
from time import perf_counter
from typing import Final, TypeVar

from qsync.node.allowed import AllowedQuestions
from qsync.node.effects import Socket
from qsync.tls.channel import TlsSocket
from qsync.tls.names import CertifiedName
from qsync.tls.plain import StreamSocket
from qsync.wire import limits
from qsync.wire.frames import Frames

UNSENT_BYTES_MAX: Final = 4 << 20
"""With so much waiting to be sent nothing more of that connection is read or answered."""


class ClientTurn:
    """Payloads of a client that wait, and until when they are taken in this pass; who it is.

    Of a peer: for how many periods nothing was heard, and what was under way to it at the last.
    """

    __slots__ = (
        "address",
        "allowed",
        "clock",
        "idle",
        "inbox",
        "login",
        "noted",
        "password",
        "period",
        "under_way",
        "until",
        "user",
    )

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self.clock = clock
        """By which the length of a turn is measured."""
        self.inbox: list[bytes] = []
        self.until = float("inf")
        self.user = ""
        """As whom it is judged; empty: it has not logged in."""
        self.login = ""
        """As whom it has logged in, who may act as another."""
        self.password = b""
        """What the password is checked by that it logged in with; empty: with none."""
        self.address = ""
        """The host at the other end."""
        self.allowed = AllowedQuestions()
        """What that user need not be looked up for again."""
        self.noted: set[str] = set()
        """What was written down of it once, and is not again."""
        self.idle = self.under_way = 0
        self.period = 0.0
        """How often the peer asks whether we live."""


class ClosedBy(IntEnum):
    """Which side ended a connection, if any has."""

    NOBODY = 0
    US = 1
    OTHER_SIDE = 2


class Connection:
    """A non-blocking socket. `take` gets the payloads of every read; `lost` is called once.

    `urgent`: a peer, or one that is being shaken hands with; it is served before all clients, whose
    payloads wait for their `turn`.
    """

    __slots__ = (
        "closed",
        "frames",
        "lost",
        "mask",
        "opened_at",
        "out",
        "sock",
        "take",
        "turn",
        "unsent",
        "urgent",
        "whose",
    )

    def __init__(
        self,
        sock: StreamSocket,
        *,
        frame_bytes_max: int,
        opened_at: float,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.sock = sock
        self.frames = Frames(frame_bytes_max)
        self.turn = ClientTurn(clock)
        self.out: list[bytes] = []
        self.unsent = 0
        """Bytes that wait to be sent."""
        self.mask = READABLE
        """The events that it is watched for."""
        self.closed = ClosedBy.NOBODY
        self.urgent = True
        self.opened_at = opened_at
        self.whose = "a stranger"
        """The peer, as text."""
        self.take: Take | None = None
        self.lost: Callable[[Connection, str], None] | None = None

    @property
    def fd(self) -> int:
        """The file descriptor; meaningless once it is closed."""
        return self.sock.fileno()

    @property
    def identity(self) -> CertifiedName | None:
        """The identity in the certificate of the other end; None without TLS or a certificate."""
        return self.sock.identity if isinstance(self.sock, TlsSocket) else None

    @property
    def full(self) -> bool:
        """Whether so much waits to be sent that no more requests are answered."""
        return self.unsent >= UNSENT_BYTES_MAX

    @property
    def spent(self) -> bool:
        """Whether its turn is over: the rest of its requests waits for the next one."""
        return self.unsent >= UNSENT_BYTES_MAX or self.turn.clock() >= self.turn.until

    def read(self) -> list[bytes] | None:
        """Return the whole payloads that have arrived; None at the end of the stream.

        Raises OSError, ProtocolError or TooLarge for bytes that are no frames, TlsFailed.
        """
        try:
            received = self.sock.recv(limits.RECEIVE_BYTES)
        except (BlockingIOError, InterruptedError):
            return []
        if not received:
            return None
        self.turn.idle = 0
        return self.frames.feed(received)

    def write(self) -> int:
        """Send what is queued, as much as fits. Returns the number of bytes. Raises OSError."""
        out = self.out
        if not out:
            return 0
        data = out[0] if len(out) == 1 else b"".join(out)
        out.clear()
        try:
            sent = self.sock.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        if sent < len(data):
            out.append(data[sent:])
        self.unsent = len(data) - sent
        return sent


Take = Callable[[Connection, list[bytes]], int]
"""Gets whole payloads in order, and says how many it took: the rest is given again."""


AnySocket = TypeVar("AnySocket", bound=Socket)


def nonblocking(sock: AnySocket) -> AnySocket:
    """Make the socket non-blocking, and small packets leave at once."""
    sock.settimeout(0)
    if sock.family != socket.AF_UNIX:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


READABLE = select.EPOLLIN
WRITABLE = select.EPOLLOUT
