"""A simulated epoll, and what a task of a simulated process waits for."""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qsync.sim.kernel.process import Process

GONE = 8 | 16


class Poll:
    """Level-triggered. Sockets are asked when somebody wants to know."""

    def __init__(self, process: "Process") -> None:
        self._process = process
        self._masks: dict[int, int] = {}

    def register(self, fd: int, eventmask: int, /) -> None:
        """Watch a socket."""
        assert fd >= 0
        assert fd not in self._masks
        self._masks[fd] = eventmask

    def modify(self, fd: int, eventmask: int, /) -> None:
        """For something else."""
        assert fd in self._masks
        self._masks[fd] = eventmask

    def unregister(self, fd: int, /) -> None:
        """No longer."""
        del self._masks[fd]

    def poll(self, _timeout: float | None, maxevents: int = 1024, /) -> list[tuple[int, int]]:
        """What is ready; a look, never a wait."""
        now, found = self._process.enter(), []
        files = self._process.files
        for fd, mask in self._masks.items():
            sock = files.get(fd)
            if sock is not None:
                ready = sock.ready(now) & (mask | GONE)
                if ready:
                    found.append((fd, ready))
        return found[:maxevents]

    def any_ready(self, now: float) -> bool:
        """Would a wait end at once?"""
        files = self._process.files
        for fd, mask in self._masks.items():
            sock = files.get(fd)
            if sock is not None and sock.ready(now) & (mask | GONE):
                return True
        return False

    def fileno(self) -> int:
        """Of no use here."""
        return -1

    def close(self) -> None:
        """Watch nothing any more."""
        self._masks.clear()


class Wait:
    """What a task waits for: a moment of its monotonic clock, an event, a socket; or only a turn.

    `due`: such a moment that others may change meanwhile. `done`: whatever can be asked.
    """

    __slots__ = ("done", "due", "event", "poll", "until")

    def __init__(
        self,
        *,
        until: float | None = None,
        event: "Happening | None" = None,
        poll: Poll | None = None,
        due: Callable[[], float] | None = None,
        done: Callable[[], bool] | None = None,
    ) -> None:
        self.until = until
        self.event = event
        self.poll = poll
        self.due = due
        self.done = done

    def __await__(self) -> Generator["Wait", None, None]:
        """Handed to whoever runs the task."""
        yield self


class Happening:
    """An event: it happens once."""

    __slots__ = ("happened",)

    def __init__(self) -> None:
        self.happened = False

    def set(self) -> None:
        """It has happened."""
        self.happened = True

    async def wait(self) -> None:
        """Until it has."""
        if not self.happened:
            await Wait(event=self)
