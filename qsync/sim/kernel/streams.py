"""Sockets between simulated machines: bytes that are late, in pieces, cut off, lost with a peer.

Every connection keeps order, as TCP does. Blocked bytes (a partition) wait and are sent again
later; bytes to a vanished peer are answered by a reset, or not at all.
"""

import errno
import socket as real
from collections import deque
from typing import Any, Final, Protocol

NEVER: Final = float("inf")
FAMILY: Final = int(real.AF_INET)
READABLE: Final = 1
WRITABLE: Final = 4
GONE: Final = 8 | 16
"""Bits of epoll."""


class SocketNet(Protocol):
    """The network between two ends; see `qsync.sim.kernel.net`."""

    window: int
    doors: dict[int, "SimulatedSocket"]

    def delay(self) -> float:
        """Of one packet."""

    def dial(self, sock: "SimulatedSocket", port: int, now: float) -> None:
        """A first packet leaves."""

    def carry(self, sock: "SimulatedSocket", data: bytes, now: float) -> None:
        """Bytes leave."""

    def closing(self, sock: "SimulatedSocket", now: float, *, silent: bool = False) -> None:
        """An end is closed by its process, or with it."""


class SocketOwner(Protocol):
    """A process, as seen by its connections; see `qsync.sim.kernel.process`."""

    dead: bool

    @property
    def net(self) -> SocketNet:
        """What its machine is connected by."""

    def enter(self) -> float:
        """It calls its kernel."""

    def received(self, now: float) -> None:
        """It takes something from a connection."""

    def wake(self, at: float) -> None:
        """Something will be there for it at that moment of the room."""

    def descriptor(self, sock: "SimulatedSocket") -> int:
        """The lowest number that is free. Raises OSError when it may have no more."""

    def forget(self, sock: "SimulatedSocket") -> None:
        """That end is closed."""


class StreamChunk:
    """Bytes in flight; none: the end of the stream. `at`: the time of arrival."""

    __slots__ = ("at", "data")

    def __init__(self, at: float, data: bytes) -> None:
        self.at = at
        self.data = data


class Flaws:
    """The faults of bytes sent from an end. `lost`: they vanish silently.

    `spoiled`: a bit of the next piece is flipped. `sent`: bytes so far. `error`: why it could not
    be connected.
    """

    __slots__ = ("error", "lost", "sent", "spoiled")

    def __init__(self) -> None:
        self.error = 0
        self.lost = False
        self.spoiled = False
        self.sent = 0


class SimulatedListener:
    """A listening port. `backlog`: connections that arrived, and when."""

    __slots__ = ("backlog", "port")

    def __init__(self, port: int) -> None:
        self.port = port
        self.backlog: deque[tuple[float, SimulatedSocket]] = deque()


