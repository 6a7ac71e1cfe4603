"""A node that listens on a name with several addresses: at all of them, or the reason why not."""

import errno
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import h11
import pytest
import trio

from admin.metrics.server import open_metrics
from qsync.client.one_node_aio import AsyncNodeConnection
from qsync.config import NodeConfig
from qsync.config.kinds import Address
from qsync.errors import ConfigError
from qsync.lookups import Door
from qsync.node.listening import listen_at
from qsync.node.node import open_node
from qsync.wire.verbs import PlainRequest, Verb
from tests.node.knocking import config

NAME = "n1.example"
FOREIGN = "198.51.100.1"
"""For documents; no machine has it."""
real = socket.getaddrinfo

Listen = Callable[..., list[socket.socket]]


def doors(*hosts: str, port: int = 0) -> list[Door]:
    return [(socket.AF_INET6 if ":" in host else socket.AF_INET, (host, port)) for host in hosts]


def ipv6_missing() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return False
    except OSError:
        return True


@pytest.fixture
def told() -> list[Mapping[str, object]]:
    return []


@pytest.fixture
def listen(told: list[Mapping[str, object]]) -> Iterator[Listen]:
    """The sockets for these hosts, at that port."""
    made: list[socket.socket] = []

    def begin(
        *hosts: str, port: int = 0, opened: Callable[[int], socket.socket] = socket.socket
    ) -> list[socket.socket]:
        address = Address(f"{NAME}:{port}")
        found = listen_at(
            "listen",
            address,
            doors(*hosts, port=port),
            opened=opened,
            tell=lambda _, fields: told.append(fields),
        )
        made.extend(found)
        return found

    yield begin
    for each in made:
        each.close()


def test_all_addresses_get_one_port(listen: Listen, told: list[Mapping[str, object]]) -> None:
    hosts, ports = zip(
        *(each.getsockname() for each in listen("127.0.0.1", "127.0.0.2")), strict=True
    )
    assert hosts == ("127.0.0.1", "127.0.0.2")
    assert len(set(ports)) == 1
    assert told == []


def test_a_free_port_that_is_taken_at_another_address_is_no_free_port(listen: Listen) -> None:
    opened: list[socket.socket] = []
    with socket.socket() as rival:

        def open_socket(family: int) -> socket.socket:
            taken = rival.getsockname()[1]
            if opened and not taken:
                with suppress(OSError):  # another process has it already
                    rival.bind(("127.0.0.2", opened[-1].getsockname()[1]))
            opened.append(socket.socket(family))
            return opened[-1]

        found = listen("127.0.0.1", "127.0.0.2", opened=open_socket)
        ports = {each.getsockname()[1] for each in found}
        assert len(ports) == 1
        assert len(opened) > len(found), "not at the first try"
        assert rival.getsockname()[1] not in ports


def test_an_address_that_somebody_else_has_is_named_and_nothing_is_kept(listen: Listen) -> None:
    with socket.create_server(("127.0.0.2", 0)) as rival:
        port = rival.getsockname()[1]
        with pytest.raises(ConfigError) as failed:
            listen("127.0.0.1", "127.0.0.2", port=port)
        assert failed.value.message == (
            f"listen = {NAME}:{port}: cannot be listened on at 127.0.0.2: Address already in use"
        )
        assert failed.value.hint == (
            "another process has the port (is this node running already?); "
            f"or write one address of {NAME} instead of the name"
        )
        assert listen("127.0.0.1", port=port)


@pytest.mark.parametrize("hosts", [(FOREIGN, "127.0.0.1"), ("127.0.0.1", FOREIGN)])
def test_an_address_of_another_machine_is_told_and_left_out(
    listen: Listen, told: list[Mapping[str, object]], hosts: tuple[str, ...]
) -> None:
    (only,) = listen(*hosts)
    assert only.getsockname()[0] == "127.0.0.1"
    assert [(each["address"], each["name"], each["why"]) for each in told] == [
        (FOREIGN, NAME, "Cannot assign requested address")
    ]


def test_a_machine_without_ipv6_listens_on_ipv4(
    listen: Listen, told: list[Mapping[str, object]]
) -> None:
    def open_socket(family: int) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
        return socket.socket(family)

    (only,) = listen("::1", "127.0.0.1", opened=open_socket)
    assert only.family == socket.AF_INET
    assert [each["address"] for each in told] == ["::1"]


def test_no_address_of_this_machine_is_a_mistake(listen: Listen) -> None:
    with pytest.raises(ConfigError) as failed:
        listen(FOREIGN, "198.51.100.2")
    assert f"at {FOREIGN}: Cannot assign requested address" in failed.value.message
    assert "not of this machine" in failed.value.hint


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name has an address of either family."""

    def resolve(host: str, port: int, *more: Any, **named: Any) -> Any:
        hosts = ("::1", "127.0.0.1") if host == NAME else (host,)
        return [found for each in hosts for found in real(each, port, *more, **named)]

    if ipv6_missing():
        pytest.skip("this machine has no IPv6")
    monkeypatch.setattr(socket, "getaddrinfo", resolve)


def named(path: Path) -> NodeConfig:
    return config(
        path, alone=True, listen=f"{NAME}:0", metrics__listen=f"{NAME}:0", insecure="true"
    )


@pytest.mark.usefixtures("both")
async def test_a_node_answers_at_either_address_of_its_name(tmp_path: Path) -> None:
    async with open_node(named(tmp_path)) as node:
        host, _, port = node.address.rpartition(":")
        assert host == NAME
        for each in ("127.0.0.1", "[::1]"):
            async with await AsyncNodeConnection.open(f"{each}:{port}") as line:
                assert await line.ask(PlainRequest(1, Verb.PING)) == []


@pytest.mark.usefixtures("both")
async def test_metrics_are_at_either_address_of_their_name(tmp_path: Path) -> None:
    found = named(tmp_path)
    async with open_metrics(found) as metrics, open_node(found) as node:
        assert metrics is not None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(metrics.serve, node)
            for each in ("127.0.0.1", "::1"):
                stream = await trio.open_tcp_stream(each, Address(metrics.address).port)
                await stream.send_all(b"GET /healthz HTTP/1.1\r\nHost: n1\r\n\r\n")
                answer = h11.Connection(h11.CLIENT)
                answer.receive_data(await stream.receive_some())
                assert isinstance(answer.next_event(), h11.Response)
                await stream.aclose()
            nursery.cancel_scope.cancel()


@pytest.mark.usefixtures("both")
async def test_a_free_port_of_an_address_of_ipv6_is_told_in_brackets(tmp_path: Path) -> None:
    async with open_node(config(tmp_path, alone=True, listen="[::1]:0")) as node:
        assert Address.parse(node.address).host == "::1"
