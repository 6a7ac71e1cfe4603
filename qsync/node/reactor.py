"""All sockets of a node behind one epoll: one wake-up of one task serves all that are ready.

A Trio task for every connection would cost more than a whole transaction (performance.md). The
node's task waits once, on the epoll object itself, and then reads without waiting. Peers go first;
each client has its turn, and what is left of it waits for the next pass, so that heartbeats never
wait for what one client asked.
"""

import select
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from qsync.errors import QsyncError
from qsync.node import refusals
from qsync.node.connection import READABLE, WRITABLE, ClosedBy, Connection, Take
from qsync.node.due import Due
from qsync.node.effects import Effects, PendingLookup, Socket
from qsync.node.listener import Accept, Listener
from qsync.node.system import SYSTEM
from qsync.node.unfinished import UnfinishedRequests
from qsync.wire import replies, requests

EVENTS_MAX = 1024
"""Ready sockets served in one pass."""
PASSES_MAX = 16
"""Passes in a row before other tasks of the node get their turn."""
PASSES_SECONDS_MAX: Final = 0.02
"""Nor do they wait longer than this, and one request."""
TURN_PAYLOADS_MAX: Final = 256
"""Payloads of one client taken in its turn."""
TURN_SECONDS_MAX: Final = 0.004
"""Limit of the turn of one client, in seconds."""
CLIENTS_SECONDS_MAX: Final = 0.01
"""Limit of the turns of all clients in one pass, in seconds."""
LINGER = 0.001
"""Seconds to wait for more on the epoll object itself after a pass: an answer from a peer is often
under way, and waking up through the scheduler costs more than serving it."""
PEER_UNSENT_BYTES_MAX = 256 << 20
"""The limit of bytes that wait to be sent to a peer; a slower one is disconnected."""
HUNG_UP: Final = "closed by the other side"
_GONE: Final = select.EPOLLERR | select.EPOLLHUP

Survive = Callable[[Exception, str], None]
"""Records a bug of ours and what was being done; raises it if the node cannot go on."""


class _Calls(NamedTuple):
    """The calls of a reactor."""

    begin: Callable[[], None]
    turn: Callable[[], None]
    survive: Survive
    unfinished: UnfinishedRequests


