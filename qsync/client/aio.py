"""The async client: the core over anyio, so it runs under Trio and under asyncio.

Each connection has one reader and one writer; a call costs one event and no task, and any number
of calls may be under way at once.
"""

import math
import random
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from types import TracebackType
from typing import Final, NoReturn, TypeVar

import anyio
import anyio.abc
import anyio.lowlevel

from qsync.client import calls, targets, tls_files
from qsync.client.async_.core_client import AsyncCoreClient
from qsync.client.background_tasks import BackgroundTasks, background_tasks
from qsync.client.blocking import CONNECT_TIMEOUT_S, TIMEOUT_S
from qsync.client.connection import HUNG_UP, reason
from qsync.client.core import Core
from qsync.client.effects import Close, Dial, Send
from qsync.client.links import certify, went_on
from qsync.client.pending_request import PendingRequest
from qsync.client.response_timeout import FAR
from qsync.client.security import ClientTls
from qsync.client.streams import SYSTEM, AsyncSystem
from qsync.errors import QsyncError
from qsync.tls.files import said_by_tls
from qsync.wire import limits

T = TypeVar("T")
_BROKEN: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError)
GOODBYE_S: Final = 0.5
"""How long leaving may take to send what is still to be sent."""
SEND_BYTES: Final = 16 * 1024
"""How much is sent at once: after each part the core is told that it went on."""


class AsyncClient(AsyncCoreClient):
    """A connection to a cluster. Made by `async with qsync.connect_async(...) as db`."""

    def __init__(self, shell: "AsyncShell", *, timeout: float) -> None:
        super().__init__(shell.core, timeout=timeout, now=shell.now)
        self._shell = shell

    def _reader(self) -> "AsyncClient":
        """Return what feeds ask through: this client, for any number of calls may be under way."""
        return self

    async def _settle(self, ask: PendingRequest) -> None:
        await self._shell.settle(ask)

    async def _flush(self) -> None:
        self._shell.perform()
        await anyio.lowlevel.checkpoint()  # the turn of the writers


class ConnectionOutbox:
    """The outbox of one connection. `filled` wakes its writer, `sent` who waits for that."""

    __slots__ = ("filled", "out", "scope", "sending", "sent")

    def __init__(self) -> None:
        self.out: list[bytes] = []
        self.sending = False
        self.filled = anyio.Event()
        self.sent = anyio.Event()
        self.scope = anyio.CancelScope()

    async def emptied(self) -> None:
        """Wait until everything was sent, or the connection has ended."""
        while self.out or self.sending:
            self.sent = anyio.Event()
            await self.sent.wait()


class AsyncShell:
    """Does what the core asks for, in the tasks of one group, and reports events to it."""

    def __init__(
        self,
        core: Core,
        group: BackgroundTasks,
        *,
        tls: ClientTls | None = None,
        system: AsyncSystem = SYSTEM,
    ) -> None:
        self.core = core
        self.now = system.now
        self._system = system
        self._tls = tls
        self._group = group
        self._lines: dict[int, ConnectionOutbox] = {}
        self._sooner = anyio.Event()
        self._sleeping_until = FAR

    async def settle(self, ask: PendingRequest) -> None:
        """Send pending bytes and wait until the request is settled."""
        self.perform()
        if ask.settled:
            await anyio.lowlevel.checkpoint()
            return
        event = ask.wake = anyio.Event()
        await event.wait()

    def perform(self) -> None:
        """Do what the core asks for; never waits."""
        ready = self.core.ready()
        _wake(ready.settled)
        for effect in ready.effects:
            match effect:
                case Dial(link, address):
                    line = self._lines[link] = ConnectionOutbox()
                    self._group.start_soon(self._connection, link, address, line)
                case Send(link, data):
                    found = self._lines.get(link)
                    if found is not None:
                        found.out.append(data)
                        found.filled.set()
                case Close(link):
                    gone = self._lines.pop(link, None)
                    if gone is not None:
                        gone.scope.cancel()
        if self.core.wake_at() < self._sleeping_until:
            self._sooner.set()

    async def keep_time(self) -> None:
        """Call `tick` when the core wants it."""
        while True:
            self._sooner = anyio.Event()
            wake_at = self._sleeping_until = self.core.wake_at()
            with anyio.move_on_after(max(0.0, wake_at - self.now())):
                await self._sooner.wait()
            self._sleeping_until = -math.inf
            self.core.tick(self.now())
            self.perform()

    async def goodbye(self) -> None:
        """Send what is left, then close everything. Callers that wait are told so."""
        with anyio.move_on_after(GOODBYE_S, shield=True):
            lines = dict(self._lines)
            for effect in self._farewell():
                if isinstance(effect, Send) and effect.link in lines:
                    lines[effect.link].out.append(effect.data)
                    lines[effect.link].filled.set()
            for line in lines.values():
                await line.emptied()

    def _farewell(self) -> list[Dial | Send | Close]:
        self.core.close(self.now())
        ready = self.core.ready()
        _wake(ready.settled)
        return ready.effects

    async def _connection(self, link: int, address: str, line: ConnectionOutbox) -> None:
        why = HUNG_UP
        with line.scope:
            try:
                shown = partial(certify, self.core.wires, link)
                opened = await self._system.open_stream(address, self._tls, shown)
                async with opened as stream:
                    self.core.dialled(link, self.now())
                    async with anyio.create_task_group() as pair:
                        pair.start_soon(self._write, link, stream, line)
                        why = await self._read(link, stream)
                        pair.cancel_scope.cancel()
            except (OSError, QsyncError, UnicodeError, *_BROKEN) as error:
                why = reason(error)
        line.out.clear()
        line.sent.set()
        if self._lines.pop(link, None) is not None:
            self.core.lost(link, why, self.now())
            self.perform()

    async def _read(self, link: int, stream: anyio.abc.ByteStream) -> str:
        """Read until the connection ends; return why it did."""
        while True:
            try:
                data = await stream.receive(limits.RECEIVE_BYTES)
            except (anyio.EndOfStream, *_BROKEN):
                return HUNG_UP
            except OSError as error:  # of TLS: all others are among those above
                return reason(said_by_tls(error))
            self.core.received(link, data, self.now())
            self.perform()

    async def _write(self, link: int, stream: anyio.abc.ByteStream, line: ConnectionOutbox) -> None:
        while True:
            await line.filled.wait()
            line.filled = anyio.Event()
            data = b"".join(line.out)
            line.out.clear()
            line.sending = True
            try:
                await self._send(link, stream, data)
            except _BROKEN:
                return  # the reader finds out as well
            finally:
                line.sending = False
                line.sent.set()

    async def _send(self, link: int, stream: anyio.abc.ByteStream, data: bytes) -> None:
        """Send it in parts; where there are several, the core hears of each."""
        for at in range(0, len(data), SEND_BYTES):
            await stream.send(data[at : at + SEND_BYTES])
            if len(data) > SEND_BYTES:
                went_on(self.core.wires, link, self.now())


