"""A simulated epoll, and what a task of a simulated process waits for."""

from collections.abc import Callable, Generator
from typing import Protocol

from qsync.sim.kernel.streams import GONE, NEVER, WRITABLE, SimulatedSocket


class PollOwner(Protocol):
    """A process, as what it watches knows it."""

    files: dict[int, SimulatedSocket]

    def enter(self) -> float:
        """It calls its kernel."""


class SimulatedPoll:
    """Level-triggered. Sockets are asked when somebody wants to know."""

    def __init__(self, process: PollOwner) -> None:
        self._process = process
        self._masks: dict[int, int] = {}
        self._sockets: dict[int, SimulatedSocket] = {}
        self._senders: set[int] = set()
        """Those that are watched for room to send, too."""

    def register(self, fd: int, eventmask: int, /) -> None:
        """Watch a socket."""
        assert fd >= 0
        assert fd not in self._masks
        self._sockets[fd] = self._process.files[fd]
        self._watch(fd, eventmask)

    def modify(self, fd: int, eventmask: int, /) -> None:
        """For something else."""
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
        """What is ready; a look, never a wait."""
        now, senders, found = self._process.enter(), self._senders, []
        for fd, sock in self._sockets.items():
            if sock.heard_at <= now or fd in senders:
                ready = sock.ready(now) & (self._masks[fd] | GONE)
                if ready:
                    found.append((fd, ready))
        return found[:maxevents]

    def when(self, now: float) -> float:
        """When a wait that begins now ends, as far as that is known; now or before: at once."""
        soonest = NEVER
        for sock in self._sockets.values():
            heard_at = sock.heard_at
            soonest = min(soonest, heard_at)
        for fd in self._senders:
            soonest = min(soonest, self._sockets[fd].may_send_at(now))
        return soonest

    def fileno(self) -> int:
        """Of no use here."""
        return -1

    def close(self) -> None:
        """Watch nothing any more."""
        self._masks.clear()
        self._sockets.clear()
        self._senders.clear()


class Wait:
    """What a task waits for: a moment of its monotonic clock, an event, a socket; or only a turn.

    `due`: such a moment that others may change meanwhile. `done`: whatever can be asked.
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
        """When the sockets are ready, as it was last looked."""

    def over(self, now: float, monotonic: float) -> bool:
        """There it is, at that moment of the room and of the machine's clock."""
        event, poll = self.event, self.poll
        if event is not None and event.happened:
            return True
        if poll is not None:
            ready_at = self.ready_at = poll.when(now)
            if ready_at <= now:
                return True
        if self.done is not None:
            return self.done()
        if self.due is not None:
            self.until = self.due()
        return monotonic >= self.until

    def __await__(self) -> Generator["Wait", None, None]:
        """Passed to the code that runs the task."""
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
