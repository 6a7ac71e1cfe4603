"""A simulated process: its tasks, its descriptors, and the count of its calls into the kernel.

Each call takes a little time and is counted, so a process can be stopped or killed between any two
calls, also in the middle of a pass. While a process works, its time advances a little ahead of the
others; during a long wait (a blocking write, a stop) the others continue.
"""

import errno
import os
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Final, Protocol

from qsync.sim.clockwork import VirtualClock
from qsync.sim.kernel.clock import MachineClocks
from qsync.sim.kernel.errors import Halt, ProcessKilled
from qsync.sim.kernel.poll import Wait
from qsync.sim.kernel.streams import NEVER, SimulatedSocket, SocketNet
from qsync.sim.kernel.task_order import TaskOrder

CALL_S: Final = 2e-6
"""The time of a kernel call and of the work before it."""
ROUNDS_MAX: Final = 4
"""How many turns every task gets before other processes may run."""
Task = Coroutine[Wait, None, None]


def _nothing(_process: "KernelProcess") -> None:
    """Nothing happens."""


NO_STRIKE: Final[tuple[int, Callable[["KernelProcess"], None]]] = (1 << 62, _nothing)


class ProcessRoom(Protocol):
    """The environment of its machine; see `qsync.sim.kernel.room`."""

    @property
    def clockwork(self) -> VirtualClock:
        """The time of all machines."""

    @property
    def net(self) -> SocketNet:
        """All connections."""

    @property
    def unresolved(self) -> float:
        """How often the resolver is slow to answer, or does not know a name."""

    def task_order(self, process: str) -> TaskOrder:
        """How a new process of that name runs its tasks."""

    def let_others(self, process: "KernelProcess", until: float) -> None:
        """Wait inside a call until then."""


class ProcessMachine(Protocol):
    """The machine of a process; see `qsync.sim.kernel.machine`."""

    number: int
    received: float
    files_max: int

    @property
    def room(self) -> ProcessRoom:
        """The shared environment of all machines."""

    @property
    def clocks(self) -> MachineClocks:
        """Its own."""

    def turned(self, calls: int) -> None:
        """The process has had its turn."""


