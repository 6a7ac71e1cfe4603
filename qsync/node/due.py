"""Answers that are ready but cost time to make: clients get them in turns."""

from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

from qsync.node.connection import Connection

DUE_SECONDS_MAX: Final = 0.005
"""Limit in seconds, after which the rest waits for the next pass: peers and timers go first."""
SLICES_SECONDS_MAX: Final = 0.002
"""The same if some of them are long, and are made in slices: those go on for many passes."""

Give = Callable[[Connection, Any], object | None]
"""Gives one connection the answer to one question; or works on it, and returns what is left."""
Failed = Callable[[Connection, Exception], None]


def _raised(_: Connection, error: Exception) -> None:
    raise error


class Due:
    """A queue for each connection; each has a turn before any has a second."""

    def __init__(
        self, *, failed: Failed = _raised, clock: Callable[[], float] = perf_counter
    ) -> None:
        self._failed = failed
        self._clock = clock
        self._queues: dict[Connection, deque[tuple[Give, object]] | None] = {}
        """What of each connection waits behind its next answer; mostly there is no more."""
        self._turns: deque[tuple[Connection, Give, object]] = deque()
        """The next answer of every connection, once; the first has the next turn."""

    def __len__(self) -> int:
        return len(self._queues)

    @property
    def ready(self) -> bool:
        """Whether an answer can be given now. A client that does not read its answers gets none."""
        return bool(self._queues) and any(not each.full for each in self._queues)

    def add(self, connection: Connection, give: Give, question: object) -> None:
        """Queue an answer: `give(connection, question)` may be called from now on."""
        if connection not in self._queues:
            self._queues[connection] = None
            self._turns.append((connection, give, question))
            return
        queue = self._queues[connection]
        if queue is None:
            queue = self._queues[connection] = deque()
        queue.append((give, question))

    def work(self) -> None:
        """Give answers until the time of this pass is over, but at least one."""
        turns, queues, clock = self._turns, self._queues, self._clock
        if not turns:
            return
        begin = clock()
        until = begin + DUE_SECONDS_MAX
        full = 0
        while full < len(turns):
            turn = turns.popleft()
            connection, give, question = turn
            if connection.closed:
                del queues[connection]
                continue
            if connection.full:
                turns.append(turn)
                full += 1
                continue
            full = 0
            rest = failed = None
            try:
                rest = give(connection, question)
            except Exception as error:  # noqa: BLE001 - costs its connection, or all
                failed = error
            queue = queues[connection]
            if rest is not None:
                turns.append((connection, give, rest))  # behind all others
                until = begin + SLICES_SECONDS_MAX
            elif queue:
                after = queue.popleft()
                turns.append((connection, after[0], after[1]))
            else:
                del queues[connection]
            if failed is not None:
                self._failed(connection, failed)
            if clock() >= until:
                return
