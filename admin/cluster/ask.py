"""One question to one node over a connection of its own: no retries, no looking for the leader."""

import socket
import time
from collections import deque
from types import TracebackType
from typing import Self

from qsync.errors import ProtocolError, QsyncError, Unavailable
from qsync.wire import replies, requests
from qsync.wire.frames import Frames
from qsync.wire.session import Dialer, Greeting, Hello, Party
from qsync.wire.verbs import PlainRequest, Request, Verb

TIMEOUT_S = 2.0
_RECEIVE_BYTES = 256 * 1024


class NodeConnection:
    """A connection to one node that asks one thing after another, each within `timeout` seconds."""

    def __init__(self, address: str, *, timeout: float = TIMEOUT_S) -> None:
        self.address = address
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self._frames = Frames()
        self._waiting: deque[bytes] = deque()
        self._socket = self._dial()
        try:
            self.greeting = self._shake_hands()
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def ask(self, request: Request, *, timeout: float | None = None) -> list[object]:
        """The values of the answer. Raises the error that was answered, or Unavailable."""
        self.post(request)
        return self.take(request, timeout=timeout)

    def post(self, request: Request) -> None:
        """Send a question whose answer is taken later. Raises Unavailable."""
        self._send(requests.encode(request))

    def take(self, request: Request, *, timeout: float | None = None) -> list[object]:
        """The values of the answer to a question that was sent. Raises as `ask` does."""
        self._deadline = time.monotonic() + (self._timeout if timeout is None else timeout)
        while True:
            number, answer = replies.decode(self._payload())
            if number != request.id:
                continue  # the late answer to something given up
            if isinstance(answer, QsyncError):
                raise answer
            return answer

    def _dial(self) -> socket.socket:
        host, _, port = self.address.rpartition(":")
        try:
            return socket.create_connection((host.strip("[]"), int(port)), timeout=self._timeout)
        except (OSError, ValueError) as error:
            raise self._silent(error) from None

    def _shake_hands(self) -> Greeting:
        dialer = Dialer(Hello(party=Party.CLIENT))
        hello = dialer.received(self._payload())
        assert hello is not None
        self._send(hello)
        dialer.received(self._payload())
        assert dialer.greeting is not None
        return dialer.greeting

    def _payload(self) -> bytes:
        while not self._waiting:
            self._socket.settimeout(max(0.001, self._deadline - time.monotonic()))
            try:
                received = self._socket.recv(_RECEIVE_BYTES)
            except OSError as error:
                raise self._silent(error) from None
            if not received:
                raise self._silent(ConnectionError("it hung up"))
            self._waiting.extend(self._frames.feed(received))
        return self._waiting.popleft()

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise self._silent(error) from None

    def _silent(self, error: Exception) -> Unavailable:
        why = "no answer in time" if isinstance(error, TimeoutError) else str(error)
        return Unavailable(f"{self.address}: {why}", details={"nodes": {self.address: why}})


def status(address: str, *, timeout: float = TIMEOUT_S) -> dict[str, object]:
    """The STATUS map of one node, and when it was asked. Raises Unavailable or its error."""
    with NodeConnection(address, timeout=timeout) as line:
        asked = {"asked": time.monotonic_ns()}
        return replies.read_map(line.ask(PlainRequest(1, Verb.STATUS))) | asked


def value(address: str, request: Request, *, timeout: float = TIMEOUT_S) -> list[object]:
    """The values of the answer to one request."""
    with NodeConnection(address, timeout=timeout) as line:
        return line.ask(request, timeout=timeout)


def only(values: list[object]) -> object:
    """The one value of an answer. Raises ProtocolError when there is none."""
    if not values:
        raise ProtocolError("an answer without a value")
    return values[0]
