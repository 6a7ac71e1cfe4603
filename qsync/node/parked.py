"""Writes that wait for room in the limbo or in memory, with limits on number and bytes."""

from collections import deque
from typing import Final, NamedTuple

from qsync.core.config import CoreConfig
from qsync.errors import QsyncError
from qsync.node import refusals
from qsync.node.connection import Connection
from qsync.wire.verbs import WriteRequest

GRACE: Final = 1.0
"""Seconds beyond `synchro_timeout` in which a rollback may still become definite."""


def due_at(request: WriteRequest, config: CoreConfig, now: float) -> float:
    """Return the time at which the client of a write stops waiting."""
    patience = config.synchro_timeout + GRACE if request.timeout is None else request.timeout
    return now + patience


class ParkedWrite(NamedTuple):
    """A request, its client, its deadline, and its bytes on the wire."""

    connection: Connection
    request: WriteRequest
    due: float
    size: int


class ParkedWrites:
    """The writes that wait for room, in the order in which they came.

    They are bounded by bytes as the limbo is: 4,096 of 8 MiB each would be more memory than there
    is. One that is larger than all the room may wait alone.
    """

    def __init__(self, count_max: int) -> None:
        self._count_max = count_max
        self._waiting: deque[ParkedWrite] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, write: ParkedWrite, *, bytes_max: int) -> QsyncError | None:
        """Park a write; return why it may not wait, or None."""
        if len(self._waiting) >= self._count_max:
            return refusals.parked_full(f"{self._count_max} writers", "inflight_max")
        if self._waiting and self._bytes + write.size > bytes_max:
            return refusals.parked_full(f"writers with {self._bytes} bytes", "queue_bytes_max")
        self._waiting.append(write)
        self._bytes += write.size
        return None

    def pop(self) -> ParkedWrite:
        """Take the next one."""
        found = self._waiting.popleft()
        self._bytes -= found.size
        return found

    def take_all(self) -> list[ParkedWrite]:
        """Take all of them."""
        found = list(self._waiting)
        self._waiting.clear()
        self._bytes = 0
        return found

    def take_late(self, now: float) -> list[ParkedWrite]:
        """Take those whose deadline has passed."""
        late = [each for each in self._waiting if each.due <= now]
        if late:
            self._waiting = deque(each for each in self._waiting if each.due > now)
            self._bytes = sum(each.size for each in self._waiting)
        return late