def _wake(settled: Iterable[PendingRequest]) -> None:
    for ask in settled:
        if isinstance(ask.wake, anyio.Event):
            ask.wake.set()


USE: Final = "use it so: async with qsync.connect_async(...) as db: ..."


class AsyncConnecting(AbstractAsyncContextManager[AsyncClient, None]):
    """The result of `connect_async`: a connection that begins at `async with`."""

    def __init__(self, inner: AbstractAsyncContextManager[AsyncClient, bool | None]) -> None:
        self._inner = inner

    async def __aenter__(self) -> AsyncClient:
        return await self._inner.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        await self._inner.__aexit__(kind, error, _)

    def __await__(self) -> Generator[None, None, NoReturn]:
        raise TypeError(f"connect_async is not awaited; {USE}")

    def __enter__(self) -> NoReturn:
        raise TypeError(f"connect_async is for `async with`, connect for `with`; {USE}")

    def __exit__(self, *_: object) -> None:
        """Never: it is not entered."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"there is no connection yet, so it has no {name!r}; {USE}")


def connect_async(
    target: str | Iterable[str],
    *,
    timeout: float = TIMEOUT_S,
    connect_timeout: float = CONNECT_TIMEOUT_S,
    direct: bool = False,
    tls: ClientTls | None = None,
    user: str | None = None,
    password: str | None = None,
) -> AsyncConnecting:
    """Connect to a cluster, as `connect` does: `async with qsync.connect_async(...) as db`."""
    return AsyncConnecting(
        _connected(
            target,
            timeout=timeout,
            connect_timeout=connect_timeout,
            direct=direct,
            tls=tls,
            user=user,
            password=password,
        )
    )


@asynccontextmanager
async def _connected(
    target: str | Iterable[str],
    *,
    timeout: float,  # noqa: ASYNC109 - of each call, not of this one
    connect_timeout: float,
    direct: bool,
    tls: ClientTls | None,
    user: str | None,
    password: str | None,
) -> AsyncGenerator[AsyncClient]:
    found = targets.parse(target, tls=tls).logged_in(user, password)
    tls_files.check(found)
    core = Core(found, dice=random.SystemRandom(), direct=direct)
    async with running(
        core, timeout=timeout, connect_timeout=connect_timeout, tls=found.tls
    ) as client:
        yield client


@asynccontextmanager
async def running(
    core: Core,
    *,
    timeout: float,  # noqa: ASYNC109 - of each call, not of this one
    connect_timeout: float,
    tls: ClientTls | None = None,
    system: AsyncSystem = SYSTEM,
) -> AsyncGenerator[AsyncClient]:
    """A client of that core, on that system, once a node has answered it."""
    async with background_tasks() as group:
        shell = AsyncShell(core, group, tls=tls, system=system)
        client = AsyncClient(shell, timeout=timeout)
        group.start_soon(shell.keep_time)
        try:
            await client.run(calls.ping(), timeout=connect_timeout)
            yield client
        finally:
            client.closed = True
            await shell.goodbye()