class Reactor:
    """Reads from all connections, and hands payloads to those that take them.

    `begin` looks at the clock: before every pass, and before what was received is handed over.
    `turn` once after it. `unsent_max`: bytes that may wait to be sent to all clients together;
    beyond it those who read least are disconnected. `unfinished`: what clients have begun to send.
    """

    def __init__(
        self,
        *,
        begin: Callable[[], None],
        turn: Callable[[], None],
        survive: Survive,
        unsent_max: int,
        unfinished: UnfinishedRequests,
        effects: Effects = SYSTEM,
    ) -> None:
        self.effects = effects
        self.due = Due(failed=self._failed, clock=effects.stopwatch)
        """Answers that wait for their turn."""
        self.leaving: Callable[[], None] | None = None
        """Called before anything is sent, on nodes that write down what happens inside of them."""
        self.unsent = 0
        self._unsent_max = unsent_max
        self._poll = effects.poll()
        self._calls = _Calls(begin, turn, survive, unfinished)
        self._connections: dict[int, Connection] = {}
        self._connecting: dict[int, tuple[Socket | PendingLookup, Callable[[], None]]] = {}
        self._doors: dict[int, Listener] = {}
        self._dirty: list[Connection] = []
        self._waiting: deque[Connection] = deque()

    def __len__(self) -> int:
        return len(self._connections)

    def connections(self) -> list[Connection]:
        """Every open connection."""
        return list(self._connections.values())

    # -- what is watched

    def listen(self, sock: Socket, accept: Accept) -> None:
        """Watch a listening socket."""
        self._doors[sock.fileno()] = Listener(sock, accept, self.effects.spare)
        self._poll.register(sock.fileno(), READABLE)

    def connecting(
        self, pending: Socket | PendingLookup, done: Callable[[], None], mask: int = WRITABLE
    ) -> None:
        """Watch a socket that is being connected, or the lookup of a name, which is READABLE.

        `done` is called when it is, or has failed.
        """
        self._connecting[pending.fileno()] = pending, done
        self._poll.register(pending.fileno(), mask)

    def forget(self, pending: Socket | PendingLookup) -> None:
        """Stop watching what was not connected, or not resolved."""
        if self._connecting.pop(pending.fileno(), None) is not None:
            self._poll.unregister(pending.fileno())

    def add(self, connection: Connection) -> None:
        """Watch a connection."""
        self._connections[connection.fd] = connection
        self._poll.register(connection.fd, READABLE)

    def close(self, connection: Connection, why: str, *, by: ClosedBy = ClosedBy.US) -> None:
        """Close a connection and notify its owner once. `by`: OTHER_SIDE when the peer hung up."""
        if connection.closed:
            return
        connection.closed = by
        self.unsent -= connection.unsent
        self._calls.unfinished.forget(connection)
        del self._connections[connection.fd]
        self._poll.unregister(connection.fd)
        connection.sock.close()
        if connection.lost is not None:
            connection.lost(connection, why)

    def shut(self) -> None:
        """Close everything."""
        for connection in self.connections():
            self.close(connection, "the node stops")
        for pending, _ in self._connecting.values():
            pending.close()
        self._connecting.clear()
        for door in self._doors.values():
            door.close()
        self._doors.clear()
        self._poll.close()

    # -- sending

    def send(self, connection: Connection, data: bytes) -> None:
        """Queue bytes; they are sent by the next `flush`."""
        if connection.closed:
            return
        if not connection.out:
            self._dirty.append(connection)
        connection.out.append(data)
        connection.unsent += len(data)
        self.unsent += len(data)

    def flush(self) -> None:
        """Send what was queued, with one call for each connection."""
        if self.unsent and self.leaving is not None:
            self.leaving()
        dirty, self._dirty = self._dirty, []
        for connection in dirty:
            if not connection.closed and not connection.mask & WRITABLE:
                self._write(connection)
        if self.unsent > self._unsent_max:
            self._shed()

    def _shed(self) -> None:
        """Close the clients with most unread answers while too many bytes wait to be sent."""
        idle = [each for each in self._connections.values() if not each.urgent and each.unsent]
        for connection in sorted(idle, key=lambda each: each.unsent, reverse=True):
            if self.unsent <= self._unsent_max:
                return
            self.close(connection, f"{connection.unsent} bytes unread (unsent_bytes_max)")

    def _write(self, connection: Connection) -> None:
        try:
            self.unsent -= connection.write()
        except OSError as error:
            self.close(connection, f"sending failed: {error}")
            return
        if connection.urgent and connection.unsent > PEER_UNSENT_BYTES_MAX:
            self.close(connection, f"{connection.unsent} bytes unread by the other side")
            return
        # A peer that does not read its answers gets no further requests served.
        mask = (0 if connection.full and not connection.urgent else READABLE) | (
            WRITABLE if connection.unsent else 0
        )
        if mask != connection.mask:
            connection.mask = mask
            self._poll.modify(connection.fd, mask)

    # -- receiving

    async def run(self) -> None:
        """Serve until cancelled."""
        while True:
            if self._busy:
                await self.effects.give_way()
            else:
                await self.effects.readable(self._poll)
            linger, until = 0.0, self.effects.stopwatch() + PASSES_SECONDS_MAX
            for _ in range(PASSES_MAX):
                if not self._pass(linger) or self.effects.stopwatch() >= until:
                    break
                linger = LINGER

    @property
    def _busy(self) -> bool:
        """Whether work is left that no socket will wake us for."""
        if self._waiting and any(not each.full for each in self._waiting):
            return True
        return self.due.ready

    def _pass(self, linger: float) -> bool:
        busy = self._busy
        ready = self._poll.poll(0.0 if busy else linger, EVENTS_MAX)
        if not ready and not busy:
            return False
        self._calls.begin()
        clients = []
        for fd, mask in ready:
            connection = self._connections.get(fd)
            if connection is None:
                self._other(fd)
                continue
            if mask & WRITABLE:
                self._write(connection)
            if not mask & ~WRITABLE or connection.closed:
                continue
            if connection.urgent:
                self._read(connection)
            else:
                clients.append((connection, mask))
        for connection, mask in clients:
            if not connection.closed:
                self._read_client(connection, mask)
        self._serve()
        self._calls.turn()
        return True

    def _read_client(self, connection: Connection, mask: int) -> None:
        if not connection.turn.inbox and connection.mask & READABLE:
            self._read(connection)
        elif mask & _GONE:
            self.close(connection, HUNG_UP, by=ClosedBy.OTHER_SIDE)

    def _read(self, connection: Connection) -> None:
        try:
            payloads = connection.read()
        except OSError as error:
            self.close(connection, f"receiving failed: {error}")
        except QsyncError as error:
            self.close(connection, str(error))
        else:
            if payloads is None:
                self.close(connection, HUNG_UP, by=ClosedBy.OTHER_SIDE)
            else:
                if not connection.urgent:
                    unfinished = self._calls.unfinished
                    for each in unfinished.received(connection, whole=bool(payloads)):
                        _give_up(self, each, unfinished.bytes_max)
                taken = 0
                if connection.urgent and payloads:
                    # membership.md M11 j: a promise is made, and a lease is judged, by a clock that
                    # was read after the message was received. What was served before it may have
                    # taken long.
                    self._calls.begin()
                    taken = self._hand(connection, payloads)
                if len(payloads) > taken and not connection.closed:
                    connection.turn.inbox = payloads[taken:]
                    self._waiting.append(connection)

    def _serve(self) -> None:
        """Serve clients in turns, as long as this pass may last."""
        if not self._waiting:
            return
        # membership.md M11 j, as in `_read`: after all of it was received.
        self._calls.begin()
        until = self.effects.stopwatch() + CLIENTS_SECONDS_MAX
        for _ in range(len(self._waiting)):
            connection = self._waiting.popleft()
            if connection.closed:
                continue
            if not connection.full:
                connection.turn.until = self.effects.stopwatch() + TURN_SECONDS_MAX
                inbox = connection.turn.inbox
                taken = self._hand(connection, inbox[:TURN_PAYLOADS_MAX])
                connection.turn.inbox = inbox[taken:]
            if connection.turn.inbox and not connection.closed:
                self._waiting.append(connection)
            if self.effects.stopwatch() >= until:
                return

    def _hand(self, connection: Connection, payloads: list[bytes]) -> int:
        """Hand over a payload. An invalid one ends its connection, never the loop."""
        take: Take | None = connection.take
        if take is None:
            return len(payloads)
        try:
            return take(connection, payloads)
        except Exception as error:  # noqa: BLE001 - taken note of, or raised again
            self._failed(connection, error)
            return len(payloads)

    def _failed(self, connection: Connection, error: Exception) -> None:
        self._calls.survive(error, f"serving {connection.whose}")
        self.close(connection, str(error) or repr(error))

    def _other(self, fd: int) -> None:
        try:
            door = self._doors.get(fd)
            if door is not None:
                door.take_all()
                return
            if fd in self._connecting:
                _, done = self._connecting.pop(fd)
                self._poll.unregister(fd)
                done()
        except Exception as error:  # noqa: BLE001 - taken note of, or raised again
            self._calls.survive(error, "opening a connection")


def _give_up(reactor: Reactor, connection: Connection, limit: int) -> None:
    """Refuse the unfinished request of that connection, which has to yield."""
    number = requests.number_of(connection.frames.skip())
    error = refusals.unfinished(limit)
    if number is None:
        reactor.close(connection, str(error))
    else:
        reactor.send(connection, replies.failed(number, error))
