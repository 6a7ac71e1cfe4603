"""Requests that have not arrived whole have one budget, and who began first gives way."""

import socket
from collections.abc import Iterator
from time import perf_counter

import cbor2
import pytest

from qsync.errors import Overloaded
from qsync.node.connection import ClosedBy, Connection
from qsync.node.reactor import Reactor
from qsync.node.system import SYSTEM
from qsync.node.unfinished import UnfinishedRequests
from qsync.wire import replies, requests
from qsync.wire.frames import Frames, frame
from qsync.wire.verbs import WriteRequest


@pytest.fixture
def three() -> Iterator[list[Connection]]:
    socks = [SYSTEM.socket(2) for _ in range(3)]
    yield [Connection(each, frame_bytes_max=1 << 20, opened_at=0.0) for each in socks]
    for each in socks:
        each.close()


def request(number: int, size: int) -> bytes:
    """One as it is sent, of about that size."""
    return requests.encode(WriteRequest(number, b"", 0, 0, 0, [[2, "t", b"x" * size]]))


def came(unfinished: UnfinishedRequests, connection: Connection, data: bytes) -> list[Connection]:
    whole = connection.frames.feed(data)
    return unfinished.received(connection, whole=bool(whole))


def test_who_began_first_gives_way_and_the_rest_goes_on(three: list[Connection]) -> None:
    first, second, third = three
    unfinished = UnfinishedRequests(10_000)
    assert came(unfinished, first, request(1, 8000)[:4000]) == []
    assert came(unfinished, second, request(1, 8000)[:4000]) == []
    assert unfinished.bytes == 8000
    # The first one sends more of the same request: it stays the oldest.
    assert came(unfinished, first, request(1, 8000)[4000:5000]) == []
    assert came(unfinished, third, request(1, 8000)[:2000]) == [first]
    assert unfinished.bytes == 6000
    assert len(unfinished) == 2


def test_what_is_whole_or_closed_takes_nothing(three: list[Connection]) -> None:
    first, second, third = three
    unfinished = UnfinishedRequests(10_000)
    for each in three:
        assert came(unfinished, each, request(1, 3000)[:3000]) == []
    assert came(unfinished, first, request(1, 3000)[3000:]) == []
    unfinished.forget(third)
    assert unfinished.bytes == 3000
    # Behind one that is whole another one begins: it is the youngest.
    assert came(unfinished, second, request(1, 3000)[3000:] + request(2, 9000)[:1000]) == []
    assert came(unfinished, first, request(2, 9000)[:2000]) == []
    assert came(unfinished, second, request(2, 9000)[1000:5000]) == []
    assert came(unfinished, first, request(2, 9000)[2000:8000]) == [second]


def test_room_is_made_for_more_than_one_read(three: list[Connection]) -> None:
    unfinished = UnfinishedRequests(8000)
    for each in three[:2]:
        came(unfinished, each, request(1, 9000)[:4000])
    assert came(unfinished, three[2], request(1, 9000)[:1]) == three[:1]
    assert unfinished.bytes == 4001


@pytest.mark.parametrize("cut", [5, 100, 250_000])
def test_a_request_that_was_given_up_is_read_to_its_end_and_the_next_one_is_taken(cut: int) -> None:
    frames = Frames(1 << 20)
    given_up, following = request(7, 300_000), request(8, 10)
    assert frames.feed(given_up[:cut]) == []
    begun = frames.skip()
    assert begun == given_up[4:cut]
    assert frames.buffered == 0
    stream, found = given_up[cut:] + following + following, list[bytes]()
    for at in range(0, len(stream), 7001):
        found += frames.feed(stream[at : at + 7001])
        assert frames.buffered < 7001
    assert [requests.decode(each)[0] for each in found] == [8, 8]


def test_the_number_of_a_request_is_known_as_soon_as_it_came() -> None:
    for number in (0, 5, 23, 24, 255, 256, 65_536, 1 << 40, (1 << 64) - 1):
        payload = request(number, 2000)[4:]
        assert requests.number_of(payload) == number
        shortest = next(n for n in range(20) if requests.number_of(payload[:n]) is not None)
        assert all(requests.number_of(payload[:n]) is None for n in range(shortest))
        assert requests.number_of(payload[:shortest]) == number
    for odd in (b"", b"\x82", cbor2.dumps("text"), cbor2.dumps([-1]), cbor2.dumps([[1]])):
        assert requests.number_of(odd) is None


def nothing() -> None:
    """Nobody waits."""


def raised(error: Exception, doing: str) -> None:
    raise AssertionError(doing) from error


def test_who_gives_way_is_told_so_by_its_number_and_stays_connected() -> None:
    reactor = Reactor(
        begin=nothing,
        turn=nothing,
        survive=raised,
        unsent_max=1 << 20,
        unfinished=UnfinishedRequests(200_000),
    )
    ours, theirs = zip(*(socket.socketpair() for _ in range(3)), strict=True)
    for each in ours:
        each.settimeout(0)
    connections = [Connection(each, frame_bytes_max=1 << 20, opened_at=0.0) for each in ours]
    for connection in connections:
        connection.urgent = False
        reactor.add(connection)
    theirs[0].sendall(request(41, 150_000)[:100_000])
    theirs[1].sendall(frame(b"\xff" * 50_000)[:40_000])
    reactor._pass(0.1)
    theirs[2].sendall(request(43, 150_000)[:90_000])
    until = perf_counter() + 10
    while not connections[0].unsent and perf_counter() < until:
        reactor._pass(0.01)
    reactor.flush()
    assert connections[0].closed is ClosedBy.NOBODY
    number, error = replies.decode(Frames().feed(theirs[0].recv(4096))[0])
    assert number == 41
    assert isinstance(error, Overloaded)
    assert "limits.unfinished_bytes_max" in str(error)
    taken: list[int] = []

    def take(connection: Connection, payloads: list[bytes]) -> int:
        taken.extend(requests.decode(each)[0] for each in payloads)
        return len(payloads)

    for connection in connections:
        connection.take = take
    theirs[0].sendall(request(41, 150_000)[100_000:] + request(44, 10))
    theirs[2].sendall(request(43, 150_000)[90_000:])
    while len(taken) < 2 and perf_counter() < until:
        reactor._pass(0.01)
    assert sorted(taken) == [43, 44]
    reactor.shut()
    for sock in theirs:
        sock.close()
