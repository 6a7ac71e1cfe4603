"""One node over a connection of its own, blocking: no retries, no looking for the leader."""

import socket
import time
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from election.messages import Replica
from qsync import lookups
from qsync.client import local_sockets, login, security, targets
from qsync.client.connection import HUNG_UP, PLAIN_HELLO, ClientConnection, unavailable
from qsync.client.login import Credentials
from qsync.client.security import ClientTls
from qsync.errors import ConfigError, QsyncError, Unavailable
from qsync.tls.errors import TlsFailed
from qsync.wire import limits, replies, requests
from qsync.wire.session import Hello
from qsync.wire.verbs import Request

if TYPE_CHECKING:
    from qsync.tls.channel import TlsSocket

TIMEOUT_S: Final = 2.0
"""How long a handshake or an answer may take, by default."""
_SHORTEST_S: Final = 0.001
"""A socket takes 0 for "do not wait at all"."""


class NodeConnection:
    """A connection to one node that asks one question at a time, each within `timeout` seconds.

    Whatever keeps an answer away is Unavailable with its `reason`, and ends the connection: a late
    answer could be taken for that to the next question. Raises what the handshake refuses, too.
    `greeting`: who answers there. Over TLS with `tls`, or where the environment says so. `greeted`:
    only until it has greeted, which it does before it asks who we are: nothing can be asked.
    `AsyncNodeConnection` is the same with `await`.
    """

    def __init__(
        self,
        address: str,
        *,
        timeout: float = TIMEOUT_S,
        hello: Hello = PLAIN_HELLO,
        replica: Replica | None = None,
        tls: ClientTls | None = None,
        credentials: Credentials | None = None,
        greeted: bool = False,
    ) -> None:
        self.address = address
        self._path = local_sockets.path_of(address)
        who = None if self._path is not None else credentials or login.of_environment()
        self.connection = ClientConnection(hello, replica=replica, credentials=who)
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self._payloads: deque[bytes] = deque()
        self.plain = self._dial()
        """The connection itself, for who sets its options."""
        self.socket: socket.socket | TlsSocket = self.plain
        try:
            if self._path is None:
                self._secure(tls or security.of_environment())
            while not (self.connection.ready or (greeted and self.connection.greeting)):
                self._receive()
        except BaseException:
            self.socket.close()
            raise
        greeting = self.connection.greeting
        assert greeting is not None
        self.greeting = greeting

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()

    def ask(self, request: Request, *, timeout: float | None = None) -> list[object]:
        """Return the values of the answer. Raises the error in the answer, or Unavailable."""
        self.post(request)
        return self.receive(request, timeout=timeout)

    def post(self, request: Request) -> None:
        """Send a question whose answer is taken later. Raises Unavailable."""
        self._deadline = time.monotonic() + self._timeout
        self._send(requests.encode(request))

    def receive(self, request: Request, *, timeout: float | None = None) -> list[object]:
        """Return the values of the answer to a question that was sent. Raises as `ask` does."""
        self._deadline = time.monotonic() + (self._timeout if timeout is None else timeout)
        while True:
            while not self._payloads:
                self._receive()
            number, answer = replies.decode(self._payloads.popleft())
            if number != request.id:
                continue  # the late answer to something given up
            if isinstance(answer, QsyncError):
                raise answer
            return answer

    def _dial(self) -> socket.socket:
        try:
            if self._path is not None:
                return local_sockets.connected(self._path, self._timeout)
            made = lookups.connected(*targets.split(self.address), self._timeout)
        except (OSError, ValueError, ConfigError) as error:
            raise unavailable(self.address, error) from None
        made.settimeout(self._timeout)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def _secure(self, tls: ClientTls | None) -> None:
        if tls is None:
            return
        from qsync.client import secured  # noqa: PLC0415 - only where TLS is spoken

        try:
            self.socket = secured.dialled(self.plain, tls, self.address, self.connection.certify)
        except (OSError, TlsFailed) as error:
            raise unavailable(self.address, error) from None

    def _receive(self) -> None:
        try:
            self._limit()
            received = self.socket.recv(limits.RECEIVE_BYTES)
        except BlockingIOError:
            return  # of a message of TLS, a part has come
        except (OSError, TlsFailed) as error:
            raise self._broken(error) from None
        if not received:
            raise self._broken(ConnectionError(HUNG_UP))
        self._payloads.extend(self.connection.received(received))
        for data in self.connection.out:
            self._send(data)
        self.connection.out.clear()

    def _send(self, data: bytes) -> None:
        try:
            self._limit()
            self.socket.sendall(data)
        except OSError as error:
            raise self._broken(error) from None

    def _broken(self, error: BaseException) -> Unavailable:
        self.close()
        return unavailable(self.address, error)

    def _limit(self) -> None:
        self.plain.settimeout(max(_SHORTEST_S, self._deadline - time.monotonic()))
