"""Connections that come and go within one session: each lives in a task of its own."""

from dataclasses import dataclass

import anyio
import anyio.abc

from qsync.client.aio import AsyncClient, connect_async


@dataclass(frozen=True, slots=True)
class Held:
    """An open connection; `close` may be called at any time, in any order."""

    client: AsyncClient
    done: anyio.Event

    def close(self) -> None:
        """Say goodbye and hang up, in the background."""
        self.done.set()


class Pool:
    """Opens connections into one task group, which ends them when the session does."""

    def __init__(self, group: anyio.abc.TaskGroup, *, timeout: float) -> None:
        self.timeout = timeout
        self._group = group

    async def open(self, addresses: tuple[str, ...], *, direct: bool) -> Held:
        """Connect. Raises Unavailable or what the handshake refuses."""
        asked = _Asked(addresses, direct, self.timeout)
        self._group.start_soon(asked.run)
        await asked.ready.wait()
        if asked.failure is not None:
            raise asked.failure
        assert asked.held is not None
        return asked.held


class _Asked:
    """One connection: `ready` when it stands or has failed."""

    def __init__(self, addresses: tuple[str, ...], direct: bool, timeout: float) -> None:  # noqa: FBT001 - passed on
        self.ready = anyio.Event()
        self.held: Held | None = None
        self.failure: Exception | None = None
        self._addresses = addresses
        self._direct = direct
        self._timeout = timeout

    async def run(self) -> None:
        """Live until told to close."""
        try:
            async with connect_async(
                self._addresses, timeout=self._timeout, direct=self._direct
            ) as client:
                self.held = Held(client, anyio.Event())
                self.ready.set()
                await self.held.done.wait()
        except Exception as error:
            if self.ready.is_set():
                raise
            self.failure = error
        finally:
            self.ready.set()
