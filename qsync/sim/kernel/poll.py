"""A simulated epoll, and the wait objects of tasks in a simulated process."""

from collections.abc import Callable, Generator
from typing import Protocol

from qsync.sim.kernel.streams import GONE, NEVER, WRITABLE, SimulatedSocket


class PollOwner(Protocol):
    """A process, as seen by its watched objects."""

    files: dict[int, SimulatedSocket]

    def enter(self) -> float:
        """It calls its kernel."""


class SimulatedPoll:
    """Level-triggered. Sockets are checked on demand."""

    def __init__(self, process: PollOwner) -> None:
        self._process = process
        self._masks: dict[int, int] = {}
        self._sockets: dict[int, SimulatedSocket] = {}
        self._senders: set[int] = set()
        """The sockets that are also watched for writability."""

    def register(self, fd: int, eventmask: int, /) -> None:
        """Watch a socket."""
        assert fd >= 0
        assert fd not in self._masks
        self._sockets[fd] = self._process.files[fd]
        self._watch(fd, eventmask)

    def modify(self, fd: int, eventmask: int, /) -> None:
        """Watch it for other events."""
        assert fd in self._masks
        self._watch(fd, eventmask)

    def _watch(self, fd: int, mask: int) -> None:
        self._masks[fd] = mask
        if mask & WRITABLE:
            self._senders.add(fd)
        else:
            self._senders.discard(fd)

    def unregister(self, fd: int, /) -> None:
        """No longer."""
        del self._masks[fd], self._sockets[fd]
        self._senders.discard(fd)

    def poll(self, _timeout: float | None, maxevents: int = 1024, /) -> list[tuple[int, int]]:
        """The ready sockets, without waiting."""
        now, senders, found = self._process.enter(), self._senders, []
        for fd, sock in self._sockets.items():
            if sock.heard_at <= now or fd in senders:
                ready = sock.ready(now) & (self._masks[fd] | GONE)
                if ready:
                    found.append((fd, ready))
        return found[:maxevents]

    def when(self, now: float) -> float:
        """The known end of a wait that begins now; if not later than now: at once."""
        soonest = NEVER
        for sock in self._sockets.values():
            heard_at = sock.heard_at
            soonest = min(soonest, heard_at)
        for fd in self._senders:
            soonest = min(soonest, self._sockets[fd].may_send_at(now))
        return soonest

    def fileno(self) -> int:
        """Not used here."""
        return -1

    def close(self) -> None:
        """Stop watching."""
        self._masks.clear()
        self._sockets.clear()
        self._senders.clear()


class Wait:
    """The wait of a task: for a time of its monotonic clock, an event, a socket; or only a turn.

    `due`: a deadline that others may change meanwhile. `done`: a condition to test.
    """

    __slots__ = ("done", "due", "event", "poll", "ready_at", "until")

    def __init__(
        self,
        *,
        until: float = NEVER,
        event: "Happening | None" = None,
        poll: SimulatedPoll | None = None,
        due: Callable[[], float] | None = None,
        done: Callable[[], bool] | None = None,
    ) -> None:
        self.until = until
        self.event = event
        self.poll = poll
        self.due = due
        self.done = done
        self.ready_at = NEVER
        """When the sockets are ready, by the last check."""

    def over(self, now: float, monotonic: float) -> bool:
        """Whether the wait is over, at that time of the room and of the machine's clock."""
        event, poll = self.event, self.poll
        if event is not None and event.happened:
            return True
        if poll is not None:
            ready_at = self.ready_at = poll.when(now)
            if ready_at <= now:
                return True
        if self.done is not None and self.done():
            return True
        if self.due is not None:
            self.until = self.due()
        return monotonic >= self.until

    def __await__(self) -> Generator["Wait", None, None]:
        """Passed to the code that runs the task."""
        yield self


class Happening:
    """A one-time event."""

    __slots__ = ("happened",)

    def __init__(self) -> None:
        self.happened = False

    def set(self) -> None:
        """It has happened."""
        self.happened = True

    async def wait(self) -> None:
        """Wait until it has happened."""
        if not self.happened:
            await Wait(event=self)
