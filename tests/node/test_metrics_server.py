"""The HTTP side of a node over real sockets: answers, limits, and guests who misbehave."""

import json
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import h11
import pytest
import trio

from admin.cluster.sampler import OwnAccount
from admin.metrics import server
from admin.metrics.answers import HttpAnswer, HttpPages
from admin.metrics.text import CONTENT_TYPE
from admin.metrics.token import BearerToken
from admin.page import dress
from admin.page import look as looking
from admin.page.look import ClusterLook
from admin.page.served import rendered
from qsync.config import NodeConfig
from qsync.errors import ConfigError
from qsync.status import decode
from qsync.status.members import ElectionStatus
from qsync.status.record import NodeStatus, as_members

LEADS = ElectionStatus(state="leader", leader=1)
STATUS = NodeStatus(id=1, name="n1", status="running", election=LEADS, ro=False)


@asynccontextmanager
async def serving(
    token: BearerToken | None = None,
    look: ClusterLook | None = None,
    *,
    pages: HttpPages | None = None,
    open_health: bool = False,
    mistakes: list[Exception] | None = None,
) -> AsyncIterator[trio.SocketListener]:
    """Mistakes of ours are kept where they are asked for, and end the test otherwise."""

    def survive(error: Exception) -> None:
        if mistakes is None:
            raise error
        mistakes.append(error)

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with trio.open_nursery() as nursery:
        if look is not None:
            nursery.start_soon(look.run)
        there = pages or HttpPages(lambda: STATUS, look, open_health=open_health)
        nursery.start_soon(partial(server.serve, listeners, there, None, token, survive=survive))
        yield listeners[0]
        nursery.cancel_scope.cancel()


async def dial(listener: trio.SocketListener) -> trio.SocketStream:
    return await trio.open_tcp_stream("127.0.0.1", listener.socket.getsockname()[1])


