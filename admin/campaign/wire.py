"""One connection to one node, with any number of open requests. It repeats none."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from itertools import count

import trio

from qsync.client.background_tasks import background_tasks
from qsync.client.one_node_aio import AsyncNodeConnection
from qsync.errors import FailureReason, QsyncError, Unavailable
from qsync.wire import replies, requests
from qsync.wire.verbs import Request

CONNECT_S = 5.0
_Answer = list[object] | QsyncError


class RequestTimedOut(Exception):
    """A request got no answer in time."""


class ConnectionLost(RequestTimedOut):
    """The connection ended before the answer."""


class Silent(RequestTimedOut):
    """The connection is open, but there is no answer."""


class Wire:
    """A connection that sends requests without waiting for earlier answers."""

    def __init__(self, node: AsyncNodeConnection) -> None:
        self.broken = trio.Event()
        self._node = node
        self._numbers = count(1)
        self._waiting: dict[int, trio.Event] = {}
        self._answers: dict[int, _Answer] = {}
        self._sending = trio.Lock()

    @property
    def open(self) -> int:
        """The number of open requests."""
        return len(self._waiting)

    async def ask(self, make: Callable[[int], Request], *, patience: float) -> list[object]:
        """Return the values of the answer. Raises the answered error, or RequestTimedOut."""
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

    async def listen(self) -> None:
        """Read answers until the connection ends."""
        try:
            while True:
                for payload in await self._node.receive():
                    number, answer = replies.decode(payload)
                    if number in self._waiting:
                        self._answers[number] = answer
                        self._waiting[number].set()
        except Unavailable:
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
                await self._node.send(data)
            except Unavailable:
                raise ConnectionLost("the connection ended while the question was sent") from None


@asynccontextmanager
async def wired(address: str) -> AsyncGenerator[Wire]:
    """An open connection for as long as the block lasts.

    Raises RequestTimedOut or the node's refusal.

    A connection that ends cancels nothing: look at `wire.broken`.
    """
    node = await _connect(address)
    async with node, background_tasks() as group:
        wire = Wire(node)
        group.start_soon(wire.listen)
        yield wire


async def _connect(address: str) -> AsyncNodeConnection:
    try:
        return await AsyncNodeConnection.open(address, timeout=CONNECT_S)
    except Unavailable as error:
        if error.reason is FailureReason.TIMED_OUT:
            raise Silent(f"{address}: no handshake within {CONNECT_S:g} s") from None
        raise ConnectionLost(error.message) from None
