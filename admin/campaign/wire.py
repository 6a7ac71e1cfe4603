"""One open connection to one node with any number of questions under way. It repeats nothing."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from itertools import count

import trio

from qsync.errors import QsyncError
from qsync.wire import replies, requests
from qsync.wire.frames import Frames
from qsync.wire.session import Dialer, Hello, Party
from qsync.wire.verbs import Request

CONNECT_S = 5.0
_RECEIVE_BYTES = 64 * 1024
_Answer = list[object] | QsyncError


class RequestTimedOut(Exception):
    """A question without an answer."""


class ConnectionLost(RequestTimedOut):
    """The connection ended before the answer."""


class Silent(RequestTimedOut):
    """The connection stands, and there is no answer."""


class Wire:
    """Asks without waiting for the answers to what was asked before."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.broken = trio.Event()
        self._stream = stream
        self._numbers = count(1)
        self._waiting: dict[int, trio.Event] = {}
        self._answers: dict[int, _Answer] = {}
        self._sending = trio.Lock()

    @property
    def open(self) -> int:
        """How many questions are under way."""
        return len(self._waiting)

    async def ask(self, make: Callable[[int], Request], *, patience: float) -> list[object]:
        """The values of the answer. Raises the error that was answered, or NoAnswer."""
        number = next(self._numbers)
        answered = self._waiting[number] = trio.Event()
        try:
            with trio.move_on_after(patience) as limit:
                await self._send(requests.encode(make(number)))
                await answered.wait()
        finally:
            self._waiting.pop(number, None)
            answer = self._answers.pop(number, None)
        if answer is None:
            if self.broken.is_set() or not limit.cancelled_caught:
                raise ConnectionLost("the connection ended before the answer")
            raise Silent(f"no answer within {patience:g} s")
        if isinstance(answer, QsyncError):
            raise answer
        return answer

    async def listen(self, frames: Frames, waiting: list[bytes]) -> None:
        """Until the connection ends. Raises nothing that a node may cause."""
        try:
            while True:
                for payload in waiting:
                    number, answer = replies.decode(payload)
                    if number in self._waiting:
                        self._answers[number] = answer
                        self._waiting[number].set()
                received = await self._stream.receive_some(_RECEIVE_BYTES)
                if not received:
                    return
                waiting = frames.feed(bytes(received))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return
        finally:
            self.broken.set()
            for event in self._waiting.values():
                event.set()

    async def _send(self, data: bytes) -> None:
        if self.broken.is_set():
            raise ConnectionLost("the connection ended")
        async with self._sending:
            try:
                await self._stream.send_all(data)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                raise ConnectionLost("the connection ended while the question was sent") from None


@asynccontextmanager
async def wired(address: str) -> AsyncGenerator[Wire]:
    """An open connection for as long as the block lasts. Raises NoAnswer or the node's refusal.

    A connection that ends cancels nothing: look at `wire.broken`.
    """
    stream, frames, waiting = await _connect(address)
    failure: Exception | None = None
    async with stream, trio.open_nursery() as nursery:
        wire = Wire(stream)
        nursery.start_soon(wire.listen, frames, waiting)
        try:
            yield wire
        except Exception as error:  # noqa: BLE001 - raised again below, outside of the nursery
            failure = error  # so that callers see it as it is, not in an ExceptionGroup
        finally:
            nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _connect(address: str) -> tuple[trio.SocketStream, Frames, list[bytes]]:
    host, _, port = address.rpartition(":")
    frames = Frames()
    with trio.move_on_after(CONNECT_S):
        try:
            stream = await trio.open_tcp_stream(host, int(port))
        except OSError as error:
            raise ConnectionLost(f"{address}: {error}") from None
        try:
            return stream, frames, await _shake_hands(stream, frames)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            await trio.aclose_forcefully(stream)
            raise ConnectionLost(f"{address}: it hung up") from None
        except BaseException:
            await trio.aclose_forcefully(stream)
            raise
    raise Silent(f"{address}: no handshake within {CONNECT_S:g} s")


async def _shake_hands(stream: trio.SocketStream, frames: Frames) -> list[bytes]:
    """Returns what came behind the answer."""
    dialer = Dialer(Hello(party=Party.CLIENT))
    waiting: list[bytes] = []
    for _ in range(2):
        while not waiting:
            received = await stream.receive_some(_RECEIVE_BYTES)
            if not received:
                raise trio.BrokenResourceError("it hung up")
            waiting = frames.feed(bytes(received))
        said = dialer.received(waiting.pop(0))
        if said is not None:
            await stream.send_all(said)
    return waiting
