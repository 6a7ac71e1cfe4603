"""What the blocking client asks of the system it runs on: a clock, sockets, names of hosts."""

import select
import socket
import time
from typing import Any, Final, Protocol

from qsync.client import targets

Door = tuple[int, Any]
"""Family and address of a socket."""


class ClientSocket(Protocol):
    """What is used of `socket.socket`, which fulfils it as it is."""

    def fileno(self) -> int:
        """Its number while it is open."""

    def recv(self, bufsize: int, /) -> bytes:
        """What is there; nothing at the end of the stream. Raises OSError."""

    def send(self, data: bytes | bytearray, /) -> int:
        """How many of the bytes fitted. Raises OSError."""

    def connect_ex(self, address: Any, /) -> int:  # noqa: ANN401 - the standard library says no more
        """Begin to connect; an error's number, or 0."""

    def getsockopt(self, level: int, option: int, /) -> int:
        """An option."""

    def setsockopt(self, level: int, option: int, value: int, /) -> None:
        """Set an option."""

    def settimeout(self, seconds: float, /) -> None:
        """0: nothing waits in a call."""

    def close(self) -> None:
        """Let it go."""


class ClientPoll(Protocol):
    """What is used of `select.poll`, which fulfils it as it is."""

    def register(self, fd: int, eventmask: int, /) -> None:
        """Watch a socket."""

    def modify(self, fd: int, eventmask: int, /) -> None:
        """Watch it for something else."""

    def unregister(self, fd: int, /) -> None:
        """Watch it no longer."""

    def poll(self, timeout: float | None, /) -> list[tuple[int, int]]:
        """Which are ready for what, after so many milliseconds at most."""


class ClientSystem(Protocol):
    """The system that a client runs on."""

    def now(self) -> float:
        """Monotonic seconds."""

    def socket(self, family: int) -> ClientSocket:
        """A stream socket. Raises OSError."""

    def poll(self) -> ClientPoll:
        """Watches sockets."""

    def resolved(self, address: str) -> list[Door]:
        """All that a name stands for, each family in its turn. Raises OSError."""


class _Sockets:
    """See `System`: as it is."""

    now = staticmethod(time.monotonic)

    def socket(self, family: int) -> ClientSocket:
        """A stream socket."""
        return socket.socket(family, socket.SOCK_STREAM)

    def poll(self) -> ClientPoll:
        """A poll."""
        return select.poll()

    def resolved(self, address: str) -> list[Door]:
        """All that a name stands for, each family in its turn. Raises OSError."""
        host, port = targets.split(address)
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return [(family, where) for family, _, _, _, where in found]


SYSTEM: Final[ClientSystem] = _Sockets()
