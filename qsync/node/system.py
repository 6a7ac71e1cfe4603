"""The real system: Trio, epoll, sockets, threads, and the machine's own clocks."""

import contextlib
import fcntl
import os
import platform
import random
import resource
import secrets
import select
import socket
import termios
import time
from array import array
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Final

import trio

from qsync import lookups
from qsync.form import form
from qsync.node.effects import Effects, Epoll, Event, Socket, Usage
from qsync.node.listener import connections_allowed
from qsync.store.beside import Thread, switching_often
from qsync.tls.plain import StreamSocket

_KIBI: Final = 1024
_SINCE_BOOT: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)
"""The clock that goes on while the machine is suspended, where there is one."""


class NodeSystem:
    """See `Effects`. `call_soon` works on one that was made inside of a Trio program."""

    stopwatch = staticmethod(time.perf_counter)
    processor = staticmethod(time.thread_time)
    secret = staticmethod(secrets.token_bytes)
    give_way = staticmethod(trio.lowlevel.checkpoint)
    sleep = staticmethod(trio.sleep)
    lookup = staticmethod(lookups.begun)
    connections_allowed = staticmethod(connections_allowed)

    def __init__(self, token: trio.lowlevel.TrioToken | None = None) -> None:
        self._token = token
        # Asked a dozen times for a write: of a whole node's own loop, and not of whichever runs.
        self.now: Callable[[], float] = (
            trio.current_time if token is None else trio.lowlevel.current_clock().current_time
        )

    def wall(self) -> float:
        """Seconds since 1970."""
        return time.time()  # noqa: TID251 - the seam that the ban points to

    def asleep(self) -> float:
        """For how long the machine was suspended since it was started; 0 if that is unknown."""
        if _SINCE_BOOT is None:
            return 0.0
        awake = time.clock_gettime(time.CLOCK_MONOTONIC)
        return time.clock_gettime(_SINCE_BOOT) - awake

    def dice(self) -> random.Random:
        """For jitter, not for secrets."""
        return random.Random()  # noqa: S311 - jitter, not a secret

    def socket(self, family: int) -> Socket:
        """A stream socket."""
        return socket.socket(family, socket.SOCK_STREAM)

    def poll(self) -> Epoll:
        """An epoll."""
        return select.epoll()

    def unacknowledged(self, sock: StreamSocket) -> int:
        """Bytes that the other machine's kernel has not taken."""
        found = array("i", [0])
        try:
            fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, found)
        except OSError:
            return 0
        return found[0]

    def spare(self) -> FileIO | None:
        """A descriptor of nothing."""
        try:
            return FileIO(os.devnull)
        except OSError:
            return None

    def usage(self) -> Usage:
        """Of this process."""
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        try:
            used = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count of thousands
        except OSError:
            used = 0
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIBI
        return Usage(
            pid=os.getpid(),
            memory_bytes=memory,
            files=(used, limit),
            hostname=platform.node(),
            form=form(),
        )

    def room(self, path: Path) -> tuple[int, int]:
        """Free and total bytes."""
        found = os.statvfs(path)
        return found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize

    def event(self) -> Event:
        """One of Trio's."""
        return trio.Event()

    async def until(self, event: Event, deadline: float) -> None:
        """Until it has happened, or until that time of Trio's clock."""
        with trio.move_on_at(deadline):
            await event.wait()

    async def readable(self, poll: Epoll) -> None:
        """Until something waits on it."""
        await trio.lowlevel.wait_readable(poll.fileno())

    async def in_thread(self, call: Callable[[], int]) -> int:
        """In one of Trio's threads."""
        with switching_often():
            return await trio.to_thread.run_sync(call)

    def beside(self) -> Thread:
        """A thread of its own."""
        return Thread()

    def call_soon(self, call: Callable[[], None], /) -> None:
        """Run a call on the loop; one that comes after the end of the loop is dropped."""
        assert self._token is not None
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(call)


SYSTEM: Final[Effects] = NodeSystem()
"""For callers that never use `call_soon`: everything but a whole node."""
