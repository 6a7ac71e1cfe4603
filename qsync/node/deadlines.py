"""Until when each of many waits, the soonest first; cheap where all wait equally long."""

import heapq
from collections import deque
from collections.abc import Container

from qsync.core.ready import Ticket
from qsync.node.timers import FAR

SPARE = 1024
"""Deadlines of tickets that are answered already, kept beyond twice as many as are open."""


class Deadlines:
    """Deadlines of tickets. Those that were answered are dropped when they are met.

    Who waits as long as the one before has the later deadline, so most need no more than a queue;
    a heap has those whose patience is shorter.
    """

    __slots__ = ("_heap", "_queue")

    def __init__(self) -> None:
        self._queue: deque[tuple[float, Ticket]] = deque()
        self._heap: list[tuple[float, Ticket]] = []

    def __len__(self) -> int:
        return len(self._queue) + len(self._heap)

    def add(self, deadline: float, ticket: Ticket) -> None:
        """In seconds, by the clock that `pop_overdue` is given."""
        queue = self._queue
        if not queue or deadline >= queue[-1][0]:
            queue.append((deadline, ticket))
        else:
            heapq.heappush(self._heap, (deadline, ticket))

    def soonest(self, waiting: Container[Ticket]) -> float:
        """The deadline of the first one that still waits; infinite when none does."""
        queue, heap = self._queue, self._heap
        while queue and queue[0][1] not in waiting:
            queue.popleft()
        while heap and heap[0][1] not in waiting:
            heapq.heappop(heap)
        soonest = queue[0][0] if queue else FAR
        return min(soonest, heap[0][0]) if heap else soonest

    def pop_overdue(self, now: float) -> list[Ticket]:
        """Tickets whose deadline has passed, by deadline; also those that were answered."""
        found: list[tuple[float, Ticket]] = []
        while self._queue and self._queue[0][0] <= now:
            found.append(self._queue.popleft())
        while self._heap and self._heap[0][0] <= now:
            found.append(heapq.heappop(self._heap))
        return [ticket for _, ticket in sorted(found)]

    def trim(self, waiting: Container[Ticket], count: int) -> None:
        """Forget what was answered, if that is most of it; `count`: how many still wait."""
        if len(self) > 2 * count + SPARE:
            self._queue = deque(each for each in self._queue if each[1] in waiting)
            self._heap = [each for each in self._heap if each[1] in waiting]
            heapq.heapify(self._heap)
