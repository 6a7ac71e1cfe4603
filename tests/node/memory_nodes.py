"""A node in memory, on the clock of Trio: what an async client has instead of sockets in tests."""

import random
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final

import anyio
import anyio.abc
import trio
import trio.testing
from typing_extensions import override

from election.messages import Replica
from qsync.client import targets
from qsync.client.aio import AsyncClient, running
from qsync.client.core import Core
from qsync.client.security import ClientTls
from qsync.tls.names import Certify
from qsync.wire import replies, requests
from qsync.wire.connection_states import ConnectionState
from qsync.wire.frames import Frames
from qsync.wire.session import Acceptor, Greeting
from qsync.wire.verbs import ChangesRequest, Request, WatchRequest
from tests.node.test_client_shells import Server, Store

ADDRESS: Final = "n1:1"
_GONE: Final = (trio.BrokenResourceError, trio.ClosedResourceError)


class MemoryStream(anyio.abc.ByteStream):
    """One end of a connection in memory, as a client has it."""

    def __init__(self, inner: trio.abc.Stream) -> None:
        self._inner = inner
        self.open = True

    @override
    async def receive(self, max_bytes: int = 65536) -> bytes:
        try:
            data = await self._inner.receive_some(max_bytes)
        except _GONE:
            raise anyio.BrokenResourceError from None
        if not data:
            raise anyio.EndOfStream
        return bytes(data)

    @override
    async def send(self, item: bytes) -> None:
        try:
            await self._inner.send_all(item)
        except _GONE:
            raise anyio.BrokenResourceError from None

    @override
    async def send_eof(self) -> None:
        raise NotImplementedError

    @override
    async def aclose(self) -> None:
        self.open = False
        await self._inner.aclose()


class MemoryNode(Server):
    """The server of the clients' tests without its sockets and its thread."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.store = Store()
        self.replica, self.leader, self.address = 1, None, ADDRESS
        self.heard = []
        self.swallow_writes = self.too_busy = 0
        self.streams: list[MemoryStream] = []
        self.mute = False
        """It hears, and neither does nor says anything."""
        self.deaf = False
        """It does not read, either."""
        self.answer: Callable[[Request], bytes | None] = self._answer
        """What it says to a request; None: it hangs up."""
        self._nursery = nursery

    @property
    def open_streams(self) -> int:
        """How many connections the client has not closed."""
        return sum(each.open for each in self.streams)

    now = staticmethod(trio.current_time)

    async def open_stream(
        self, address: str, tls: ClientTls | None, certify: Certify
    ) -> anyio.abc.ByteStream:
        await trio.lowlevel.checkpoint()
        near, far = trio.testing.lockstep_stream_pair() if self.deaf else _pair()
        self.streams.append(MemoryStream(near))
        self._nursery.start_soon(self._talk, far)
        return self.streams[-1]

    @override
    def _reply(self, request: Request) -> bytes | None:
        match request:
            case ChangesRequest(id, after):
                upto = (after or 0) + 1
                return replies.reply(id, [[upto, 1, upto, 1, 0.5, []]], upto, upto, 512)
            case WatchRequest(id, _, known):
                return replies.reply(id, known + 1 if isinstance(known, int) else 1)
            case _:
                return super()._reply(request)

    async def _talk(self, stream: trio.abc.Stream) -> None:
        greeting = Greeting(cluster="c", instance="i", replica=Replica(1), name="n")
        acceptor, frames = Acceptor(greeting), Frames()
        async with stream:
            try:
                await stream.send_all(acceptor.greet())
                while data := await stream.receive_some():
                    for payload in frames.feed(bytes(data)):
                        if acceptor.state is not ConnectionState.READY:
                            acceptor.received(payload)
                            await stream.send_all(acceptor.accept())
                            continue
                        request = requests.decode(payload)
                        self.heard.append(request)
                        answer = None if self.mute else self.answer(request)
                        if answer is not None:
                            await stream.send_all(answer)
                        elif not self.mute:
                            return
                        if self.deaf:
                            await trio.sleep_forever()
            except _GONE:
                return


def _pair() -> tuple[trio.abc.Stream, trio.abc.Stream]:
    return trio.testing.memory_stream_pair()


@asynccontextmanager
async def in_memory(*, timeout: float = 10.0) -> AsyncGenerator[tuple[MemoryNode, AsyncClient]]:  # noqa: ASYNC109 - of each call
    """A node and a client of it; afterwards nothing of the client may be there any more."""
    async with trio.open_nursery() as nursery:
        node = MemoryNode(nursery)
        core = Core(targets.parse(ADDRESS), dice=random.Random(7))
        async with running(core, timeout=timeout, connect_timeout=2.0, system=node) as db:
            yield node, db
        assert node.open_streams == 0
        nursery.cancel_scope.cancel()
