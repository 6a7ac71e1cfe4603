"""When a link that fails says that nobody is there, and when it says no such thing."""

import socket
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import cast

import cbor2
import pytest

from election.messages import Replica
from qsync.config import PeerConfig
from qsync.config.kinds import Address
from qsync.core.inputs import Disconnected, Input
from qsync.node.addresses import AddressBook
from qsync.node.links import Links, LinkStatus
from qsync.node.reactor import Reactor
from qsync.node.unfinished import UnfinishedRequests
from qsync.wire.frames import frame
from qsync.wire.proofs import NO_KEYS
from qsync.wire.session import Hello, Party

PEER = Replica(2)
WAIT_S = 5.0


def nothing(*_: object) -> None:
    """There is no observer."""


class OnePeer:
    """A book with one node in it, for ever."""

    def __init__(self, address: Address) -> None:
        self._peer = PeerConfig(id=PEER, name="n2", address=address)

    def changed(self) -> bool:
        return False

    def dialled(self) -> dict[Replica, PeerConfig]:
        return {PEER: self._peer}


class Dialling:
    """One link, dialled over a real socket at a door that plays a script."""

    def __init__(self, address: str) -> None:
        self.heard: list[Input] = []
        self.reactor = Reactor(
            begin=nothing,
            turn=nothing,
            survive=nothing,
            unsent_max=1 << 20,
            unfinished=UnfinishedRequests(),
        )
        self.links = Links(
            cast("AddressBook", OnePeer(Address(address))),
            reactor=self.reactor,
            hello=lambda epoch: Hello(party=Party.PEER, epoch=epoch),
            step=self.heard.append,
            check=nothing,
            keys=NO_KEYS,
            period=lambda: 1.0,
        )
        self.links.follow()

    def until(self, done: Callable[[], bool]) -> None:
        """Let the reactor work."""
        until = perf_counter() + WAIT_S
        while not done() and perf_counter() < until:
            self.reactor._pass(0.01)
        assert done()

    @property
    def refusals(self) -> list[bool]:
        """The node's information about the peer."""
        return [each.refused for each in self.heard if isinstance(each, Disconnected)]


@pytest.fixture
def door() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def failed(door: socket.socket, said: bytes) -> Dialling:
    """A link whose peer says that much and hangs up."""
    dialling = Dialling(f"127.0.0.1:{door.getsockname()[1]}")
    link = dialling.links.links[PEER]
    dialling.links.dial_due()
    line, _ = door.accept()
    line.sendall(said)
    dialling.until(lambda: link.status is LinkStatus.GREETING)
    line.close()
    dialling.until(lambda: link.status is LinkStatus.DOWN)
    dialling.reactor.shut()
    return dialling


async def test_a_door_that_hangs_up_before_it_greets_has_nobody_behind_it(
    door: socket.socket,
) -> None:
    assert failed(door, b"").refusals == [True]


async def test_a_node_that_refuses_to_greet_is_there_whatever_words_it_uses(
    door: socket.socket,
) -> None:
    refusal = frame(cbor2.dumps(["no", 9, "this door is closed to you"]))
    assert failed(door, refusal).refusals == []
