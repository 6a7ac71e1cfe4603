"""What the blocking client uses of a socket of the system."""

from typing import Any, Protocol

from qsync.tls.plain import StreamSocket


class ClientSocket(StreamSocket, Protocol):
    """Before and after it is connected. `socket.socket` fulfils it as it is."""

    def connect_ex(self, address: Any, /) -> int:  # noqa: ANN401 - the standard library says no more
        """Begin to connect; an error's number, or 0."""
