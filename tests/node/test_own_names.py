"""A node that listens on a name: it waits until the resolver knows it, and for how long."""

import socket
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from qsync.config.kinds import Address
from qsync.errors import ConfigError
from qsync.lookups import Door
from qsync.node.logs import NodeLog
from qsync.node.own_address import RETRY_S, UNKNOWN_S_MAX, own_doors

NAME = "n1.example"
IPV4, IPV6 = (socket.AF_INET, ("127.0.0.1", 3301)), (socket.AF_INET6, ("::1", 3301, 0, 0))
real = socket.getaddrinfo


class Resolver:
    """Fails with `errors` in turn, and has `doors` after them."""

    def __init__(self, errors: list[int], doors: list[Any]) -> None:
        self.errors, self.doors = errors, doors

    def __call__(self, host: str, port: int, *more: Any, **named: Any) -> Any:
        if host != NAME:
            return real(host, port, *more, **named)
        if self.errors:
            raise socket.gaierror(self.errors.pop(), "not now")
        return [(family, socket.SOCK_STREAM, 6, "", where) for family, where in self.doors]


class Log(NodeLog):
    """Remembers what it is told."""

    def __init__(self) -> None:
        super().__init__("n1", "lab")
        self.told: list[str] = []

    def tell(self, name: str, fields: Mapping[str, object]) -> None:
        assert fields == {"name": NAME, "why": "not now"}
        self.told.append(name)


Resolve = Callable[[list[int], list[Door]], Log]


@pytest.fixture
def resolve(monkeypatch: pytest.MonkeyPatch) -> Resolve:
    def begin(errors: list[int], doors: list[Door]) -> Log:
        monkeypatch.setattr(socket, "getaddrinfo", Resolver(errors, doors))
        return Log()

    return begin


async def test_a_name_that_is_known_later_is_waited_for(
    resolve: Resolve, autojump_clock: MockClock
) -> None:
    log = resolve([socket.EAI_NONAME] * 3, [IPV4])
    assert await own_doors("listen", Address(f"{NAME}:3301"), log) == [IPV4]
    assert log.told == ["own_name_unknown"] * 3
    assert trio.current_time() < UNKNOWN_S_MAX


async def test_a_resolver_that_does_not_answer_is_waited_for_however_long(
    resolve: Resolve, autojump_clock: MockClock
) -> None:
    begun = trio.current_time()
    log = resolve([socket.EAI_AGAIN] * int(3 * UNKNOWN_S_MAX / RETRY_S), [IPV4])
    assert await own_doors("listen", Address(f"{NAME}:3301"), log) == [IPV4]
    assert trio.current_time() - begun > 2 * UNKNOWN_S_MAX


async def test_a_name_that_stays_unknown_is_a_mistake(
    resolve: Resolve, autojump_clock: MockClock
) -> None:
    log = resolve([socket.EAI_NONAME] * 1000, [])
    with pytest.raises(ConfigError) as failed:
        await own_doors("listen", Address(f"{NAME}:3301"), log)
    assert failed.value.message == f"listen = {NAME}:3301: {NAME} is not known: not now"
    assert len(log.told) >= UNKNOWN_S_MAX / RETRY_S - 1


@pytest.mark.parametrize(
    ("known", "found"), [([IPV6, IPV4], [IPV6, IPV4]), ([IPV4, IPV4], [IPV4])], ids=["both", "once"]
)
async def test_all_addresses_of_the_name_are_found(
    resolve: Resolve, known: list[Door], found: list[Door]
) -> None:
    log = resolve([], known)
    assert await own_doors("listen", Address(f"{NAME}:3301"), log) == found


async def test_an_address_needs_no_resolver(resolve: Resolve) -> None:
    log = resolve([socket.EAI_NONAME] * 1000, [])
    assert await own_doors("listen", Address("127.0.0.1:3301"), log) == [IPV4]
    assert log.told == []
