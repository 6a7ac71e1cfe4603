"""The addresses of a host's name, looked up by a thread: whoever asks waits as long as it likes.

Clients and nodes alike never ask the resolver where other work would wait for its answer.

The system's resolver takes no deadline, and can take for ever. The thread does not keep the process
from its end, and there is one for each name, however often it is asked for.
"""

import errno
import ipaddress
import os
import select
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

Door = tuple[int, Any]
"""Family and address of a socket."""

_SHORTEST_S: Final = 0.001
"""A socket takes 0 for "do not wait at all"."""
UNRESOLVED: Final = "its name was not resolved in time"


class Unresolved(TimeoutError):
    """The resolver has not answered in time."""


class Lookup:
    """A question to the resolver. `end` can be read as soon as it has answered. Close it.

    Raises OSError if the process may have no more descriptors or threads.
    """

    def __init__(self, host: str, port: int) -> None:
        self.end, told = socket.socketpair()
        self._told = told
        with _lock:
            search = _searches.get((host, port))
            is_new = search is None
            self._search = search = search or _Search(host, port)
            search.asked.append(told)
            if is_new:
                _searches[host, port] = search
        if not is_new:
            return
        try:
            threading.Thread(target=search.run, name="qsync-lookup", daemon=True).start()
        except RuntimeError as error:
            no_thread = OSError(errno.EAGAIN, str(error))
            search.answer(no_thread)
            self.end.close()
            raise no_thread from None

    def doors(self) -> list[Door]:
        """All addresses of the name. Raises OSError or UnicodeError, and Unresolved before that."""
        found = self._search.found
        if found is None:
            raise Unresolved(UNRESOLVED)
        if isinstance(found, Exception):
            raise found
        return found

    def fileno(self) -> int:
        """Of `end`."""
        return self.end.fileno()

    def wait(self, seconds: float) -> list[Door]:
        """Wait so long at most. Raises as `doors` does."""
        poll = select.poll()
        poll.register(self.end.fileno(), select.POLLIN)
        poll.poll(max(0.0, seconds) * 1000)
        return self.doors()

    def close(self) -> None:
        """Ask no longer; the thread goes on until the resolver answers."""
        with _lock:
            if self._told in self._search.asked:
                self._search.asked.remove(self._told)
                self._told.close()
        self.end.close()


def known(host: str, port: int) -> list[Door] | None:
    """The address that the host is itself; None of a name, which must be looked up."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return _resolved(host, port)


def begun(host: str, port: int) -> list[Door] | Lookup:
    """The address that the host is itself, or the lookup of a name. Raises OSError."""
    return known(host, port) or Lookup(host, port)


async def awaited(
    host: str, port: int, readable: Callable[[socket.socket], Awaitable[None]]
) -> list[Door]:
    """All addresses of a host. `readable` waits for a socket in the caller's event loop.

    Not by the threads of that loop: asyncio waits for them at its end. Raises OSError,
    UnicodeError.
    """
    found = begun(host, port)
    if not isinstance(found, Lookup):
        return found
    try:
        await readable(found.end)
        return found.doors()
    finally:
        found.close()


def look_up(host: str, port: int, seconds: float) -> list[Door]:
    """All addresses of a host. Raises OSError or UnicodeError, Unresolved after so many seconds."""
    found = begun(host, port)
    if not isinstance(found, Lookup):
        return found
    try:
        return found.wait(seconds)
    finally:
        found.close()


def connected(host: str, port: int, seconds: float) -> socket.socket:
    """Connect to the first address of a host that accepts it, within so many seconds in all.

    Raises OSError, UnicodeError.
    """
    until = time.monotonic() + seconds
    failed = OSError("no such host")
    for family, where in look_up(host, port, seconds):
        made = socket.socket(family, socket.SOCK_STREAM)
        try:
            made.settimeout(max(_SHORTEST_S, until - time.monotonic()))
            made.connect(where)
        except OSError as error:
            failed = error
            made.close()
        else:
            return made
    raise failed


class _Search:
    """The thread of one name."""

    def __init__(self, host: str, port: int) -> None:
        self.asked: list[socket.socket] = []
        """The other ends of the questions; closed when it has answered."""
        self.found: list[Door] | Exception | None = None
        self._name = host, port

    def run(self) -> None:
        try:
            self.answer(_resolved(*self._name))
        except (OSError, UnicodeError) as error:
            self.answer(error)

    def answer(self, found: list[Door] | Exception) -> None:
        with _lock:
            self.found = found
            _searches.pop(self._name, None)
            for each in self.asked:
                each.send(b"\0")  # its end alone would not show while a fork has a copy
                each.close()
            self.asked.clear()


_searches: dict[tuple[str, int], _Search] = {}
_lock = threading.Lock()


def _resolved(host: str, port: int) -> list[Door]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(family, where) for family, _, _, _, where in found]


def _forked() -> None:
    """The threads are those of the process that has forked this one."""
    global _lock  # noqa: PLW0603 - it may be held by a thread that is not there
    _lock = threading.Lock()
    _searches.clear()


os.register_at_fork(after_in_child=_forked)
