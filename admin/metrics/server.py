"""The HTTP side of a node: metrics, health URLs, its status page. Read-only, and bounded."""

import math
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial

import h11
import trio

from admin.metrics.answers import HttpAnswer, HttpPages, as_json
from admin.metrics.token import BearerToken
from admin.page.served import look_of
from qsync import __version__
from qsync.config import NodeConfig
from qsync.node import logs, mishaps
from qsync.node.listening import listen_at
from qsync.node.node import Node
from qsync.node.own_address import own_doors
from qsync.node.status import status

CONNECTIONS_MAX = 32
"""For one more, that is closed which has waited longest for a request. While all are being
answered, more are answered 503 and closed."""
REQUEST_BYTES_MAX = 8192
"""A longer head of a request is answered 431."""
IDLE_S_MAX = 10.0
"""An idle connection is closed after this time."""
LINGER_S = 1.0
"""How long a connection that was refused may take to be closed by the other side."""
REFUSED_MAX = 8
"""Connections beyond the limit that are being told so at a time; others are closed unanswered."""
HANDSHAKE_GAP_S = 0.02
"""Between the beginnings of two TLS handshakes: each costs the node as much as many requests."""
_READ_BYTES = 4096
_METHODS = (b"GET", b"HEAD", b"OPTIONS")
_METHOD_NOT_ALLOWED, _TOO_LONG, _HEAD_TOO_LONG, _TOO_MANY = 405, 413, 431, 503

Survive = Callable[[Exception], None]
"""Notes a mistake of ours in serving one connection; raises it if the node cannot go on."""

MetricsStream = trio.SocketStream | trio.SSLStream[trio.SocketStream]


class Metrics:
    """Listens already; answers as soon as there is a node to tell of."""

    def __init__(
        self, address: str, listeners: list[trio.SocketListener], token: BearerToken | None
    ) -> None:
        self.address = address
        self._listeners = listeners
        self._token = token

    @property
    def words(self) -> str:
        """For the node's first line."""
        return f"metrics on {self.address}"

    async def serve(self, node: Node) -> None:
        """Answer until cancelled."""
        tls = node.links.tls if node.config.tls.metrics else None
        context = None if tls is None else lambda: tls.anonymous
        look = look_of(node)
        pages = HttpPages(partial(status, node), look, open_health=node.config.metrics.open_health)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(look.run)
            survive = partial(_note, node)
            await serve(self._listeners, pages, context, self._token, survive=survive)


@asynccontextmanager
async def open_metrics(config: NodeConfig) -> AsyncIterator[Metrics | None]:
    """Listen where the configuration says, if it says so.

    Raises ConfigError when that cannot be: before the node opens its directory.
    """
    address = config.metrics.listen
    if address is None:
        yield None
        return
    file = config.metrics.token_file
    token = None if file is None else BearerToken(file)
    log = logs.NodeLog(config.node.name, config.cluster.name)
    doors = await own_doors("metrics.listen", address, log)
    made = listen_at("metrics.listen", address, doors, opened=socket.socket, tell=log.tell)
    listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(each)) for each in made]
    try:
        yield Metrics(address.at_port(made[0].getsockname()[1]), listeners, token)
    finally:
        for each in listeners:
            each.socket.close()


async def serve(
    listeners: list[trio.SocketListener],
    pages: HttpPages,
    tls: Callable[[], ssl.SSLContext] | None = None,
    token: BearerToken | None = None,
    *,
    survive: Survive,
) -> None:
    """Answer until cancelled. `tls`: what counts now; without it bytes go as they are.

    `token`: the token that every request needs. `survive`: hears of mistakes of ours, each of which
    costs the connection that ran into it, and no other.
    """
    places, refused = _Places(), trio.CapacityLimiter(REFUSED_MAX)
    begin: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint
    if tls is not None:
        begin = HandshakeGaps().wait

    async def connection(stream: trio.SocketStream) -> None:
        found: MetricsStream = stream
        if tls is not None:
            found = trio.SSLStream(stream, tls(), server_side=True, https_compatible=True)
        talk = _Talk(found, token, places)
        try:
            if places.may_be_had():
                async with places.taken:
                    await talk.await_turn(begin)
                    await _connection(pages, talk)
            elif refused.available_tokens:
                async with refused:
                    await begin()
                    await talk.refuse(_TOO_MANY, f"{CONNECTIONS_MAX} connections are open")
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # The client disconnected during the answer.
        except Exception as error:  # noqa: BLE001 - noted, or raised again
            survive(error)
        finally:
            await trio.aclose_forcefully(found)

    await trio.serve_listeners(connection, listeners)


async def _connection(pages: HttpPages, talk: "_Talk") -> None:
    """Answer the requests of one connection, one after another."""
    while await talk.one(pages):
        pass


def _in_words(error: h11.RemoteProtocolError) -> str:
    """What is wrong with a request; h11 adds a `bytearray(...)` of the whole line."""
    if error.error_status_hint == _HEAD_TOO_LONG:
        return f"the head of the request is longer than {REQUEST_BYTES_MAX} bytes"
    return str(error).partition(": bytearray(")[0]


def _note(node: Node, error: Exception) -> None:
    mishaps.survive(node.replica, node.timeline, error, "serving a reader of metrics")


