"""Requests that have not arrived whole: their limit, and which connection yields."""

from typing import Final

from qsync.node.connection import Connection

BYTES_MAX: Final = 256 << 20
ROOM_SHARE: Final = 8
"""When there is too much, so large a share of the limit is made free: not a little at each read."""


class UnfinishedRequests:
    """Frames that clients have begun to send; the one that was begun first is in front.

    Who sends a request slowly, or never to its end, must not hold up those who do: so when all of
    them take too much, the oldest give way. A client that is quick has a young one.
    """

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self.bytes_max = bytes_max
        self.bytes = 0
        self._held: dict[Connection, int] = {}

    def __len__(self) -> int:
        return len(self._held)

    def received(self, connection: Connection, *, whole: bool) -> list[Connection]:
        """Note that bytes came, with `whole` frames; return the connection that must yield."""
        now = connection.frames.buffered
        if whole or not now:
            self.forget(connection)  # what is left is another frame, the youngest of all
        if now:
            self.bytes += now - self._held.get(connection, 0)
            self._held[connection] = now
        return self._oldest() if self.bytes > self.bytes_max else []

    def forget(self, connection: Connection) -> None:
        """Forget a connection that has no unfinished frame."""
        self.bytes -= self._held.pop(connection, 0)

    def _oldest(self) -> list[Connection]:
        goal, found = self.bytes_max - self.bytes_max // ROOM_SHARE, list[Connection]()
        while self.bytes > goal:
            oldest = next(iter(self._held))
            self.forget(oldest)
            found.append(oldest)
        return found
