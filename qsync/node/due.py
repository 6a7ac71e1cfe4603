"""Answers that may be given now and cost something: in turns, so that nobody waits for them all."""

from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Final

from qsync.node.connection import Connection

DUE_SECONDS_MAX: Final = 0.005
"""After so long the rest waits for the next pass: peers and timers go first."""

Answer = Callable[[], None]
Failed = Callable[[Connection, Exception], None]


def _raised(_: Connection, error: Exception) -> None:
    raise error


class Due:
    """One queue for each connection; every one has its turn before any has a second."""

    def __init__(
        self, *, failed: Failed = _raised, clock: Callable[[], float] = perf_counter
    ) -> None:
        self._failed = failed
        self._clock = clock
        self._queues: dict[Connection, deque[Answer]] = {}

    def __len__(self) -> int:
        return len(self._queues)

    @property
    def ready(self) -> bool:
        """Can any of them be given? Not to who does not read what it asked for."""
        return bool(self._queues) and any(not each.full for each in self._queues)

    def add(self, connection: Connection, answer: Answer) -> None:
        """It may be given from now on."""
        self._queues.setdefault(connection, deque()).append(answer)

    def work(self) -> None:
        """Give answers until the time of this pass is over; one always."""
        if not self._queues:
            return
        until = self._clock() + DUE_SECONDS_MAX
        while self._round():
            if self._clock() >= until:
                return

    def _round(self) -> bool:
        """The next answer of the connection whose turn it is. False when none can be given."""
        for connection in list(self._queues):
            queue = self._queues[connection]
            if connection.closed:
                del self._queues[connection]
            elif not connection.full:
                del self._queues[connection]
                answer = queue.popleft()
                if queue:
                    self._queues[connection] = queue  # behind all others
                try:
                    answer()
                except Exception as error:  # noqa: BLE001 - costs its connection, or all
                    self._failed(connection, error)
                return True
        return False