class Guest:
    """A client that keeps its connection."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self.http = h11.Connection(h11.CLIENT)

    async def ask(
        self, target: str, method: str = "GET", *, shown: str = ""
    ) -> tuple[int, dict[str, str], str]:
        headers = [("Host", "x"), *([("Authorization", shown)] if shown else [])]
        request = h11.Request(method=method, target=target, headers=headers)
        sent = self.http.send(request), self.http.send(h11.EndOfMessage())
        await self.stream.send_all(b"".join(part for part in sent if part))
        return await self.read()

    async def read(self) -> tuple[int, dict[str, str], str]:
        code, headers, body = 0, dict[str, str](), b""
        while True:
            event = self.http.next_event()
            if event is h11.NEED_DATA:
                self.http.receive_data(await self.stream.receive_some())
            elif isinstance(event, h11.Response):
                code = event.status_code
                headers = {name.decode(): value.decode() for name, value in event.headers}
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                if self.http.our_state is h11.DONE and self.http.their_state is h11.DONE:
                    self.http.start_next_cycle()
                return code, headers, body.decode()
            else:
                raise AssertionError(event)


async def test_one_connection_is_answered_again_and_again() -> None:
    async with serving() as listener, await dial(listener) as stream:
        guest = Guest(stream)
        code, headers, body = await guest.ask("/metrics")
        assert (code, headers["content-type"]) == (200, CONTENT_TYPE)
        assert 'qsync_writable{cluster="",node="n1"} 1\n' in body
        assert (await guest.ask("/writable"))[0] == 200
        code, _, body = await guest.ask("/replica")
        assert (code, json.loads(body)["why"]) == (503, "this node leads")
        assert decode.status(json.loads((await guest.ask("/status"))[2])) == STATUS
        code, _, body = await guest.ask("/nothing")
        assert code == 404
        assert "/metrics" in json.loads(body)["there is"]
        for page in ("/metrics", "/status"):
            assert (await guest.ask(f"{page}?x=1"))[0] == (await guest.ask(page))[0] == 200


async def test_head_and_options_give_the_code_without_a_body() -> None:
    async with serving() as listener, await dial(listener) as stream:
        guest = Guest(stream)
        code, headers, body = await guest.ask("/leader", "HEAD")
        assert (code, body) == (200, "")
        assert int(headers["content-length"]) > 0
        assert (await guest.ask("/replica", "OPTIONS"))[::2] == (503, "")
        code, headers, _ = await guest.ask("/metrics", "DELETE")
        assert (code, headers["allow"]) == (405, "GET, HEAD, OPTIONS")
        assert (await guest.ask("/leader"))[0] == 200


LONG = b"x" * (server.REQUEST_BYTES_MAX + 1)
CHUNKS = b"1\r\nx\r\n" * (server.REQUEST_BYTES_MAX + 1)


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"\x00\x01\x02 what\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET /" + b"x" * (2 * server.REQUEST_BYTES_MAX), 431),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"OPTIONS / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n" + LONG, 413),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS, 413),
    ],
)
async def test_what_is_no_request_is_refused_and_the_connection_ends(
    sent: bytes, code: int
) -> None:
    async with serving() as listener, await dial(listener) as stream:
        await stream.send_all(sent)
        found, headers, _ = await Guest(stream).read()
        assert (found, headers["connection"]) == (code, "close")
        assert await stream.receive_some() == b""
        await stream.aclose()
        async with await dial(listener) as other:
            assert (await Guest(other).ask("/health"))[0] == 200


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b"<b> / HTTP/1.1\r\n\r\n", "illegal request line"),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", "illegal header line"),
        (b"GET / HTTP/1.1\r\n\r\n", "Missing mandatory Host: header"),
        (
            b"GET / HTTP/1.1\r\nX: " + LONG,
            f"the head of the request is longer than {server.REQUEST_BYTES_MAX} bytes",
        ),
    ],
)
async def test_what_is_wrong_with_a_request_is_said_in_words(sent: bytes, why: str) -> None:
    async with serving() as listener, await dial(listener) as stream:
        await stream.send_all(sent)
        assert json.loads((await Guest(stream).read())[2]) == {"error": why}


async def test_a_head_whose_body_is_malformed_ends_its_connection_alone() -> None:
    """The answer to a HEAD has no body, also where the request is refused halfway."""
    async with serving() as listener, await dial(listener) as stream:
        await stream.send_all(
            b"HEAD / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
        )
        said = b""
        while more := await stream.receive_some():
            said += more
        head, _, body = said.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert body == b""
        async with await dial(listener) as other:
            assert (await Guest(other).ask("/health"))[0] == 200


async def test_a_refusal_behind_a_head_has_its_body() -> None:
    async with serving() as listener, await dial(listener) as stream:
        guest = Guest(stream)
        assert (await guest.ask("/leader", "HEAD"))[0] == 200
        await stream.send_all(b"\x00\x01\r\n\r\n")
        code, _, body = await guest.read()
        assert code == 400
        assert json.loads(body).keys() == {"error"}


class Broken(HttpPages):
    """Pages with a mistake of ours in one of them."""

    async def answer(self, target: str) -> HttpAnswer:
        if target == "/broken":
            raise KeyError(target)
        return await super().answer(target)


async def test_a_mistake_of_ours_ends_the_connection_that_ran_into_it_and_no_other() -> None:
    mistakes: list[Exception] = []
    pages = Broken(lambda: STATUS)
    async with (
        serving(pages=pages, mistakes=mistakes) as listener,
        await dial(listener) as stream,
        await dial(listener) as other,
    ):
        await stream.send_all(b"GET /broken HTTP/1.1\r\nHost: x\r\n\r\n")
        with suppress(trio.BrokenResourceError):
            assert await stream.receive_some() == b""
        assert [repr(each) for each in mistakes] == ["KeyError('/broken')"]
        assert (await Guest(other).ask("/health"))[0] == 200


class Slow(HttpPages):
    """Pages of which one is answered only when it is time."""

    time: trio.Event

    async def answer(self, target: str) -> HttpAnswer:
        if target == "/slow":
            await self.time.wait()
        return await super().answer(target)


@asynccontextmanager
async def all_being_answered() -> AsyncIterator[
    tuple[trio.SocketListener, list[Guest], trio.Event]
]:
    """A port on which no connection waits for a request, and what ends that."""
    pages = Slow(lambda: STATUS)
    pages.time = trio.Event()
    async with serving(pages=pages) as listener, AsyncExitStack() as stack:
        guests = [
            Guest(await stack.enter_async_context(await dial(listener)))
            for _ in range(server.CONNECTIONS_MAX)
        ]
        for each in guests:
            await each.stream.send_all(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        await trio.testing.wait_all_tasks_blocked(0.01)
        yield listener, guests, pages.time


async def test_more_than_are_being_refused_are_closed_without_an_answer() -> None:
    """Each one takes a file descriptor for as long as it is there, and the log needs some too."""
    async with all_being_answered() as (listener, _, _), AsyncExitStack() as stack:

        async def silent() -> trio.SocketStream:
            return await stack.enter_async_context(await dial(listener))

        for each in [await silent() for _ in range(server.REFUSED_MAX)]:
            assert (await each.receive_some())[:12] == b"HTTP/1.1 503"
        assert await (await silent()).receive_some() == b""


async def test_handshakes_begin_one_after_another(autojump_clock: trio.testing.MockClock) -> None:
    """Whoever dials the port gets one, and all of them together a small share of the node."""
    gaps, began = server.HandshakeGaps(), list[float]()
    first = trio.current_time()

    async def one() -> None:
        await gaps.wait()
        began.append(trio.current_time() - first)

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(one)
    autojump_clock.jump(1.0)
    await one()
    assert began == pytest.approx([*(n * server.HANDSHAKE_GAP_S for n in range(5)), began[-1]])
    assert began[-1] == pytest.approx(1.0 + began[-2])


async def test_while_all_are_being_answered_one_more_is_told_so() -> None:
    async with all_being_answered() as (listener, guests, time):
        async with await dial(listener) as stream:
            code, headers, body = await Guest(stream).read()
            assert (code, headers["connection"]) == (503, "close")
            assert str(server.CONNECTIONS_MAX) in body
        time.set()
        await guests[0].stream.send_eof()
        while await guests[0].stream.receive_some():
            pass  # its place is free then
        async with await dial(listener) as stream:
            assert (await Guest(stream).ask("/health"))[0] == 200


async def test_who_only_holds_connections_keeps_no_reader_out() -> None:
    """A probe that gets no answer would let an orchestrator restart a healthy node."""
    async with serving() as listener, AsyncExitStack() as stack:

        async def guest() -> Guest:
            return Guest(await stack.enter_async_context(await dial(listener)))

        held = [await guest() for _ in range(server.CONNECTIONS_MAX)]
        for each in [*held, held[0]]:
            assert (await each.ask("/health"))[0] == 200
        for number in range(1, server.CONNECTIONS_MAX):
            assert (await (await guest()).ask("/health"))[0] == 200
            assert await held[number].stream.receive_some() == b"", "it has waited longest"
        assert (await held[0].ask("/health"))[0] == 200


async def test_a_guest_that_hangs_up_early_harms_nobody() -> None:
    async with serving() as listener:
        for sent in (b"", b"GET /metr", b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"):
            stream = await dial(listener)
            if sent:
                await stream.send_all(sent)
            await trio.aclose_forcefully(stream)
        async with await dial(listener) as stream:
            assert (await Guest(stream).ask("/health"))[0] == 200


async def test_a_silent_guest_is_sent_away(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with serving() as listener, await dial(listener) as stream:
        began = trio.current_time()
        assert await stream.receive_some() == b""
        assert server.IDLE_S_MAX <= trio.current_time() - began < server.IDLE_S_MAX + 1


async def test_an_address_that_is_taken_is_refused_before_the_node_opens() -> None:
    async with server.open_metrics(NodeConfig.loads("{}")) as nothing:
        assert nothing is None
    config = NodeConfig.loads("metrics: {listen: '127.0.0.1:0'}")
    async with server.open_metrics(config) as metrics:
        assert metrics is not None
        assert metrics.words == f"metrics on {metrics.address}"
        taken = NodeConfig.loads(f"metrics: {{listen: '{metrics.address}'}}")
        with pytest.raises(ConfigError, match=r"metrics.listen = 127.0.0.1:\d+: cannot be"):
            async with server.open_metrics(taken):
                raise AssertionError


TOKEN, OTHER = "a token of a reader", "another one of readers"


async def test_where_there_is_a_token_nothing_is_told_without_it(tmp_path: Path) -> None:
    """Neither figures nor health, nor which URLs there are; a new file counts at once."""
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    async with serving(BearerToken(file)) as listener:
        guest = Guest(await dial(listener))
        for target in ("/metrics", "/status", "/live", "/nothing"):
            for shown in ("", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer"):
                code, headers, body = await guest.ask(target, shown=shown)
                assert (code, headers["www-authenticate"]) == (401, "Bearer")
                assert json.loads(body).keys() == {"error"}
        assert (await guest.ask("/metrics", shown=f"Bearer {TOKEN}"))[0] == 200
        assert (await guest.ask("/metrics", shown=f"bearer {TOKEN}"))[0] == 200
        assert (await guest.ask("/nothing", shown=f"Bearer {TOKEN}"))[0] == 404
        (tmp_path / "fresh").write_text(OTHER)
        (tmp_path / "fresh").replace(file)
        assert (await guest.ask("/metrics", shown=f"Bearer {TOKEN}"))[0] == 401
        assert (await guest.ask("/metrics", shown=f"Bearer {OTHER}"))[0] == 200
        file.unlink()
        assert (await guest.ask("/metrics", shown=f"Bearer {OTHER}"))[0] == 200
        file.write_text("short")
        assert (await guest.ask("/metrics", shown="Bearer short"))[0] == 401
        assert (await guest.ask("/metrics", shown=f"Bearer {OTHER}"))[0] == 200
        await guest.stream.aclose()


@pytest.mark.parametrize(
    ("text", "why"),
    [(None, "cannot be read"), ("short", "has 5 characters"), ("", "holds no secret")],
)
async def test_a_token_that_is_none_is_refused_at_the_start(
    tmp_path: Path, text: str | None, why: str
) -> None:
    file = tmp_path / "token"
    if text is not None:
        file.write_text(text)
    given = {"metrics.listen": "127.0.0.1:0", "metrics.token_file": str(file)}
    with pytest.raises(ConfigError, match=why):
        async with server.open_metrics(NodeConfig.load(None, {}, given)):
            pass


# ------------------------------------------------------------------------------ the status page


class Shown:
    """A node alone, which counts how often it is asked; or one that breaks when it is."""

    def __init__(self, broken: str = "") -> None:
        self.asked = 0
        self.broken = broken
        self.mistakes: list[Exception] = []
        self.look = ClusterLook(
            self.own, lambda picture: rendered(picture, STATUS), survive=self.mistakes.append
        )

    def own(self) -> OwnAccount:
        self.asked += 1
        if self.broken:
            raise ValueError(self.broken)
        return OwnAccount(answer=as_members(STATUS))


async def test_the_page_is_served_with_a_policy_and_kept_by_nobody() -> None:
    async with serving(look=Shown().look) as listener:

        async def ask(target: str, method: str = "GET") -> tuple[int, dict[str, str], str]:
            async with await dial(listener) as stream:
                return await Guest(stream).ask(target, method)

        code, headers, body = await ask("/")
        assert (code, headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert headers["content-security-policy"] == dress.POLICY
        assert (headers["cache-control"], headers["connection"]) == ("no-store", "close")
        assert "n1 leads term 0 and commits with 1 of 1 voters" in body
        code, headers, body = await ask("/status.json")
        found = json.loads(body)
        assert (code, found["schema"], found["seen_by"]) == (200, "qsync/page/1", "n1")
        assert found["sentence"].startswith("Healthy: n1 leads")
        code, headers, body = await ask("/", "HEAD")
        assert (code, body) == (200, "")
        assert int(headers["content-length"]) > 1000
        assert (await ask("/?x"))[0] == 200


async def later(clock: trio.testing.MockClock, seconds: float) -> None:
    """So much later, when everybody has done what was due."""
    await trio.testing.wait_all_tasks_blocked()
    clock.jump(seconds)
    await trio.testing.wait_all_tasks_blocked()


async def test_nobody_is_asked_while_nobody_looks(mock_clock: trio.testing.MockClock) -> None:
    shown = Shown()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(shown.look.run)
        await later(mock_clock, 1000)
        assert (shown.asked, shown.look.busy) == (0, False)
        pages = [await shown.look.page() for _ in range(100)]
        assert len({id(page) for page in pages}) == 1, "rendered once for a hundred"
        assert shown.look.busy
        await later(mock_clock, looking.PERIOD_S + looking.ANSWER_S)
        assert await shown.look.page() is not pages[0]
        await later(mock_clock, looking.UNSEEN_S + looking.PERIOD_S)
        asked = shown.asked
        assert not shown.look.busy
        await later(mock_clock, 1000)
        assert shown.asked == asked
        assert await shown.look.page() is not None
        nursery.cancel_scope.cancel()


async def test_a_mistake_in_what_is_shown_is_noted_once_and_ends_nothing(
    mock_clock: trio.testing.MockClock,
) -> None:
    shown = Shown("what nobody thought of")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(shown.look.run)
        pages = HttpPages(lambda: STATUS, shown.look)
        for _ in range(5):
            answer = await pages.answer("/")
            assert (answer.code, b"mistake of qsync" in answer.body) == (500, True)
        assert len(shown.mistakes) == 1
        assert (await pages.answer("/leader")).code == 200
        shown.broken = ""
        await later(mock_clock, looking.UNSEEN_S)
        assert (await pages.answer("/")).code == 200
        nursery.cancel_scope.cancel()


async def test_a_browser_shows_the_token_as_a_password(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)

    def basic(text: str) -> str:
        return f"Basic {b64encode(text.encode()).decode()}"

    async with serving(BearerToken(file), Shown().look) as listener, await dial(listener) as stream:
        guest = Guest(stream)
        for wrong in ("", basic(TOKEN), basic(f"ann:{TOKEN}x"), basic(f"{TOKEN}:ann"), "Basic !"):
            code, headers, _ = await guest.ask("/", shown=wrong)
            assert (code, headers["www-authenticate"][:6]) == (401, "Basic ")
        for odd in (b"\xff", b"/w==", b"\xc3\xa9"):  # not ASCII; not UTF-8 below; not ASCII
            await stream.send_all(
                b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Basic " + odd + b"\r\n\r\n"
            )
            reader = Guest(stream)
            reader.http.send(h11.Request(method="GET", target="/", headers=[("Host", "x")]))
            reader.http.send(h11.EndOfMessage())
            assert (await reader.read())[0] == 401
        code, _, body = await guest.ask("/", shown=basic(f"anybody:{TOKEN}"))
        assert (code, "commits" in body) == (200, True)


async def test_health_may_be_open_to_probes_that_show_no_token(tmp_path: Path) -> None:
    """A code, and not a word; everything else is as closed as before."""
    file = tmp_path / "token"
    file.write_text(TOKEN)
    async with (
        serving(BearerToken(file), Shown().look, open_health=True) as listener,
        await dial(listener) as stream,
    ):
        guest = Guest(stream)
        assert (await guest.ask("/liveness"))[::2] == (200, "{}\n")
        assert (await guest.ask("/replica?lag=1"))[::2] == (503, "{}\n")
        assert (await guest.ask("/leader", "HEAD"))[::2] == (200, "")
        for closed in ("/", "/status", "/status.json", "/metrics", "/nothing"):
            assert (await guest.ask(closed))[0] == 401
        code, _, body = await guest.ask("/leader", shown=f"Bearer {TOKEN}")
        assert (code, json.loads(body)["node"]) == (200, "n1")


class Endless(HttpPages):
    """More than the kernel holds for who does not read."""

    async def answer(self, target: str) -> HttpAnswer:
        return HttpAnswer(200, bytes(64 << 20)) if target == "/" else await super().answer(target)


async def test_who_does_not_read_an_answer_is_sent_away_and_harms_nobody(
    mock_clock: trio.testing.MockClock,
) -> None:
    async with serving(pages=Endless(lambda: STATUS)) as listener, AsyncExitStack() as stack:
        lazy = [await stack.enter_async_context(await dial(listener)) for _ in range(5)]
        for each in lazy:
            await each.send_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        async with await dial(listener) as stream:
            assert (await Guest(stream).ask("/leader"))[0] == 200
        mock_clock.jump(server.IDLE_S_MAX)
        read = 0
        with suppress(trio.BrokenResourceError):
            while data := await lazy[-1].receive_some(1 << 20):
                read += len(data)
        assert read < 64 << 20