class KernelProcess:
    """Its `Calls` are made by a node or by a client."""

    def __init__(self, machine: ProcessMachine, life: int) -> None:
        self.machine = machine
        self.at = machine.room.clockwork.now
        """The time of its own work, in the room's time."""
        self.calls = 0
        self.strike = NO_STRIKE
        """The number of the call with a fault, and the fault."""
        self.dead = False
        self.stopped = False
        self.files: dict[int, SimulatedSocket] = {}
        self.name = f"{machine.number} {life}"
        self._kernel = _Kernel(machine)
        self._tasks = _Tasks(machine.room.task_order(self.name))
        self.busy = False
        """Whether it is in a turn, or waits inside a call."""
        self._due = NEVER

    # -- the kernel's side

    def enter(self) -> float:
        """A call: it takes a little time, and a fault may hit the caller."""
        self.calls += 1
        self.at += CALL_S
        if self.calls >= self.strike[0]:
            self._struck()
        if self.dead:
            raise ProcessKilled
        return self.at

    def _struck(self) -> None:
        what, self.strike = self.strike[1], NO_STRIKE
        what(self)

    def pass_time(self, seconds: float) -> None:
        """Wait inside a call while all others continue."""
        self.machine.room.let_others(self, self.at + seconds)
        if self.dead:
            raise ProcessKilled

    @property
    def net(self) -> SocketNet:
        """The network of its machine."""
        return self._kernel.net

    def received(self, now: float) -> None:
        """It receives bytes from a connection."""
        self.machine.received = now

    def descriptor(self, sock: SimulatedSocket) -> int:
        """The lowest number that is free. Raises OSError when the process may have no more."""
        if len(self.files) >= self.machine.files_max:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        number = 3
        while number in self.files:
            number += 1
        self.files[number] = sock
        return number

    def forget(self, sock: SimulatedSocket) -> None:
        """That end is closed."""
        if self.files.get(sock.fd) is sock:
            del self.files[sock.fd]

    def open_files(self) -> list[SimulatedSocket]:
        """All its ends."""
        return list(self.files.values())

    def wake(self, at: float) -> None:
        """Wake it at that time of the room."""
        if at < self._due and not self.dead:
            self._due = at
            clockwork = self._kernel.clockwork
            clockwork.after(max(0.0, at - clockwork.now), self._turn, at)

    def spawn(self, *tasks: Callable[[], Awaitable[None]]) -> None:
        """Begin tasks."""
        self._tasks.begin(tasks)
        self.wake(self.at)

    def _turn(self, due: float) -> None:
        if due != self._due or self.dead:
            return
        self._due = NEVER
        if self.stopped or self.busy:
            return  # it is woken when it continues
        now = self._kernel.clockwork.now
        if self.at > now:
            self.wake(self.at)
            return
        self.at = now
        self.run(self._work)

    def run(self, work: Callable[[], None]) -> bool:
        """Run it for a turn. False if it died."""
        self.busy = True
        try:
            work()
        except ProcessKilled:
            self._tasks.close()
            return False
        finally:
            self.busy = False
        if self.dead:
            self._tasks.close()
        else:
            self.wake(self._next())
        return not self.dead

    def bury(self) -> None:
        """Kill it: its tasks are unwound, unless they wait inside a call right now."""
        if not self.busy:
            self._tasks.close()

    def soon(self, call: Callable[[], None]) -> None:
        """Run that callback in its next turn."""
        if not self.dead:
            self._tasks.soon.append(call)
            self.go_on()

    def go_on(self) -> None:
        """Whether it was stopped, or waited inside a call."""
        self.wake(max(self.at, self._kernel.clockwork.now))

    def cancel_others(self) -> None:
        """As when the nursery of the node is left: only the running task continues."""
        self._tasks.cancel_others()

    def _work(self) -> None:
        calls = self.calls
        tasks = self._tasks
        tasks.idle = False
        for _ in range(ROUNDS_MAX):
            while tasks.soon:
                tasks.soon.popleft()()
            if not self._round() and not tasks.soon:
                tasks.idle = True
                break
        self.machine.turned(self.calls - calls)

    def _round(self) -> bool:
        """Give every ready task a turn that is not late. False if none was ready."""
        tasks, clocks, ran = self._tasks, self._kernel.clocks, False
        at, monotonic = self.at, clocks.monotonic(self.at)
        for task, wait in tasks.order.arrange(tasks.waits.items()):
            if task in tasks.waits and wait.over(at, monotonic):
                ran = True
                if tasks.order.is_late():
                    continue
                tasks.step(task)
                at, monotonic = self.at, clocks.monotonic(self.at)
        return ran

    def _next(self) -> float:
        """When the next task becomes ready, as far as is known."""
        tasks = self._tasks
        if tasks.soon or not tasks.idle:
            return self.at
        soonest = monotonic = NEVER
        for wait in tasks.waits.values():
            soonest = min(soonest, wait.ready_at)
            monotonic = min(monotonic, wait.until)
        if monotonic < NEVER:
            soonest = min(soonest, self._kernel.clocks.when_is(monotonic) + 1e-9)
        return max(self.at, soonest)


class _Kernel:
    """Frequently used parts of its machine and its room."""

    __slots__ = ("clocks", "clockwork", "net")

    def __init__(self, machine: ProcessMachine) -> None:
        self.clocks = machine.clocks
        self.clockwork = machine.room.clockwork
        self.net = machine.room.net


class _Tasks:
    """Coroutines with their waits; and pending callbacks."""

    def __init__(self, order: TaskOrder) -> None:
        self.order = order
        self.idle = True
        """Whether nothing was left to do at the end of the last turn."""
        self.waits: dict[Task, Wait] = {}
        self.soon: deque[Callable[[], None]] = deque()
        self.running: Task | None = None

    def begin(self, made: tuple[Callable[[], Awaitable[None]], ...]) -> None:
        for make in made:
            task = make()
            assert isinstance(task, Coroutine)
            self.waits[task] = Wait(until=-NEVER)

    def step(self, task: Task) -> None:
        self.running = task
        try:
            self.waits[task] = task.send(None)
        except StopIteration:
            del self.waits[task]
        except BaseException:
            del self.waits[task]  # it has ended, and a compiled one must not be closed again
            raise
        finally:
            self.running = None

    def cancel_others(self) -> None:
        """Unwind all except the running one; their calls while unwinding are executed."""
        for task in [each for each in self.waits if each is not self.running]:
            del self.waits[task]
            task.close()

    def close(self) -> None:
        """Unwind all, in a dead process: their calls have no effect."""
        self.soon.clear()
        waits, self.waits = self.waits, {}
        for task in waits:
            if task is not self.running:
                with suppress(ProcessKilled, Halt, RuntimeError):
                    task.close()
