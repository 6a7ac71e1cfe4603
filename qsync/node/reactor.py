"""All sockets of a node behind one epoll: one wake-up of one task serves all that are ready.

A Trio task for every connection would cost more than a whole transaction (performance.md). The
node's task waits once, on the epoll object itself, and then reads without waiting.
"""

import select
import socket
from collections.abc import Callable

import trio

from qsync.errors import QsyncError
from qsync.node.connection import READABLE, WRITABLE, Connection, Take, nonblocking

EVENTS_MAX = 1024
"""Ready sockets served in one pass."""
PASSES_MAX = 16
"""Passes in a row before other tasks of the node get their turn."""
LINGER = 0.001
"""Seconds to wait for more on the epoll object itself after a pass: an answer from a peer is often
under way, and waking up through the scheduler costs more than serving it."""
BACKLOG_BYTES_MAX = 256 << 20
"""What may wait to be sent on one connection; a slower reader is disconnected."""

Accept = Callable[[socket.socket], None]
Survive = Callable[[Exception, str], None]
"""Takes note of a mistake of our own and what was being done; raises it if nobody can go on."""


class Reactor:
    """Reads, hands payloads to their takers; `begin` before every pass and `turn` once after it."""

    def __init__(
        self, *, begin: Callable[[], None], turn: Callable[[], None], survive: Survive
    ) -> None:
        self._survive = survive
        self._epoll = select.epoll()
        self._begin = begin
        self._turn = turn
        self._connections: dict[int, Connection] = {}
        self._connecting: dict[int, Callable[[], None]] = {}
        self._listeners: dict[int, tuple[socket.socket, Accept]] = {}
        self._dirty: list[Connection] = []

    def __len__(self) -> int:
        return len(self._connections)

    def connections(self) -> list[Connection]:
        """Every open connection."""
        return list(self._connections.values())

    # -- what is watched

    def listen(self, sock: socket.socket, accept: Accept) -> None:
        """Watch a listening socket."""
        sock.settimeout(0)
        self._listeners[sock.fileno()] = (sock, accept)
        self._epoll.register(sock.fileno(), READABLE)

    def connecting(self, sock: socket.socket, done: Callable[[], None]) -> None:
        """Watch a socket that is being connected; `done` when it stands or failed."""
        self._connecting[sock.fileno()] = done
        self._epoll.register(sock.fileno(), WRITABLE)

    def forget(self, sock: socket.socket) -> None:
        """Stop watching a socket that was being connected."""
        if self._connecting.pop(sock.fileno(), None) is not None:
            self._epoll.unregister(sock.fileno())

    def add(self, connection: Connection) -> None:
        """Watch a connection."""
        self._connections[connection.fd] = connection
        self._epoll.register(connection.fd, READABLE)

    def close(self, connection: Connection, why: str) -> None:
        """Drop a connection; its owner is told once."""
        if connection.closed:
            return
        connection.closed = True
        del self._connections[connection.fd]
        self._epoll.unregister(connection.fd)
        connection.sock.close()
        if connection.lost is not None:
            connection.lost(connection, why)

    def shut(self) -> None:
        """Close everything."""
        for connection in self.connections():
            self.close(connection, "the node stops")
        for sock, _ in self._listeners.values():
            sock.close()
        self._listeners.clear()
        self._epoll.close()

    # -- sending

    def send(self, connection: Connection, data: bytes) -> None:
        """Queue bytes; they leave at the next `flush`."""
        if connection.closed:
            return
        if not connection.out:
            self._dirty.append(connection)
        connection.out.append(data)

    def flush(self) -> None:
        """Send what was queued, one call a connection."""
        dirty, self._dirty = self._dirty, []
        for connection in dirty:
            if not connection.closed and not connection.waits_to_write:
                self._write(connection)

    def _write(self, connection: Connection) -> None:
        try:
            done = connection.write()
        except OSError as error:
            self.close(connection, f"sending failed: {error}")
            return
        if connection.backlog_bytes > BACKLOG_BYTES_MAX:
            self.close(connection, f"{connection.backlog_bytes} bytes unread by the other side")
        elif done == connection.waits_to_write:
            connection.waits_to_write = not done
            mask = READABLE if done else READABLE | WRITABLE
            self._epoll.modify(connection.fd, mask)

    # -- receiving

    async def run(self) -> None:
        """Serve until cancelled."""
        while True:
            await trio.lowlevel.wait_readable(self._epoll.fileno())
            linger = 0.0
            for _ in range(PASSES_MAX):
                if not self._pass(linger):
                    break
                linger = LINGER

    def _pass(self, linger: float) -> bool:
        ready = self._epoll.poll(linger, EVENTS_MAX)
        if not ready:
            return False
        self._begin()
        for fd, mask in ready:
            connection = self._connections.get(fd)
            if connection is None:
                self._other(fd)
                continue
            if mask & WRITABLE:
                self._write(connection)
            if mask & ~WRITABLE and not connection.closed:
                self._read(connection)
        self._turn()
        return True

    def _read(self, connection: Connection) -> None:
        try:
            payloads = connection.read()
        except OSError as error:
            self.close(connection, f"receiving failed: {error}")
        except QsyncError as error:
            self.close(connection, str(error))
        else:
            if payloads is None:
                self.close(connection, "closed by the other side")
            elif payloads and connection.take is not None:
                self._hand(connection, connection.take, payloads)

    def _hand(self, connection: Connection, take: Take, payloads: list[bytes]) -> None:
        """No input of one connection ends the loop: what is wrong with it ends the connection."""
        try:
            take(connection, payloads)
        except Exception as error:  # noqa: BLE001 - taken note of, or raised again
            self._survive(error, f"taking from {connection.whose}")
            self.close(connection, str(error) or repr(error))

    def _other(self, fd: int) -> None:
        listener = self._listeners.get(fd)
        if listener is not None:
            _accept_all(*listener)
            return
        done = self._connecting.pop(fd, None)
        if done is not None:
            self._epoll.unregister(fd)
            done()


def _accept_all(sock: socket.socket, accept: Accept) -> None:
    while True:
        try:
            fresh, _ = sock.accept()
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            # Out of file descriptors, or the other side is gone already: the next pass tries again.
            return
        accept(nonblocking(fresh))
