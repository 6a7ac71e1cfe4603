"""All that a node needs of the system below it: clocks, waiting, sockets, threads, dice, usage.

The node that is shipped runs over `system.System`; a simulated machine fulfils the same interface,
so that the very same code runs there. Nothing else in `qsync.node` asks the system for anything
that a simulation could not answer.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from qsync.lookups import Door
from qsync.store.beside import BackgroundWork
from qsync.tls.plain import StreamSocket


class Socket(StreamSocket, Protocol):
    """The part of `socket.socket` that a node uses."""

    def accept(self) -> "tuple[Socket, Any]":
        """Accept the next connection, with its address. Raises OSError."""

    def connect_ex(self, address: tuple[Any, ...], /) -> int:
        """Begin to connect to a door's address; return the number of an error, or 0."""

    def bind(self, address: tuple[Any, ...], /) -> None:
        """Bind the socket to an address. Raises OSError."""

    def listen(self, backlog: int, /) -> None:
        """Begin to listen. Raises OSError."""


class Epoll(Protocol):
    """The part of `select.epoll` that a node uses."""

    def register(self, fd: int, eventmask: int, /) -> None:
        """Watch a socket."""

    def modify(self, fd: int, eventmask: int, /) -> None:
        """Change the events for which a socket is watched."""

    def unregister(self, fd: int, /) -> None:
        """Stop watching a socket."""

    def poll(self, timeout: float, maxevents: int, /) -> list[tuple[int, int]]:
        """Return the ready sockets and their events, after at most this many seconds."""

    def fileno(self) -> int:
        """Return its own file descriptor."""

    def close(self) -> None:
        """Close it; nothing is watched any more."""


class Event(Protocol):
    """An event that happens once; `trio.Event` is one."""

    def set(self) -> None:
        """Mark it as happened."""

    async def wait(self) -> None:
        """Wait until it has happened."""


class PendingLookup(Protocol):
    """A question to the resolver; its descriptor is readable as soon as there is an answer."""

    def fileno(self) -> int:
        """Return the descriptor."""

    def doors(self) -> list[Door]:
        """Return the addresses of the name. Raises OSError or UnicodeError, Unresolved before."""

    def close(self) -> None:
        """Ask no longer."""


class Closable(Protocol):
    """An object that holds a file descriptor."""

    def close(self) -> None:
        """Close the descriptor."""


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
    """The clocks of a machine."""

    def now(self) -> float:
        """Return monotonic seconds; they stand still while the machine is suspended."""

    def stopwatch(self) -> float:
        """Return monotonic seconds to measure short work by."""

    def wall(self) -> float:
        """Return seconds since 1970, as this machine believes."""

    def asleep(self) -> float:
        """Return how long the machine was suspended since it was started; 0 if unknown."""


class Effects(Clocks, Protocol):
    """The system below a node. Tasks wait in its asynchronous calls and nowhere else."""

    # -- dice

    def dice(self) -> random.Random:
        """Return the random numbers for jitter."""

    def secret(self, size: int) -> bytes:
        """Return random bytes that cannot be guessed."""

    # -- sockets and descriptors

    def socket(self, family: int) -> Socket:
        """Return a stream socket that is not connected. Raises OSError."""

    def lookup(self, host: str, port: int) -> list[Door] | PendingLookup:
        """Return the address that the host is itself, or the lookup of a name. Raises OSError."""

    def poll(self) -> Epoll:
        """Return an epoll."""

    def unacknowledged(self, sock: StreamSocket) -> int:
        """Return how many bytes were sent that the other machine has not acknowledged."""

    def spare(self) -> Closable | None:
        """Return a descriptor in reserve, if there is one left."""

    def connections_allowed(self, wanted: int, peers: int) -> int:
        """Return how many clients may connect so that descriptors are left for everything else."""

    def usage(self) -> Usage:
        """Return what this process uses of the machine."""

    def room(self, path: Path) -> tuple[int, int]:
        """Return free and total bytes of the disk of that path. Raises OSError."""

    # -- waiting

    def event(self) -> Event:
        """Return an event that has not happened."""

    async def sleep(self, seconds: float) -> None:
        """Wait for this many seconds."""

    async def until(self, event: Event, deadline: float) -> None:
        """Wait until the event has happened, or until that time of `now`."""

    async def give_way(self) -> None:
        """Let other tasks run."""

    async def readable(self, poll: Epoll) -> None:
        """Wait until a socket that the epoll watches is ready."""

    async def in_thread(self, call: Callable[[], int]) -> int:
        """Return the result of a call that runs in a thread, while other tasks go on."""

    # -- beside the tasks

    def beside(self) -> BackgroundWork:
        """Return a thread that does one piece of work after another."""

    def call_soon(self, call: Callable[[], None], /) -> None:
        """Run the call between two steps of tasks. May be called from any thread."""