class HandshakeGaps:
    """Lets one TLS handshake begin at a time, however many dial at once."""

    def __init__(self) -> None:
        self._next = -math.inf

    async def wait(self) -> None:
        """Return when the next one may begin."""
        begin = max(trio.current_time(), self._next)
        self._next = begin + HANDSHAKE_GAP_S
        await trio.sleep_until(begin)


class _Places:
    """So many connections are served at a time.

    A stranger who only holds connections open keeps no reader out: see `CONNECTIONS_MAX`.
    """

    def __init__(self) -> None:
        self.taken = trio.CapacityLimiter(CONNECTIONS_MAX)
        self._waiting: dict[trio.CancelScope, None] = {}
        """Of connections that wait for a request; the longest waiting first."""

    def may_be_had(self) -> bool:
        """Whether there is a free place, or soon will be: one that waits is let go for it."""
        if self.taken.available_tokens:
            return True
        for longest in self._waiting:
            del self._waiting[longest]
            longest.cancel()
            return True
        return False

    @contextmanager
    def waiting(self) -> Iterator[trio.CancelScope]:
        """For as long as a connection waits; the scope is cancelled when that is over."""
        with trio.move_on_after(IDLE_S_MAX) as patience:
            self._waiting[patience] = None
            try:
                yield patience
            finally:
                self._waiting.pop(patience, None)


class _Talk:
    """One connection and what h11 knows of it."""

    def __init__(self, stream: MetricsStream, token: BearerToken | None, places: _Places) -> None:
        self.stream = stream
        self._token = token
        self._places = places
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=REQUEST_BYTES_MAX)
        self._head_only = False
        """The request was a HEAD: its answer has no body."""

    async def await_turn(self, turn: Callable[[], Awaitable[None]]) -> None:
        """Wait for the turn of this one. Raises ClosedResourceError when it is let go."""
        with self._places.waiting() as patience:
            await turn()
        if patience.cancelled_caught:
            raise trio.ClosedResourceError

    async def one(self, pages: HttpPages) -> bool:
        """Answer one request. False when the connection is over."""
        try:
            with self._places.waiting() as patience:
                request = await self._request()
        except h11.RemoteProtocolError as error:
            if self._http.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
                await self.refuse(error.error_status_hint, _in_words(error))
            return False
        if patience.cancelled_caught or request is None:
            return False
        await self._answer(request, pages)
        if self._http.our_state is h11.MUST_CLOSE:
            return False
        self._http.start_next_cycle()
        return True

    async def refuse(self, code: int, why: str) -> None:
        """Say no and hang up, once the other side has had a moment to hear it."""
        await self._send(HttpAnswer(code, as_json({"error": why}), last=True))
        with trio.move_on_after(LINGER_S):
            # Closing with unread bytes would reset the connection, and the answer be lost.
            if isinstance(self.stream, trio.SocketStream):
                await self.stream.send_eof()
            while await self.stream.receive_some(_READ_BYTES):
                pass

    async def _request(self) -> h11.Request | None:
        """The next whole request; None at the end of the stream. Raises RemoteProtocolError."""
        request: h11.Request | None = None
        body_bytes, self._head_only = 0, False
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                self._http.receive_data(bytes(await self.stream.receive_some(_READ_BYTES)))
            elif isinstance(event, h11.Request):
                request = event
                self._head_only = request.method == b"HEAD"
            elif isinstance(event, h11.Data):
                body_bytes += len(event.data)  # no request needs a body, and none is kept
                if body_bytes > REQUEST_BYTES_MAX:
                    why = f"the body of the request is longer than {REQUEST_BYTES_MAX} bytes"
                    raise h11.RemoteProtocolError(why, error_status_hint=_TOO_LONG)
            elif isinstance(event, h11.EndOfMessage):
                return request
            elif isinstance(event, h11.ConnectionClosed):
                return None
            else:
                raise AssertionError(event)

    async def _answer(self, request: h11.Request, pages: HttpPages) -> None:
        target = request.target.decode("ascii", "replace")
        if request.method not in _METHODS:
            allowed = b", ".join(_METHODS).decode()
            wrong = as_json({"error": f"only {allowed} are answered"})
            answer = HttpAnswer(_METHOD_NOT_ALLOWED, wrong, headers=(("Allow", allowed),))
        elif self._token is not None and not self._token.is_shown(list(request.headers)):
            answer = pages.answer_stranger(target)
        else:
            answer = await pages.answer(target)
        # HAProxy asks with OPTIONS by default: only the code matters to it.
        if request.method == b"OPTIONS":
            answer = answer._replace(body=b"")
        await self._send(answer)

    async def _send(self, answer: HttpAnswer) -> None:
        headers = [
            ("Content-Type", answer.kind),
            ("Content-Length", str(len(answer.body))),
            ("Cache-Control", "no-store"),
            ("Server", f"qsync/{__version__}"),
            *answer.headers,
            *([("Connection", "close")] if answer.last else []),
        ]
        events: list[h11.Event] = [h11.Response(status_code=answer.code, headers=headers)]
        if answer.body and not self._head_only:
            events.append(h11.Data(data=answer.body))
        events.append(h11.EndOfMessage())
        data = b"".join(sent for event in events if (sent := self._http.send(event)) is not None)
        with trio.move_on_after(IDLE_S_MAX) as patience:
            await self.stream.send_all(data)
        if patience.cancelled_caught:
            raise trio.BrokenResourceError("the answer is not read")
