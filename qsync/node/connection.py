"""One socket with its buffers: read what is there, send what fits, never wait."""

import select
import socket
from collections.abc import Callable

from qsync.wire.frames import Frames

READ_BYTES = 256 * 1024
"""How much is read from one socket in one pass."""


class Connection:
    """A non-blocking socket. `take` gets the payloads of every read; `lost` is called once."""

    __slots__ = (
        "backlog_bytes",
        "closed",
        "data",
        "fd",
        "frames",
        "lost",
        "opened_at",
        "out",
        "sock",
        "take",
        "waits_to_write",
        "whose",
    )

    def __init__(self, sock: socket.socket, *, frame_bytes_max: int, opened_at: float) -> None:
        self.sock = sock
        self.fd = sock.fileno()
        self.frames = Frames(frame_bytes_max)
        self.out: list[bytes] = []
        self.backlog_bytes = 0
        self.waits_to_write = False
        self.closed = False
        self.opened_at = opened_at
        self.whose = "a stranger"
        """Who is at the other end, for people."""
        self.take: Take | None = None
        self.lost: Callable[[Connection, str], None] | None = None
        self.data: object = None

    def read(self) -> list[bytes] | None:
        """Whole payloads that have arrived; None at the end of the stream.

        Raises OSError, and ProtocolError or TooLarge for bytes that are no frames.
        """
        try:
            received = self.sock.recv(READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return []
        if not received:
            return None
        return self.frames.feed(received)

    def write(self) -> bool:
        """Send what is queued. True when nothing is left. Raises OSError."""
        out = self.out
        if not out:
            return True
        data = out[0] if len(out) == 1 else b"".join(out)
        out.clear()
        try:
            sent = self.sock.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        if sent == len(data):
            self.backlog_bytes = 0
            return True
        rest = data[sent:]
        out.append(rest)
        self.backlog_bytes = len(rest)
        return False


Take = Callable[[Connection, list[bytes]], None]
"""Gets whole payloads, in order."""


def nonblocking(sock: socket.socket) -> socket.socket:
    """No waiting in calls, no waiting for small packets."""
    sock.settimeout(0)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


READABLE = select.EPOLLIN
WRITABLE = select.EPOLLOUT
