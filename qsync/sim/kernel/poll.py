"""A simulated epoll, and what a task of a simulated process waits for."""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from qsync.sim.kernel.streams import GONE, NEVER

if TYPE_CHECKING:
    from qsync.sim.kernel.process import Process


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

    def when(self, now: float) -> float:
        """When a wait that begins now ends, as far as that is known; now or before: at once."""
        files, soonest = self._process.files, NEVER
        for fd, mask in self._masks.items():
            sock = files.get(fd)
            if sock is not None:
                at = sock.when(now, mask)
                if at <= now:
                    return at
                soonest = min(soonest, at)
        return soonest

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

    __slots__ = ("done", "due", "event", "poll", "ready_at", "until")

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
        self.ready_at = NEVER
        """When the sockets are ready, as it was last looked."""

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
