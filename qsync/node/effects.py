"""All that a node asks of the system below it: clocks, waiting, sockets, threads, dice, its usage.

The node that is shipped runs over `system.System`; a simulated machine fulfils the same interface,
so that the very same code runs there. Nothing else in `qsync.node` asks the system for anything
that a simulation could not answer.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from qsync.store.beside import BackgroundWork
from qsync.tls.plain import StreamSocket


class Socket(StreamSocket, Protocol):
    """What is used of `socket.socket`, which fulfils it as it is."""

    def accept(self) -> "tuple[Socket, Any]":
        """Who knocked next, and from where. Raises OSError."""

    def connect_ex(self, address: tuple[str, int], /) -> int:
        """Begin to connect; an error's number, or 0."""

    def bind(self, address: tuple[str, int], /) -> None:
        """Take an address. Raises OSError."""

    def listen(self, backlog: int, /) -> None:
        """Let others knock. Raises OSError."""


class Epoll(Protocol):
    """What is used of `select.epoll`, which fulfils it as it is."""

    def register(self, fd: int, eventmask: int, /) -> None:
        """Watch a socket."""

    def modify(self, fd: int, eventmask: int, /) -> None:
        """Watch it for something else."""

    def unregister(self, fd: int, /) -> None:
        """Watch it no longer."""

    def poll(self, timeout: float, maxevents: int, /) -> list[tuple[int, int]]:
        """Which sockets are ready for what, after so many seconds at most."""

    def fileno(self) -> int:
        """Its own number."""

    def close(self) -> None:
        """Watch nothing any more."""


class Event(Protocol):
    """Happens once. `trio.Event` fulfils it as it is."""

    def set(self) -> None:
        """It has happened."""

    async def wait(self) -> None:
        """Until it has happened."""


class Closable(Protocol):
    """Something that takes a file descriptor."""

    def close(self) -> None:
        """Give it back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the process takes of the machine. `files`: descriptors in use, and how many may be.

    `form` of qsync: see `qsync.form`.
    """

    pid: int
    memory_bytes: int
    files: tuple[int, int]
    hostname: str
    form: str


class Clocks(Protocol):
    """What a machine says of time."""

    def now(self) -> float:
        """Monotonic seconds; they stand still while the machine is suspended."""

    def stopwatch(self) -> float:
        """Monotonic seconds to measure short work by."""

    def wall(self) -> float:
        """Seconds since 1970, as this machine believes."""

    def asleep(self) -> float:
        """For how long the machine was suspended since it was started; 0 where nobody knows."""


class Effects(Clocks, Protocol):
    """The system. Tasks wait in its asynchronous calls and nowhere else."""

    # -- dice

    def dice(self) -> random.Random:
        """For jitter."""

    def secret(self, size: int) -> bytes:
        """Bytes that nobody can guess."""

    # -- sockets and descriptors

    def socket(self, family: int) -> Socket:
        """A stream socket that is not connected. Raises OSError."""

    def poll(self) -> Epoll:
        """Watches sockets."""

    def unacknowledged(self, sock: StreamSocket) -> int:
        """Bytes that were sent and that the other machine has not taken yet."""

    def spare(self) -> Closable | None:
        """A descriptor in reserve, if there is one left."""

    def connections_allowed(self, wanted: int, peers: int) -> int:
        """How many clients may connect so that descriptors are left for everything else."""

    def usage(self) -> Usage:
        """What this process takes."""

    def room(self, path: Path) -> tuple[int, int]:
        """Free and total bytes of the disk there. Raises OSError."""

    # -- waiting

    def event(self) -> Event:
        """One that has not happened."""

    async def sleep(self, seconds: float) -> None:
        """So long."""

    async def until(self, event: Event, deadline: float) -> None:
        """Until it has happened, or until that time of `now`."""

    async def give_way(self) -> None:
        """Other tasks have their turn."""

    async def readable(self, poll: Epoll) -> None:
        """Until a socket that it watches is ready."""

    async def in_thread(self, call: Callable[[], int]) -> int:
        """The result of a call that may take long, without holding up other tasks."""

    # -- beside the tasks

    def beside(self) -> BackgroundWork:
        """A thread for one piece of work after another."""

    def call_soon(self, call: Callable[[], None], /) -> None:
        """From any thread: run the call between two steps of tasks."""
