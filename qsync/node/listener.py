"""Listening sockets, and what is done when there are no file descriptors left."""

import resource
from collections.abc import Callable
from typing import Final

from qsync.node.connection import nonblocking
from qsync.node.effects import Closable, Socket

RESERVED_FILES: Final = 80
"""Descriptors for logs, spaces, timers and terminals, and for readers of metrics."""
RESERVED_FOR_PEER: Final = 4
"""Descriptors for each other member: a connection either way, and the next ones."""
STRANGERS_MAX: Final = 64
"""Connections that have not said yet who they are; one more ends the oldest."""

Accept = Callable[[Socket, str], None]
"""Takes a connection, and from which host it comes; an empty text where there is none."""
Spare = Callable[[], Closable | None]
"""A descriptor in reserve."""


class Listener:
    """A listening socket. It keeps one descriptor in reserve, to accept and refuse with."""

    def __init__(self, sock: Socket, accept: Accept, spare: Spare) -> None:
        sock.settimeout(0)
        self.sock = sock
        self.turned_away = 0
        self._accept = accept
        self._reserve = spare
        self._spare = spare()

    def take_all(self) -> None:
        """Accept all connections that wait."""
        while True:
            try:
                fresh, where = self.sock.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                if not self._turn_away():
                    return
                continue
            self._accept(nonblocking(fresh), _host(where))

    def close(self) -> None:
        """Stop listening."""
        self.sock.close()
        if self._spare is not None:
            self._spare.close()
            self._spare = None

    def _turn_away(self) -> bool:
        """Accept and close one connection when no descriptor is left: it would wake us again.

        False when that cannot be done either.
        """
        if self._spare is None:
            self._spare = self._reserve()
            return False
        self._spare.close()
        self._spare = None
        try:
            fresh, _ = self.sock.accept()
            fresh.close()
            self.turned_away += 1
        except OSError:
            return False
        finally:
            self._spare = self._reserve()
        return True


def _host(where: object) -> str:
    """Return the host of a socket's address; empty for the socket in the directory."""
    return str(where[0]) if isinstance(where, tuple) and where else ""


def connections_allowed(wanted: int, peers: int) -> int:
    """How many clients may connect so that descriptors are left for peers, files and strangers.

    The soft limit of the process is raised first, as far as the hard one allows.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    enough = wanted + RESERVED_FILES + RESERVED_FOR_PEER * peers + STRANGERS_MAX
    if soft < enough:
        most = enough if hard == resource.RLIM_INFINITY else max(soft, min(hard, enough))
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    return share(soft, wanted, peers=peers)


def share(limit: int, wanted: int, *, peers: int) -> int:
    """Return how many of the descriptors are left for clients: at least one."""
    strangers = min(STRANGERS_MAX, limit // 8)
    return max(1, min(wanted, limit - RESERVED_FILES - RESERVED_FOR_PEER * peers - strangers))
