"""One node over a connection of its own, under Trio or asyncio: no retries, no leader sought."""

from collections import deque
from types import TracebackType
from typing import Final, Self

import anyio
import anyio.abc

from election.messages import Replica
from qsync.client import local_sockets, login, security
from qsync.client.connection import HUNG_UP, PLAIN_HELLO, ClientConnection, unavailable
from qsync.client.login import Credentials
from qsync.client.one_node import TIMEOUT_S
from qsync.client.security import ClientTls
from qsync.client.streams import open_stream
from qsync.errors import ConfigError, QsyncError
from qsync.tls.errors import TlsFailed
from qsync.tls.files import said_by_tls
from qsync.wire import limits, replies, requests
from qsync.wire.session import Hello
from qsync.wire.verbs import Request

_BROKEN: Final = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError)


class AsyncNodeConnection:
    """`NodeConnection` with `await`: made by `await AsyncNodeConnection.open(address)`.

    `receive` and `send` are for those who have many questions under way at once.
    """

    def __init__(
        self,
        address: str,
        stream: anyio.abc.ByteStream,
        connection: ClientConnection,
        *,
        timeout: float,
    ) -> None:
        self.address = address
        self._stream = stream
        self._connection = connection
        self._timeout = timeout
        self._payloads: deque[bytes] = deque()
        self._number = 0

    @classmethod
    async def open(
        cls,
        address: str,
        *,
        timeout: float = TIMEOUT_S,  # noqa: ASYNC109 - the caller's word
        hello: Hello = PLAIN_HELLO,
        replica: Replica | None = None,
        tls: ClientTls | None = None,
        credentials: Credentials | None = None,
    ) -> Self:
        """Connect and shake hands. Raises Unavailable or what the handshake refuses."""
        local = local_sockets.path_of(address) is not None
        who = None if local else credentials or login.of_environment()
        connection = ClientConnection(hello, replica=replica, credentials=who)
        try:
            with anyio.fail_after(timeout):
                secure = None if local else tls or security.of_environment()
                stream = await open_stream(address, secure, connection.certify)
                made = cls(address, stream, connection, timeout=timeout)
                try:
                    while not connection.ready:
                        made._payloads.extend(await made.receive())
                except BaseException:
                    await anyio.aclose_forcefully(stream)
                    raise
        except (OSError, ValueError, ConfigError, TlsFailed) as error:  # also TimeoutError
            raise unavailable(address, error) from None
        return made

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection."""
        await anyio.aclose_forcefully(self._stream)

    async def ask(
        self,
        request: Request,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the caller's word
    ) -> list[object]:
        """Return the values of the answer; the request gets a number of its own.

        Raises the error that was answered, or Unavailable.
        """
        self._number += 1
        try:
            with anyio.fail_after(self._timeout if timeout is None else timeout):
                await self.send(requests.encode(request._replace(id=self._number)))
                return await self._answer()
        except TimeoutError as error:
            raise unavailable(self.address, error) from None

    async def receive(self) -> list[bytes]:
        """Return the payloads that come next, perhaps none yet. Raises Unavailable at the end."""
        if self._payloads:
            waiting = list(self._payloads)
            self._payloads.clear()
            return waiting
        try:
            data = await self._stream.receive(limits.RECEIVE_BYTES)
        except anyio.EndOfStream:
            raise unavailable(self.address, ConnectionError(HUNG_UP)) from None
        except _BROKEN as error:
            raise unavailable(self.address, said_by_tls(error)) from None
        payloads = self._connection.received(data)
        for said in self._connection.out:
            await self.send(said)
        self._connection.out.clear()
        return payloads

    async def send(self, data: bytes) -> None:
        """Send a whole frame. Raises Unavailable."""
        try:
            await self._stream.send(data)
        except _BROKEN as error:
            raise unavailable(self.address, error) from None

    async def _answer(self) -> list[object]:
        while True:
            while not self._payloads:
                self._payloads.extend(await self.receive())
            number, answer = replies.decode(self._payloads.popleft())
            if number == self._number:
                if isinstance(answer, QsyncError):
                    raise answer
                return answer
