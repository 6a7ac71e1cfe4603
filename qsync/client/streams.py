"""The streams of asynchronous clients: connected, and over TLS where that is wanted."""

import time
from collections.abc import Sequence
from typing import Final, Protocol

import anyio
import anyio.abc

from qsync import lookups
from qsync.client import local_sockets, targets
from qsync.client.security import ClientTls
from qsync.lookups import Door
from qsync.socket_files import named
from qsync.tls.names import Certify


class AsyncSystem(Protocol):
    """The system that an asynchronous client runs on."""

    def now(self) -> float:
        """Monotonic seconds, as the event loop counts them."""

    async def open_stream(
        self, address: str, tls: ClientTls | None, certify: Certify
    ) -> anyio.abc.ByteStream:
        """Open a stream to the node at that address, as the function of that name."""


STAGGER_S: Final = 0.25
"""The delay before the next address of a host is tried beside the earlier ones (RFC 8305)."""


async def open_stream(
    address: str, tls: ClientTls | None, certify: Certify
) -> anyio.abc.ByteStream:
    """Open a stream to the node at that address.

    `certify`: called with whom the certificate there names, and what names the channel, where TLS
    is spoken. Raises OSError, TlsFailed, and ConfigError for an address or files that cannot be
    used.
    """
    path = local_sockets.path_of(address)
    if path is not None:
        local_sockets.check(path)
        with named(path) as name:
            return await anyio.connect_unix(name)
    host, port = targets.split(address)
    plain = await _connected(await lookups.awaited(host, port, anyio.wait_readable))
    if tls is None:
        return plain
    from qsync.client import secured  # noqa: PLC0415 - only where TLS is spoken

    try:
        return await secured.dialled_stream(plain, tls, address, certify)
    except BaseException:
        await anyio.aclose_forcefully(plain)
        raise


async def _connected(doors: Sequence[Door]) -> anyio.abc.SocketStream:
    """The first connection that any of the addresses accepts. Raises OSError."""
    won: list[anyio.abc.SocketStream] = []
    failed: list[OSError] = [OSError("no such host")]

    async def attempt(host: str, port: int, over: anyio.Event) -> None:
        try:
            made = await anyio.connect_tcp(host, port)
        except OSError as error:
            failed.append(error)
        else:
            if won:
                await anyio.aclose_forcefully(made)
            else:
                won.append(made)
                group.cancel_scope.cancel()
        over.set()

    try:
        async with anyio.create_task_group() as group:
            for _, where in doors:
                over = anyio.Event()
                group.start_soon(attempt, where[0], where[1], over)
                with anyio.move_on_after(STAGGER_S):
                    await over.wait()
    except BaseException:  # the caller's time may be over just now
        for made in won:
            await anyio.aclose_forcefully(made)
        raise
    if won:
        return won[0]
    raise failed[-1]


class _Streams:
    """The real system."""

    now = staticmethod(time.monotonic)

    async def open_stream(
        self, address: str, tls: ClientTls | None, certify: Certify
    ) -> anyio.abc.ByteStream:
        """Open a stream to the node at that address."""
        return await open_stream(address, tls, certify)


SYSTEM: Final[AsyncSystem] = _Streams()
