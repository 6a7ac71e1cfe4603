"""The part of a socket that the blocking client uses."""

from typing import Any, Protocol

from qsync.tls.plain import StreamSocket


class ClientSocket(StreamSocket, Protocol):
    """A socket before and after it is connected; `socket.socket` is one."""

    def connect_ex(self, address: Any, /) -> int:  # noqa: ANN401 - the standard library says no more
        """Begin to connect; return the number of an error, or 0."""