class SimulatedSocket:
    """One end of a connection, or a listening port. It belongs to `process` after accept."""

    family = FAMILY

    __slots__ = (
        "closed",
        "connected_at",
        "door",
        "fd",
        "flaws",
        "heard_at",
        "inbox",
        "peer",
        "process",
        "reset_at",
        "waiting",
        "whose",
    )

    def __init__(self, process: SocketOwner | None, whose: int) -> None:
        self.process = process
        self.whose = whose
        """The number of its machine."""
        self.fd = -1 if process is None else process.descriptor(self)
        self.peer: SimulatedSocket | None = None
        self.inbox: deque[StreamChunk] = deque()
        self.waiting = 0
        """Bytes in the inbox, in flight or arrived."""
        self.door: SimulatedListener | None = None
        self.flaws = Flaws()
        self.connected_at = NEVER
        self.reset_at = NEVER
        self.closed = False
        self.heard_at = NEVER
        """When it becomes readable: updated whenever that changes."""

    @property
    def net(self) -> SocketNet:
        """All connections."""
        assert self.process is not None
        return self.process.net

    # -- what a process calls

    def fileno(self) -> int:
        """Its number; -1 once it is closed."""
        return -1 if self.closed else self.fd

    def settimeout(self, _seconds: float, /) -> None:
        """No effect: nothing blocks here."""

    def setsockopt(self, _level: int, _option: int, _value: int, /) -> None:
        """Nothing to set."""

    def getsockopt(self, _level: int, _option: int, /) -> int:
        """SO_ERROR is all that is asked."""
        found, self.flaws.error = self.flaws.error, 0
        self.listen_up()
        return found

    def getsockname(self) -> Any:  # noqa: ANN401 - as the standard library
        """Its own address."""
        return ("127.0.0.1", 0 if self.door is None else self.door.port)

    def bind(self, address: tuple[str, int], /) -> None:
        """Take an address."""
        self._enter()
        if address[1] in self.net.doors:
            raise OSError(errno.EADDRINUSE, "address already in use")
        self.door = SimulatedListener(address[1])

    def listen(self, _backlog: int, /) -> None:
        """Start listening."""
        assert self.door is not None
        self.net.doors[self.door.port] = self

    def accept(self) -> tuple["SimulatedSocket", Any]:
        """Accept the next connection."""
        now = self._enter()
        assert self.door is not None
        backlog = self.door.backlog
        if not backlog or backlog[0][0] > now:
            raise BlockingIOError
        assert self.process is not None
        fresh = backlog[0][1]
        fresh.fd = self.process.descriptor(fresh)
        fresh.process = self.process
        backlog.popleft()
        self.listen_up()
        return fresh, ("127.0.0.1", 0)

    def connect_ex(self, address: tuple[str, int], /) -> int:
        """Begin to connect."""
        now = self._enter()
        self.net.dial(self, address[1], now)
        return errno.EINPROGRESS

    def send(self, data: bytes | bytearray, /) -> int:
        """As much as fits."""
        now = self._enter()
        if self.peer is None:
            raise OSError(errno.ENOTCONN, "not connected")
        if self.reset_at <= now:
            raise ConnectionResetError(errno.ECONNRESET, "connection reset by peer")
        room = self.net.window - self.peer.waiting
        if room <= 0:
            raise BlockingIOError
        taken = bytes(data[:room])
        self.net.carry(self, taken, now)
        return len(taken)

    def recv(self, size: int, /) -> bytes:
        """Receive the arrived bytes."""
        now = self._enter()
        inbox = self.inbox
        if not inbox or inbox[0].at > now:
            if self.reset_at <= now:
                raise ConnectionResetError(errno.ECONNRESET, "connection reset by peer")
            raise BlockingIOError
        if not inbox[0].data:
            return b""
        parts, left, full = [], size, self.waiting >= self.net.window
        while inbox and inbox[0].at <= now and inbox[0].data and left > 0:
            piece = inbox[0]
            if len(piece.data) <= left:
                inbox.popleft()
                parts.append(piece.data)
            else:
                parts.append(piece.data[:left])
                piece.data = piece.data[left:]
            left -= len(parts[-1])
        self.waiting -= size - left
        self.listen_up()
        assert self.process is not None
        self.process.received(now)
        if full and self.peer is not None and self.peer.process is not None:
            self.peer.process.wake(now + self.net.delay())
        return b"".join(parts)

    def close(self) -> None:
        """Close it. Unread bytes cause a reset, as in a real system."""
        if not self.closed:
            self.net.closing(self, self._enter())

    # -- what a kernel sees

    def ready(self, now: float) -> int:
        """Its readiness, as epoll bits."""
        if self.closed:
            return 0
        if self.door is not None:
            return READABLE if self.heard_at <= now else 0
        if self.connected_at > now:
            return 0
        if self.flaws.error:
            return WRITABLE | GONE
        found = 0
        if self.inbox and self.inbox[0].at <= now:
            found = READABLE
        if self.reset_at <= now:
            return READABLE | WRITABLE | GONE
        if self.peer is not None and self.peer.waiting < self.net.window:
            found |= WRITABLE
        return found

    def listen_up(self) -> None:
        """Its readable bytes, or their time, changed."""
        if self.closed:
            found = NEVER
        elif self.door is not None:
            found = self.door.backlog[0][0] if self.door.backlog else NEVER
        else:
            found = self.reset_at
            if self.inbox and self.inbox[0].at < found:
                found = self.inbox[0].at
            if self.flaws.error or found < self.connected_at:
                found = self.connected_at
        self.heard_at = found

    def may_send_at(self, now: float) -> float:
        """When it becomes writable, as far as is known; if not later than now, it is writable."""
        if self.closed:
            return NEVER
        if self.connected_at > now:
            return self.connected_at
        room = self.peer is not None and self.peer.waiting < self.net.window
        return now if room else NEVER

    def on_its_way(self, now: float) -> int:
        """Bytes that were sent from here and have not arrived yet."""
        peer = self.peer
        return 0 if peer is None else sum(len(each.data) for each in peer.inbox if each.at > now)

    def _enter(self) -> float:
        assert self.process is not None
        return self.process.enter()
