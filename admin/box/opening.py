"""Opens a session under Trio or asyncio, with a task for each connection."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import ParamSpec, TypeVar

import anyio
import anyio.abc
import anyio.to_thread

from admin.box.place import NodeConnections, OpenConnection, by_network
from admin.box.session import Box
from qsync.client import targets
from qsync.client.aio import connect_async
from qsync.client.background_tasks import BackgroundTasks, background_tasks
from qsync.client.blocking import TIMEOUT_S

P = ParamSpec("P")
R = TypeVar("R")


class LoopPool:
    """Opens connections into one task group, which ends them when the session does."""

    def __init__(self, group: BackgroundTasks, *, timeout: float) -> None:
        self.timeout = timeout
        self._group = group

    async def open(self, addresses: tuple[str, ...], *, direct: bool) -> OpenConnection:
        """Connect. Raises Unavailable or what the handshake refuses."""
        asked = _Asked(addresses, direct=direct, timeout=self.timeout)
        self._group.start_soon(asked.run)
        await asked.ready.wait()
        if asked.failure is not None:
            raise asked.failure
        assert asked.held is not None
        return asked.held

    async def aside(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a function that blocks in a thread, and return its result."""
        return await anyio.to_thread.run_sync(partial(function, *args, **kwargs))


class _Asked:
    """One connection: `ready` when it is open or has failed."""

    def __init__(self, addresses: tuple[str, ...], *, direct: bool, timeout: float) -> None:
        self.ready = anyio.Event()
        self.held: OpenConnection | None = None
        self.failure: Exception | None = None
        self._addresses = addresses
        self._direct = direct
        self._timeout = timeout

    async def run(self) -> None:
        """Keep the connection open until it is closed."""
        done = anyio.Event()
        try:
            async with connect_async(
                self._addresses, timeout=self._timeout, direct=self._direct
            ) as client:
                self.held = OpenConnection(client, done.set)
                self.ready.set()
                await done.wait()
        except Exception as error:
            if self.ready.is_set():
                raise
            self.failure = error
        finally:
            self.ready.set()


@asynccontextmanager
async def open_box(
    target: str | Sequence[str],
    *,
    node: str | None = None,
    timeout: float = TIMEOUT_S,  # noqa: ASYNC109 - of each call
) -> AsyncGenerator[Box]:
    """Begin a session with a cluster; one address is enough.

    `async with open_box("127.0.0.1:3301") as box: ...` under Trio or asyncio. `node` names the
    one whose info, cfg and ctl are meant; without it they are the leader's.
    Raises Unavailable when no node answers.
    """
    addresses = targets.parse(target if isinstance(target, str) else list(target)).addresses
    async with background_tasks() as group:
        pool = LoopPool(group, timeout=timeout)
        known = await by_network(pool, addresses)
        box = Box(NodeConnections(pool, await pool.open(known, direct=False)))
        await box.use(node)
        yield box
