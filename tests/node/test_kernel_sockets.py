"""Sockets and epoll of the simulated kernel do what those of a real one do."""

import contextlib
import errno
import select
import socket
import time
from collections.abc import Callable

import pytest

from qsync.node.effects import Epoll, Socket
from qsync.sim import swarm
from qsync.sim.dice import RandomStream
from qsync.sim.kernel.calls import Calls
from qsync.sim.kernel.disk import KernelDisk
from qsync.sim.kernel.machine import Computer
from qsync.sim.kernel.process import KernelProcess
from qsync.sim.kernel.room import SimulatedKernel, Time
from qsync.sim.plan import Plan
from qsync.sim.trace import Trace

READABLE, WRITABLE = select.EPOLLIN, select.EPOLLOUT
PATIENCE_S = 20.0
MOMENT_S = 0.001
MUCH = 64 << 20


class Real:
    """This machine."""

    def __init__(self) -> None:
        self.port = 0

    def socket(self, _who: int) -> Socket:
        made = socket.socket()
        made.settimeout(0)
        return made

    def poll(self, _who: int) -> Epoll:
        return select.epoll()

    def door(self) -> Socket:
        made = socket.create_server(("127.0.0.1", 0))
        made.settimeout(0)
        self.port = made.getsockname()[1]
        return made

    def until(self, claim: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not claim():
            assert time.monotonic() < end


def _nothing() -> None:
    """Only time passes."""


class Simulated:
    """Two machines in a room."""

    def __init__(self) -> None:
        clockwork = Time(1)
        drawn = swarm.draw(
            Plan(seed=1, without=tuple(swarm.FLAWS)),
            RandomStream("sockets"),
            RandomStream("variety"),
        )
        trace = Trace()
        self.room = SimulatedKernel(clockwork, drawn, trace, window=50_000, leases_hold=True)
        disk = KernelDisk(clockwork, RandomStream("disk"), drawn.platter)
        self.processes = [KernelProcess(Computer(number, self.room, disk), 1) for number in (1, 2)]
        self.calls = [Calls(each, disk) for each in self.processes]
        self.port = 5001

    def socket(self, who: int) -> Socket:
        return self.calls[who].socket(socket.AF_INET)

    def poll(self, who: int) -> Epoll:
        return self.calls[who].poll()

    def door(self) -> Socket:
        made = self.socket(0)
        made.bind(("127.0.0.1", self.port))
        made.listen(10)
        return made

    def until(self, claim: Callable[[], bool]) -> None:
        clockwork = self.room.clockwork
        while not claim():
            assert clockwork.now < PATIENCE_S
            clockwork.after(MOMENT_S, _nothing)
            self.room.step()
            for each in self.processes:
                each.at = max(each.at, clockwork.now)


System = Real | Simulated


@pytest.fixture(params=[Real, Simulated])
def system(request: pytest.FixtureRequest) -> System:
    made: System = request.param()
    return made


def ready(poll: Epoll, sock: Socket) -> int:
    return dict(poll.poll(0.0, 10)).get(sock.fileno(), 0)


def connected(system: System) -> tuple[Socket, Socket]:
    """Who was knocked at, and who knocked."""
    door, poll = system.door(), system.poll(0)
    poll.register(door.fileno(), READABLE)
    knocking = system.socket(1)
    assert knocking.connect_ex(("127.0.0.1", system.port)) in (0, errno.EINPROGRESS)
    system.until(lambda: ready(poll, door) == READABLE)
    fresh, _ = door.accept()
    fresh.settimeout(0)
    watch = system.poll(1)
    watch.register(knocking.fileno(), WRITABLE)
    system.until(lambda: ready(watch, knocking) == WRITABLE)
    assert knocking.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
    door.close()
    poll.close()
    watch.close()
    return fresh, knocking


def received(system: System, sock: Socket, size: int) -> bytes:
    found = bytearray()

    def whole() -> bool:
        try:
            found.extend(sock.recv(1 << 16))
        except BlockingIOError:
            return False
        return len(found) >= size

    system.until(whole)
    return bytes(found)


def test_bytes_come_in_order_and_then_the_end(system: System) -> None:
    here, there = connected(system)
    with pytest.raises(BlockingIOError):
        here.recv(10)
    assert there.send(b"one ") == 4
    assert there.send(b"two") == 3
    assert received(system, here, 7) == b"one two"
    there.close()
    poll = system.poll(0)
    poll.register(here.fileno(), READABLE)
    system.until(lambda: bool(ready(poll, here) & READABLE))
    assert here.recv(10) == b""
    assert here.recv(10) == b""
    here.close()
    poll.close()


def test_what_is_not_read_stays_ready(system: System) -> None:
    here, there = connected(system)
    poll = system.poll(0)
    poll.register(here.fileno(), READABLE)
    assert ready(poll, here) == 0
    there.send(b"12")
    system.until(lambda: ready(poll, here) == READABLE)
    assert here.recv(1) == b"1"
    assert ready(poll, here) == READABLE
    assert here.recv(9) == b"2"
    assert ready(poll, here) == 0
    here.close()
    there.close()
    poll.close()


def test_who_knocks_where_nobody_listens_is_refused(system: System) -> None:
    system.door().close()
    knocking, poll = system.socket(1), system.poll(1)
    code = knocking.connect_ex(("127.0.0.1", system.port))
    if code == errno.EINPROGRESS:
        poll.register(knocking.fileno(), WRITABLE)
        system.until(lambda: bool(ready(poll, knocking)))
        code = knocking.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    assert code == errno.ECONNREFUSED
    knocking.close()
    poll.close()


def test_who_does_not_read_stops_who_sends_until_it_reads(system: System) -> None:
    here, there = connected(system)
    sent = there.send(bytes(MUCH))
    assert 0 < sent < MUCH
    poll = system.poll(1)
    poll.register(there.fileno(), WRITABLE)
    # What is on its way leaves room for a moment, also after it was said to be full.
    while ready(poll, there) & WRITABLE:
        with contextlib.suppress(BlockingIOError):
            while True:
                sent += there.send(bytes(MUCH))
    received(system, here, sent)
    system.until(lambda: bool(ready(poll, there) & WRITABLE))
    assert there.send(b"x") == 1
    here.close()
    there.close()
    poll.close()


def test_closing_with_something_unread_resets_the_other_end(system: System) -> None:
    here, there = connected(system)
    poll = system.poll(0)
    poll.register(here.fileno(), READABLE)
    there.send(b"unread")
    system.until(lambda: ready(poll, here) == READABLE)
    poll.unregister(here.fileno())
    poll.close()
    here.close()
    watch = system.poll(1)
    watch.register(there.fileno(), READABLE)
    system.until(lambda: bool(ready(watch, there)))
    with pytest.raises(ConnectionResetError):
        there.recv(10)
    there.close()
    watch.close()


def test_sending_to_who_is_gone_ends_in_an_error(system: System) -> None:
    here, there = connected(system)
    here.close()

    def fails() -> bool:
        try:
            there.send(b"x")
        except (ConnectionResetError, BrokenPipeError):
            return True
        return False

    system.until(fails)
    there.close()
