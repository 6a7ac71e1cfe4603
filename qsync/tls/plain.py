"""What is used of a connected socket, whatever carries its bytes."""

from typing import Any, Protocol


class StreamSocket(Protocol):
    """A connected stream. `socket.socket` fulfils it as it is."""

    @property
    def family(self) -> int:
        """IPv4, IPv6, or something of this machine."""

    def fileno(self) -> int:
        """Its number while it is open."""

    def recv(self, bufsize: int, /) -> bytes:
        """What is there; nothing at the end of the stream. Raises OSError."""

    def send(self, data: bytes | bytearray, /) -> int:
        """How many of the bytes fitted. Raises OSError."""

    def getsockname(self) -> Any:  # noqa: ANN401 - the standard library says no more
        """Its own address."""

    def getsockopt(self, level: int, option: int, /) -> int:
        """An option. Raises OSError."""

    def setsockopt(self, level: int, option: int, value: int, /) -> None:
        """Set an option. Raises OSError."""

    def settimeout(self, seconds: float, /) -> None:
        """0: nothing waits in a call."""

    def close(self) -> None:
        """Let it go."""
