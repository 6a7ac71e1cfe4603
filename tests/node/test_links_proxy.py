"""The proxy of the links, with real sockets and whatever a rule does to them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio

from admin.lab.ports import LOOPBACK, free_ports
from admin.links.control import Control, spoiled
from admin.links.proxy import ProxiedConnection, Proxy
from admin.links.rules import WHOLE, DirectedLink, LinkPlan, LinkRule
from qsync.errors import ConfigError, Unavailable

LINK = DirectedLink("a", "b")
PATIENCE = 10.0


@asynccontextmanager
async def proxied() -> AsyncIterator[tuple[ProxiedConnection, int, int]]:
    """A road to a server that echoes; the port to dial, and the one to tell the proxy."""
    entry, control = free_ports(2)
    with trio.fail_after(PATIENCE * 3):
        async with trio.open_nursery() as nursery:
            listeners = await nursery.start(partial(trio.serve_tcp, _echo, 0, host=LOOPBACK))
            target = listeners[0].socket.getsockname()
            road = ProxiedConnection(link=LINK, target=target)
            proxy = Proxy({LINK: road}, seed=1)
            await nursery.start(proxy.serve, {LINK: entry}, control)
            yield road, entry, control
            nursery.cancel_scope.cancel()


async def _echo(stream: trio.SocketStream) -> None:
    try:
        async for data in stream:
            await stream.send_all(data)
    except trio.BrokenResourceError:
        return


async def asked(stream: trio.SocketStream, data: bytes) -> bytes:
    await stream.send_all(data)
    found = b""
    while len(found) < len(data):
        received = await stream.receive_some()
        assert received
        found += bytes(received)
    return found


async def test_a_whole_link_carries_everything_in_order() -> None:
    async with proxied() as (road, entry, _):
        async with await trio.open_tcp_stream(LOOPBACK, entry) as stream:
            for size in (1, 4_000):
                data = bytes(range(256)) * size
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(stream.send_all, data)
                    found = b""
                    while len(found) < len(data):
                        found += bytes(await stream.receive_some())
                assert found == data
        assert road.carried >= 256 * 4_001 * 2


async def test_a_cut_link_holds_back_in_silence_and_delivers_when_it_is_healed() -> None:
    async with (
        proxied() as (road, entry, _),
        await trio.open_tcp_stream(LOOPBACK, entry) as stream,
    ):
        assert await asked(stream, b"before") == b"before"
        road.set(LinkRule(cut=True))
        await stream.send_all(b"meanwhile")
        with trio.move_on_after(0.3) as waited:
            await stream.receive_some()
        assert waited.cancelled_caught
        road.set(WHOLE)
        assert await stream.receive_some(9) == b"meanwhile"


async def test_a_slow_link_takes_at_least_its_delay() -> None:
    async with (
        proxied() as (road, entry, _),
        await trio.open_tcp_stream(LOOPBACK, entry) as stream,
    ):
        await asked(stream, b"warm")
        road.set(LinkRule(delay=0.1))
        begun = trio.current_time()
        assert await asked(stream, b"slow") == b"slow"
        assert trio.current_time() - begun >= 0.2  # there and back


async def test_a_refusing_link_resets_connections_and_takes_no_new_ones() -> None:
    async with proxied() as (road, entry, _):
        async with await trio.open_tcp_stream(LOOPBACK, entry) as stream:
            await asked(stream, b"before")
            road.set(LinkRule(refuse=True))
            with pytest.raises(trio.BrokenResourceError):
                await asked(stream, b"after")
        with pytest.raises((trio.BrokenResourceError, AssertionError)):
            async with await trio.open_tcp_stream(LOOPBACK, entry) as stream:
                await asked(stream, b"again")


async def test_a_half_open_link_swallows_what_comes_over_old_connections_and_carries_new_ones() -> (
    None
):
    async with (
        proxied() as (road, entry, _),
        await trio.open_tcp_stream(LOOPBACK, entry) as stream,
    ):
        assert await asked(stream, b"before") == b"before"
        road.set(LinkRule(half_open=True))
        await stream.send_all(b"into the void")
        async with await trio.open_tcp_stream(LOOPBACK, entry) as newer:
            assert await asked(newer, b"new") == b"new"
        road.set(WHOLE)
        with trio.move_on_after(0.3) as waited:
            await stream.receive_some()
        assert waited.cancelled_caught


async def test_a_flipping_link_changes_one_bit_of_a_piece() -> None:
    async with (
        proxied() as (road, entry, _),
        await trio.open_tcp_stream(LOOPBACK, entry) as stream,
    ):
        road.set(LinkRule(flip=1.0))
        spoiled = await asked(stream, bytes(64))
        assert sum(each.bit_count() for each in spoiled) in {0, 2}  # there and back


async def test_a_flapping_link_lets_through_in_its_turn() -> None:
    async with (
        proxied() as (road, entry, _),
        await trio.open_tcp_stream(LOOPBACK, entry) as stream,
    ):
        await asked(stream, b"warm")
        begun = trio.current_time()
        road.set(LinkRule(flap=0.2))
        assert await asked(stream, b"x") == b"x"
        assert trio.current_time() - begun >= 0.2


async def test_nobody_behind_the_link_looks_as_without_a_proxy() -> None:
    async with proxied() as (road, entry, _):
        road.target = (LOOPBACK, free_ports(1)[0])
        with pytest.raises((trio.BrokenResourceError, AssertionError)):
            async with await trio.open_tcp_stream(LOOPBACK, entry) as stream:
                await asked(stream, b"hello")


async def test_the_proxy_is_told_from_outside_and_says_how_the_links_are() -> None:
    async with proxied() as (road, entry, port):
        control = Control(LinkPlan(control=port, ports={LINK: entry}))

        def told() -> None:
            assert spoiled(control.show()) == []
            (spoilt,) = spoiled(control.set([LINK], LinkRule(delay=0.5)))
            assert (spoilt.link, spoilt.rule) == (LINK, LinkRule(delay=0.5))
            with pytest.raises(ConfigError):
                control.set([DirectedLink("a", "nowhere")], WHOLE)
            assert spoiled(control.heal()) == []
            control.reset([LINK])

        await trio.to_thread.run_sync(told)
        assert road.rule == WHOLE


def test_a_proxy_that_does_not_run_is_said_so() -> None:
    with pytest.raises(Unavailable, match="proxy of the links"):
        Control(LinkPlan(control=free_ports(1)[0], ports={})).show()


async def test_who_dials_a_node_that_is_gone_is_refused_until_it_is_back() -> None:
    entry, control, port = free_ports(3)
    road = ProxiedConnection(link=LINK, target=(LOOPBACK, port))
    with trio.fail_after(PATIENCE * 3):
        async with trio.open_nursery() as nursery:
            await nursery.start(Proxy({LINK: road}, seed=1).serve, {LINK: entry}, control)
            for _ in range(2):
                node = trio.CancelScope()
                await nursery.start(partial(_serve, node, port))
                while not (stream := await _dialled(entry)):
                    await trio.lowlevel.checkpoint()
                assert await asked(stream, b"it lives") == b"it lives"
                node.cancel()
                with pytest.raises(trio.BrokenResourceError):
                    await stream.receive_some()  # reset only when nobody can dial any more
                assert await _dialled(entry) is None
                await stream.aclose()
            nursery.cancel_scope.cancel()


async def _serve(
    scope: trio.CancelScope,
    port: int,
    *,
    task_status: trio.TaskStatus[list[trio.SocketListener]] = trio.TASK_STATUS_IGNORED,
) -> None:
    with scope:
        await trio.serve_tcp(_echo, port, host=LOOPBACK, task_status=task_status)


async def _dialled(port: int) -> trio.SocketStream | None:
    try:
        return await trio.open_tcp_stream(LOOPBACK, port)
    except OSError:
        return None
