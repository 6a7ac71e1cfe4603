"""The kernel calls of shipped code, here into a simulated kernel."""

import random
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

from qsync.lookups import Door
from qsync.node.effects import Epoll as AnyPoll
from qsync.node.effects import Event, Usage
from qsync.sim.dice import Jitter
from qsync.sim.kernel.disk import LONG_S, KernelDisk
from qsync.sim.kernel.lookups import SimulatedLookup
from qsync.sim.kernel.poll import Happening, SimulatedPoll, Wait
from qsync.sim.kernel.process import KernelProcess
from qsync.sim.kernel.streams import NEVER, SimulatedSocket
from qsync.tls.plain import StreamSocket

_USAGE: Final = Usage(
    pid=1, memory_bytes=1 << 20, files=(16, 1024), hostname="simulated", form="pure"
)
"""The same on every machine that runs a seed: its length is visible in messages."""
_ROOM: Final = (1 << 40, 1 << 40)


class ClockCalls:
    """The clocks of a process; each call takes a little time."""

    def __init__(self, process: KernelProcess) -> None:
        self.process = process
        self._clocks = process.machine.clocks

    def now(self) -> float:
        """Its monotonic clock."""
        return self._clocks.monotonic(self.process.enter())

    def stopwatch(self) -> float:
        """The same; also for measurements of threads, which are not calls of its loop."""
        process = self.process
        if process.busy and not process.dead:
            process.enter()
        return self._clocks.monotonic(process.at)

    def wall(self) -> float:
        """The wall clock."""
        return self._clocks.wall(self.process.enter())

    def asleep(self) -> float:
        """For how long the machine was suspended."""
        self.process.enter()
        return self._clocks.slept


class Calls(ClockCalls):
    """See `qsync.node.effects.Effects`."""

    def __init__(self, process: KernelProcess, disk: KernelDisk) -> None:
        super().__init__(process)
        self._disk = disk
        self._dice = process.machine.room.clockwork.dice(f"process {process.name}")
        self._names = process.machine.room.clockwork.dice(f"names {process.name}")

    def dice(self) -> random.Random:
        """For jitter."""
        name, clocks = f"{self.process.name} {self._dice.random()}", self.process.machine.clocks
        return Jitter(name, lambda: clocks.in_a_hurry)

    def secret(self, size: int) -> bytes:
        """Random bytes for secrets."""
        return self._dice.randbytes(size)

    # -- descriptors

    def socket(self, _family: int) -> SimulatedSocket:
        """A socket that is not connected."""
        self.process.enter()
        return SimulatedSocket(self.process, self.process.machine.number)

    def lookup(self, host: str, port: int) -> list[Door] | SimulatedLookup:
        """A name is known at once, unless this cluster has a slow resolver."""
        door = socket.AF_INET, (host, port)
        if not self._names.chance(self.process.machine.room.unresolved):
            return [door]
        return SimulatedLookup(self.process, door, self._names)

    def poll(self) -> SimulatedPoll:
        """Poll for sockets of this process."""
        return SimulatedPoll(self.process)

    def unacknowledged(self, sock: StreamSocket) -> int:
        """Bytes that are not there yet."""
        assert isinstance(sock, SimulatedSocket)
        return sock.on_its_way(self.process.enter())

    def connections_allowed(self, wanted: int, _peers: int) -> int:
        """As many as requested."""
        return wanted

    def spare(self) -> SimulatedSocket | None:
        """A dummy descriptor, if one is free."""
        try:
            return SimulatedSocket(self.process, self.process.machine.number)
        except OSError:
            return None

    def usage(self) -> Usage:
        """Always the same."""
        return _USAGE

    def room(self, _path: Path) -> tuple[int, int]:
        """Disks are large here."""
        return _ROOM

    # -- waiting

    def event(self) -> Happening:
        """One that has not happened."""
        return Happening()

    async def sleep(self, seconds: float) -> None:
        """So long."""
        await Wait(until=self.now() + seconds)

    async def until(self, event: Event, deadline: float) -> None:
        """Wait until it has happened, or until then."""
        self.process.enter()
        assert isinstance(event, Happening)
        if not event.happened:
            await Wait(event=event, until=deadline)

    async def give_way(self) -> None:
        """Others first."""
        self.process.enter()
        await Wait(until=-NEVER)

    async def readable(self, poll: AnyPoll) -> None:
        """Wait until a watched socket is ready."""
        self.process.enter()
        assert isinstance(poll, SimulatedPoll)
        await Wait(poll=poll)

    async def in_thread(self, call: Callable[[], int]) -> int:
        """Run at once; the result comes later."""
        found = call()
        await self.sleep(min(self._disk.delay(), LONG_S))
        return found

    # -- beside the tasks

    def beside(self) -> "WriterThread":
        """A thread."""
        return WriterThread(self.process, self._disk)

    def call_soon(self, call: Callable[[], None], /) -> None:
        """In its next turn."""
        self.process.soon(call)


class WriterThread:
    """The writer thread: one job after another, each after the disk's time."""

    def __init__(self, process: KernelProcess, disk: KernelDisk) -> None:
        self._process = process
        self._disk = disk
        disk.under_way.pending.clear()

    def put(self, work: Callable[[], bool]) -> None:
        """Run it when the disk is ready."""
        process, disk = self._process, self._disk
        disk.under_way.pending.append(work)
        delay = process.at - process.machine.room.clockwork.now + disk.delay()
        process.machine.room.clockwork.after(delay, disk.finish, work)

    def end(self) -> bool:
        """Let running work finish, without a notification."""
        disk = self._disk
        for work in list(disk.under_way.pending):
            disk.finish(work)
        return True
