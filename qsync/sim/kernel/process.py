"""A simulated process: its tasks, its descriptors, and the count of its calls into the kernel.

Each call costs a little time and is counted, so that a process can be stopped or killed between
any two of them, also in the middle of a pass. Time passes for a process while others stand still
only by so little as it works; where it waits long (a blocking write, a stop), the others go on.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from qsync.sim.kernel.errors import Halt, Killed
from qsync.sim.kernel.poll import Wait
from qsync.sim.kernel.streams import NEVER, Socket

if TYPE_CHECKING:
    from qsync.sim.kernel.machine import Computer

ROUNDS_MAX: Final = 4
"""So often every task has its turn before others may run."""
Task = Coroutine[Wait, None, None]


def _nothing(_process: "Process") -> None:
    """Nothing happens."""


NO_STRIKE: Final[tuple[int, Callable[["Process"], None]]] = (1 << 62, _nothing)


class Process:
    """Its `Calls` are made by a node or by a client."""

    def __init__(self, machine: "Computer", life: int) -> None:
        self.machine = machine
        self.at = machine.room.clockwork.now
        """How far its own work has come, in the room's time."""
        self.calls = 0
        self.strike = NO_STRIKE
        """The number of the call at which something happens to it, and what."""
        self.dead = False
        self.stopped = False
        self.files: dict[int, Socket] = {}
        self.name = f"{machine.number} {life}"
        self._tasks = _Tasks()
        self._due = NEVER
        self._running = False
        self._idle = True
        """At the end of its last turn there was nothing left to do."""

    # -- the kernel's side

    def enter(self) -> float:
        """A call: it takes a little time, and something may happen to whoever calls."""
        self.calls += 1
        self.at += self.machine.call_s
        if self.calls >= self.strike[0]:
            self._struck()
        if self.dead:
            raise Killed
        return self.at

    def _struck(self) -> None:
        what, self.strike = self.strike[1], NO_STRIKE
        what(self)

    def pass_time(self, seconds: float) -> None:
        """Wait inside of a call while everybody else goes on."""
        self.machine.room.let_others(self, self.at + seconds)
        if self.dead:
            raise Killed

    def descriptor(self, sock: Socket) -> int:
        """The lowest number that is free."""
        number = 3
        while number in self.files:
            number += 1
        self.files[number] = sock
        return number

    def forget(self, sock: Socket) -> None:
        """That end is closed."""
        if self.files.get(sock.fd) is sock:
            del self.files[sock.fd]

    def open_files(self) -> list[Socket]:
        """All its ends."""
        return list(self.files.values())

    def wake(self, at: float) -> None:
        """Something will be there for it at that moment of the room."""
        if at < self._due and not self.dead:
            self._due = at
            clockwork = self.machine.room.clockwork
            clockwork.after(max(0.0, at - clockwork.now), self._turn, at)

    def spawn(self, *tasks: Callable[[], Awaitable[None]]) -> None:
        """Begin tasks."""
        self._tasks.begin(tasks)
        self.wake(self.at)

    def _turn(self, due: float) -> None:
        if due != self._due or self.dead:
            return
        self._due = NEVER
        if self.stopped or self._running:
            return  # it is woken when it goes on
        now = self.machine.room.clockwork.now
        if self.at > now:
            self.wake(self.at)
            return
        self.at = now
        self.run(self._work)

    def run(self, work: Callable[[], None]) -> bool:
        """Let it do something. False when it died of it."""
        self._running = True
        try:
            work()
        except Killed:
            self._tasks.close()
            return False
        finally:
            self._running = False
        if self.dead:
            self._tasks.close()
        else:
            self.wake(self._next())
        return not self.dead

    def bury(self) -> None:
        """It is dead: its tasks are unwound, unless they wait inside of a call right now."""
        if not self._running:
            self._tasks.close()

    def soon(self, call: Callable[[], None]) -> None:
        """Make that call in its next turn."""
        if not self.dead:
            self._tasks.soon.append(call)
            self.go_on()

    @property
    def busy(self) -> bool:
        """It is in a turn, or waits inside of a call."""
        return self._running

    def go_on(self) -> None:
        """It was stopped, or waited inside of a call."""
        self.wake(max(self.at, self.machine.room.clockwork.now))

    def _work(self) -> None:
        calls = self.calls
        tasks, self._idle = self._tasks, False
        for _ in range(ROUNDS_MAX):
            while tasks.soon:
                tasks.soon.popleft()()
            ran = False
            for task in list(tasks.waits):
                wait = tasks.waits.get(task)
                if wait is not None and self._over(wait):
                    ran = True
                    tasks.step(task)
            if not ran and not tasks.soon:
                self._idle = True
                break
        self.machine.turned(self.calls - calls)

    def _over(self, wait: Wait) -> bool:
        if wait.done is not None:
            return wait.done()
        if wait.poll is not None:
            wait.ready_at = wait.poll.when(self.at)
            if wait.ready_at <= self.at:
                return True
        if wait.due is not None:
            return self._monotonic() >= wait.due()
        if wait.event is not None and wait.event.happened:
            return True
        return wait.until is not None and self._monotonic() >= wait.until

    def _next(self) -> float:
        """When a task has something to do again, as far as that is known."""
        tasks, soonest, monotonic = self._tasks, NEVER, NEVER
        if tasks.soon or not self._idle:
            return self.at
        for wait in tasks.waits.values():
            if wait.poll is not None and wait.ready_at < soonest:
                soonest = wait.ready_at
            until = wait.due() if wait.due is not None else wait.until
            if until is not None and until < monotonic:
                monotonic = until
        if monotonic < NEVER:
            soonest = min(soonest, self.machine.clocks.when_is(monotonic) + 1e-9)
        return max(self.at, soonest)

    def _monotonic(self) -> float:
        return self.machine.clocks.monotonic(self.at)


class _Tasks:
    """Coroutines and what they wait for; and calls that are to be made soon."""

    def __init__(self) -> None:
        self.waits: dict[Task, Wait] = {}
        self.soon: deque[Callable[[], None]] = deque()

    def begin(self, made: tuple[Callable[[], Awaitable[None]], ...]) -> None:
        for make in made:
            task = make()
            assert isinstance(task, Coroutine)
            self.waits[task] = Wait(until=-NEVER)

    def step(self, task: Task) -> None:
        try:
            self.waits[task] = task.send(None)
        except StopIteration:
            del self.waits[task]

    def close(self) -> None:
        """Unwind all, in a process that is dead: nothing that they call does anything."""
        self.soon.clear()
        waits, self.waits = self.waits, {}
        for task in waits:
            with suppress(Killed, Halt, RuntimeError):
                task.close()
