"""A name that the resolver looks up for ever costs a caller no more than its own patience."""

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import pytest

import qsync
from qsync import lookups
from qsync.client.one_node import NodeConnection
from qsync.client.one_node_aio import AsyncNodeConnection
from qsync.client.streams import open_stream
from qsync.errors import FailureReason, Unavailable
from qsync.lookups import Lookup, Unresolved
from tests.node.test_fault_hooks import aside
from tests.node.test_rot import running

NAME = "hangs.example"
TWO = "two.example"
real = socket.getaddrinfo


def lookups_ended() -> None:
    """Wait for the threads of lookups: the next test would share their answers."""
    for each in threading.enumerate():
        if each.name == "qsync-lookup":
            each.join(20)


class Resolver:
    """Hangs at one name. `asked`: how often it was asked for that."""

    def __init__(self) -> None:
        self.asked = 0
        self.over = threading.Event()

    def __call__(self, host: str, port: int, *more: Any, **named: Any) -> Any:
        if host == NAME:
            self.asked += 1
            self.over.wait(20)
            raise socket.gaierror(socket.EAI_AGAIN, "it gave up")
        if host == TWO:
            return [*real("127.0.0.2", port, **named), *real("127.0.0.1", port, **named)]
        return real(host, port, *more, **named)


@pytest.fixture(autouse=True)
def resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Resolver]:
    made = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", made)
    yield made
    made.over.set()
    lookups_ended()


def run_async(backend: str, work: Callable[[], Any]) -> None:
    anyio.run(work, backend=backend)


def names_it(error: Unavailable) -> bool:
    return NAME in error.message and "it gave up" not in error.message


def test_a_connection_to_one_node_ends_with_its_own_timeout() -> None:
    with pytest.raises(Unavailable) as failed:
        NodeConnection(f"{NAME}:3301", timeout=0.2)
    assert failed.value.message == f"{NAME}:3301: its name was not resolved in time"
    assert failed.value.reason is FailureReason.TIMED_OUT


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_an_async_connection_to_one_node_does_too(backend: str) -> None:
    async def work() -> None:
        with pytest.raises(Unavailable) as failed:
            async with await AsyncNodeConnection.open(f"{NAME}:3301", timeout=0.2):
                pytest.fail("it is connected")
        assert names_it(failed.value)
        assert failed.value.reason is FailureReason.TIMED_OUT

    run_async(backend, work)


@pytest.mark.parametrize("direct", [True, False])
def test_the_client_of_a_cluster_does_too(*, direct: bool) -> None:
    with pytest.raises(Unavailable) as failed:
        qsync.connect(f"{NAME}:3301", connect_timeout=0.3, direct=direct)
    assert names_it(failed.value)


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_the_async_client_of_a_cluster_does_too(backend: str) -> None:
    async def work() -> None:
        with pytest.raises(Unavailable) as failed:
            async with qsync.connect_async(f"{NAME}:3301", connect_timeout=0.3):
                pytest.fail("it is connected")
        assert names_it(failed.value)

    run_async(backend, work)


async def test_another_seed_is_tried_meanwhile(tmp_path: Path, resolver: Resolver) -> None:
    """And a host with several addresses is reached at the one that accepts connections."""
    async with running(tmp_path) as node:
        _, port = node.address.split(":")

        def work() -> None:
            seeds = [f"{NAME}:3301", f"{TWO}:{port}"]
            with qsync.connect(seeds, connect_timeout=15) as db:
                db.schema.create_space("t", format=[("id", "unsigned")])
            NodeConnection(f"{TWO}:{port}").close()

        await aside(work)
        async with qsync.connect_async([f"{NAME}:3301", f"{TWO}:{port}"]) as db:
            assert (await db.space("t").insert([1])).row == [1]
    assert resolver.asked == 1
    assert not resolver.over.is_set()


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_a_connection_that_is_there_when_the_time_is_over_is_closed(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a pause of the process: both are seen in one turn."""
    connect = anyio.connect_tcp
    made = []

    async def work(port: int) -> None:
        with anyio.CancelScope() as caller:

            async def late(host: str, port: int) -> anyio.abc.SocketStream:
                made.append(await connect(host, port))
                caller.cancel()
                return made[0]

            monkeypatch.setattr(anyio, "connect_tcp", late)
            await open_stream(f"127.0.0.1:{port}", None, certify=lambda *_: None)
            pytest.fail("its time is over")
        assert made[0].extra(anyio.abc.SocketAttribute.raw_socket).fileno() == -1

    with socket.create_server(("127.0.0.1", 0)) as server:
        run_async(backend, partial(work, server.getsockname()[1]))


def test_one_thread_looks_a_name_up_however_many_ask(resolver: Resolver) -> None:
    asked = [Lookup(NAME, 1) for _ in range(5)]
    for each in asked[:2]:
        with pytest.raises(Unresolved):
            each.wait(0)
        each.close()
    resolver.over.set()
    for each in asked[2:]:
        with pytest.raises(socket.gaierror, match="it gave up"):
            each.wait(10)
        each.close()
    assert resolver.asked == 1
    assert lookups.look_up("127.0.0.1", 7, 0.0) == [(socket.AF_INET, ("127.0.0.1", 7))]
    assert lookups.look_up("localhost", 7, 10.0)


PROGRAM = """
import socket, threading, anyio, qsync
socket.getaddrinfo = lambda *_, **__: threading.Event().wait()
async def work():
    try:
        async with qsync.connect_async("hangs.example:1", connect_timeout=0.1):
            pass
    except qsync.errors.Unavailable:
        print("unavailable")
anyio.run(work, backend="{backend}")
try:
    qsync.connect("hangs.example:1", connect_timeout=0.1)
except qsync.errors.Unavailable:
    print("unavailable")
"""


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_a_lookup_keeps_no_process_from_its_end(backend: str) -> None:
    program = PROGRAM.replace("{backend}", backend)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, ["unavailable"] * 2), done.stderr
