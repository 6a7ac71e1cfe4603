"""Peers that are dialled by name: the resolver may hang, fail, or know several addresses."""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from qsync.node.dialling import LOOKUP_TIMEOUT
from qsync.node.links import HANDSHAKE_TIMEOUT, LinkStatus, PeerLink
from tests.node.test_lookups import lookups_ended
from tests.node.test_refused_links import PEER, Dialling

NAME = "n2.example"
real = socket.getaddrinfo


class Resolver:
    """Knows one name. It hangs while `hangs` is set, and knows no address at first."""

    def __init__(self) -> None:
        self.addresses: list[str] = []
        self.free = threading.Event()
        self.free.set()

    def __call__(self, host: str, port: int, *more: Any, **named: Any) -> Any:
        if host != NAME:
            return real(host, port, *more, **named)
        assert self.free.wait(20)
        if not self.addresses:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [each for address in self.addresses for each in real(address, port, **named)]


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Resolver]:
    made = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", made)
    yield made
    made.free.set()
    lookups_ended()


@pytest.fixture
def door() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


class Named(Dialling):
    """The link to a peer that is called by its name; its clock stands still until it is moved."""

    def __init__(self, door: socket.socket) -> None:
        super().__init__(f"{NAME}:{door.getsockname()[1]}")
        self.time = 100.0
        self.links._now = lambda: self.time  # type: ignore[method-assign]  # no system has this

    @property
    def link(self) -> PeerLink:
        return self.links.links[PEER]

    def dial(self) -> None:
        """Dial when it is due."""
        self.time = max(self.time, self.link.next_dial)
        self.links.dial_due()

    def meet(self) -> None:
        """Dial, and be greeted."""
        self.dial()
        self.until(lambda: self.link.status is LinkStatus.GREETING)

    def fail(self) -> None:
        """Dial, and fail."""
        self.dial()
        self.until(lambda: self.link.status is LinkStatus.DOWN)

    def pass_time(self, seconds: float) -> None:
        self.time += seconds
        self.links.dial_due()


@pytest.fixture
def named(door: socket.socket, resolver: Resolver) -> Iterator[Named]:
    made = Named(door)
    yield made
    made.links.part("the test is over")
    made.reactor.shut()


async def test_a_node_does_not_wait_for_a_resolver_that_hangs(
    named: Named, resolver: Resolver
) -> None:
    resolver.addresses = ["127.0.0.1"]
    resolver.free.clear()
    named.dial()  # would hang here
    assert named.link.status is LinkStatus.CONNECTING
    resolver.free.set()
    named.until(lambda: named.link.status is LinkStatus.GREETING)


async def test_a_resolver_without_an_answer_is_the_reason_of_the_failure(
    named: Named, resolver: Resolver
) -> None:
    resolver.free.clear()
    named.dial()
    named.pass_time(HANDSHAKE_TIMEOUT + 0.1)
    assert named.link.status is LinkStatus.DOWN
    assert named.link.message == "its name was not resolved in time"
    assert named.refusals == []


async def test_an_unknown_name_says_nothing_about_the_peer(named: Named) -> None:
    named.fail()
    assert named.link.message.startswith(f"cannot resolve {NAME}: ")
    assert "Name or service not known" in named.link.message
    assert named.refusals == []


async def test_every_address_of_a_name_is_tried(named: Named, resolver: Resolver) -> None:
    resolver.addresses = ["127.0.0.2", "127.0.0.3", "127.0.0.1"]
    named.meet()
    assert named.refusals == []


async def test_nobody_is_there_when_all_addresses_refuse(named: Named, resolver: Resolver) -> None:
    resolver.addresses = ["127.0.0.2", "127.0.0.3"]
    named.fail()
    assert named.link.message == "ECONNREFUSED"
    assert named.refusals == [True]


async def test_a_peer_is_dialled_where_its_name_led_last_if_the_resolver_hangs(
    named: Named, resolver: Resolver
) -> None:
    resolver.addresses = ["127.0.0.1"]
    named.meet()
    resolver.free.clear()
    named.pass_time(HANDSHAKE_TIMEOUT + 0.1)
    named.dial()
    assert named.link.dial is not None
    assert named.link.dial.is_resolving
    named.pass_time(LOOKUP_TIMEOUT)
    named.until(lambda: named.link.status is LinkStatus.GREETING)


async def test_a_peer_is_dialled_where_its_name_led_last_if_the_resolver_fails(
    named: Named, resolver: Resolver
) -> None:
    resolver.addresses = ["127.0.0.1"]
    named.meet()
    resolver.addresses = []
    named.pass_time(HANDSHAKE_TIMEOUT + 0.1)
    named.meet()


async def test_a_peer_that_moved_is_never_looked_for_where_it_was(
    named: Named, resolver: Resolver
) -> None:
    resolver.addresses = ["127.0.0.2"]
    named.fail()
    resolver.addresses = ["127.0.0.1"]
    named.meet()


async def test_a_process_without_room_for_a_thread_fails_to_resolve_and_tries_again(
    named: Named, resolver: Resolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    resolver.addresses = ["127.0.0.1"]
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_room)
        named.dial()
    assert named.link.status is LinkStatus.DOWN
    assert "can't start new thread" in named.link.message
    named.meet()
