"""What time a node takes it for: after what it judges was received, and through suspensions."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import trio
from trio.testing import MockClock

from election.messages import Replica
from qsync.core.consistency import Consistency
from qsync.core.inputs import ReadAsked, Received
from qsync.core.messages import Heartbeat
from qsync.core.ready import ReadSettled
from qsync.node.clock import SUSPENDED_MIN_S, ElapsedTime
from qsync.node.connection import Connection
from qsync.node.reactor import Reactor
from qsync.node.unfinished import UnfinishedRequests
from qsync.wire.frames import frame
from tests.scenarios.stage import Stage

LONG_S = 1.9
"""Longer than a lease of 1.6 s, shorter than the leader's patience of 4 s."""
TICKET = 77


def leased() -> Stage:
    """Node 1 leads nodes 2 and 3, who have just promised it something for 2 s."""
    stage = Stage()
    for line in ("cluster 3", "elect 1", "beat 1", "get 1 x with lease", "deliver"):
        stage.run(line)
    return stage


@contextmanager
def one_pass(stage: Stage, me: int, *takes: Callable[[], None]) -> Iterator[None]:
    """Payloads of several connections wait when a pass of the reactor of that node begins."""
    core = stage.actors[me].core
    reactor = Reactor(
        begin=lambda: core.clock(stage.now),
        turn=lambda: None,
        survive=_raised,
        unsent_max=100,
        unfinished=UnfinishedRequests(),
    )
    with ExitStack() as opened:
        for take in takes:
            here, there = (opened.enter_context(each) for each in socket.socketpair())
            here.settimeout(0)
            connection = Connection(here, frame_bytes_max=100, opened_at=0.0)
            connection.take = lambda _connection, payloads, take=take: _taken(take, payloads)
            reactor.add(connection)
            there.sendall(frame(b"something"))
        reactor._pass(0.0)
        yield


def _taken(take: Callable[[], None], payloads: list[bytes]) -> int:
    take()
    return len(payloads)


def _raised(error: Exception, doing: str) -> None:
    raise AssertionError(doing) from error


def lasting(stage: Stage) -> Callable[[], None]:
    """Another client asks for something that takes long."""

    def take() -> None:
        stage.now += LONG_S

    return take


def test_a_lease_is_judged_by_a_clock_that_was_read_after_the_read_arrived() -> None:
    stage = leased()
    core = stage.actors[1].core

    def read() -> None:
        core.step(ReadAsked(ticket=TICKET, consistency=Consistency.LEASE))

    with one_pass(stage, 1, read):
        assert core.ready().reads == [ReadSettled(TICKET)]
    with one_pass(stage, 1, lasting(stage), read):
        assert core.ready().reads == []


def test_a_promise_is_made_by_a_clock_that_was_read_after_the_heartbeat_arrived() -> None:
    stage = leased()
    follower = stage.actors[2].core

    def heartbeat() -> None:
        stage.run("timer 1 heartbeat")
        asks = stage.wires[1, 2][0].message
        assert isinstance(asks, Heartbeat)
        assert asks.promise
        follower.step(Received(peer=Replica(1), message=asks))

    with one_pass(stage, 2, lasting(stage), heartbeat):
        raft = follower.machine.raft
        assert raft.state.promise.left(stage.now) == raft.state.timing.promise


def elapsed(asleep: Callable[[], float], *asked: float) -> list[float]:
    """What is told at those times of Trio's clock, from its start on."""
    clock = MockClock()

    async def main() -> list[float]:
        begun, told = trio.current_time(), ElapsedTime(asleep)
        found = []
        for at in asked:
            clock.jump(begun + at - trio.current_time())
            found.append(round(told() - begun, 6))
        return found

    return trio.run(main, clock=clock)


def test_time_in_which_the_machine_was_suspended_counts() -> None:
    slept = iter([3.0, 3.0, *[63.0] * 9])
    assert elapsed(lambda: next(slept), 1.0, 2.0, 3.0) == [1.0, 62.0, 63.0]


def test_a_pause_between_two_readings_of_clocks_is_no_suspension() -> None:
    slept = iter([3.0, 8.0, 3.0, 3.0, 3.0, *[3.0] * 9])
    assert elapsed(lambda: next(slept), 1.0, 2.0) == [1.0, 2.0]


def test_what_time_it_is_never_goes_back_by_the_noise_of_readings() -> None:
    slept = iter([3.0, 3.0 + SUSPENDED_MIN_S / 2, 3.0, 3.0 - SUSPENDED_MIN_S, 3.0])
    assert elapsed(lambda: next(slept), 1.0, 1.0, 1.0, 1.0) == [1.0, 1.0, 1.0, 1.0]


def test_where_the_system_cannot_tell_it_is_trios_clock() -> None:
    assert elapsed(lambda: 0.0, 1.0, 5.0) == [1.0, 5.0]


def test_a_reactor_that_is_shut_closes_what_it_was_connecting() -> None:
    """As when a node stops that had lost its links in that moment."""
    reactor = Reactor(
        begin=_nothing,
        turn=_nothing,
        survive=_raised,
        unsent_max=100,
        unfinished=UnfinishedRequests(),
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        dialling = socket.socket()
        dialling.settimeout(0)
        dialling.connect_ex(server.getsockname())
        reactor.connecting(dialling, _nothing)
        reactor.shut()
    assert dialling.fileno() == -1


def _nothing() -> None: ...
