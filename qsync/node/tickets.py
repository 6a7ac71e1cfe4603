"""Tickets of waiting clients: for which answer each waits, and until when."""

import heapq
from collections import deque
from collections.abc import Callable, Container
from typing import NamedTuple, final

from qsync.core.ready import Ticket
from qsync.data.request import SubmittedTransaction
from qsync.errors import QsyncError
from qsync.histogram import Histogram
from qsync.node.connection import Connection
from qsync.node.due import Due
from qsync.node.timers import FAR
from qsync.wire.verbs import RowsRequest

SPARE = 1024
"""Deadlines of tickets that are answered already, kept beyond twice as many as are open."""


class Deadlines:
    """Deadlines of tickets. Those of answered tickets are dropped when they pass.

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
        """Note when a ticket is overdue: seconds by the clock that `pop_overdue` is given."""
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
        """Take the tickets whose deadline has passed, by deadline; answered ones, too."""
        found: list[tuple[float, Ticket]] = []
        while self._queue and self._queue[0][0] <= now:
            found.append(self._queue.popleft())
        while self._heap and self._heap[0][0] <= now:
            found.append(heapq.heappop(self._heap))
        return [ticket for _, ticket in sorted(found)]

    def trim(self, waiting: Container[Ticket], count: int) -> None:
        """Drop answered tickets if they are the majority; `count`: how many still wait."""
        if len(self) > 2 * count + SPARE:
            self._queue = deque(each for each in self._queue if each[1] in waiting)
            self._heap = [each for each in self._heap if each[1] in waiting]
            heapq.heapify(self._heap)


@final
class WriteTicket:
    """The ticket of a client that waits for its transaction, or for its `refusal` in the log.

    `session` and `seq` are the token by which it may ask again.
    """

    __slots__ = ("asked_at", "connection", "request", "seq", "session", "submitted")

    def __init__(
        self,
        connection: Connection,
        request: int,
        submitted: SubmittedTransaction,
        *,
        session: bytes,
        seq: int,
        asked_at: float,
    ) -> None:
        self.connection = connection
        self.request = request
        self.submitted = submitted
        self.session = session
        self.seq = seq
        self.asked_at = asked_at

    @property
    def token(self) -> tuple[bytes, int]:
        """Session and number, by which the transaction can be asked for again."""
        return self.session, self.seq


class ReadTicket(NamedTuple):
    """The ticket of a client that waits for a read."""

    connection: Connection
    request: RowsRequest


class AskTicket(NamedTuple):
    """The ticket of an operation or an uncertain refusal: `done(refused)` answers it.

    `late` is the answer when the time is over; without it, that the read or operation was not done.
    """

    connection: Connection
    request: int
    done: Callable[[str | None], None]
    write: bool
    late: QsyncError | None = None


AnyTicket = WriteTicket | ReadTicket | AskTicket


def number_of(ticket: AnyTicket) -> int:
    """Return the number by which its client knows the question."""
    if isinstance(ticket, ReadTicket):
        return ticket.request.id
    return ticket.request


class Tickets:
    """Numbers the waiting clients, and finds those whose deadline has passed."""

    def __init__(self, due: Due | None = None) -> None:
        self.due = Due() if due is None else due
        """Answers to reads that may be given now, a few in each turn."""
        self.latency = Histogram()
        """Seconds that writes took, from the question to the answer."""
        self.waited = 0.0
        """Seconds that the newest write took."""
        self._next = 1
        self._open: dict[Ticket, AnyTicket] = {}
        self._deadlines = Deadlines()
        self._read_deadlines = Deadlines()
        self._refusals: set[Ticket] = set()

    def __len__(self) -> int:
        return len(self._open)

    @property
    def issued(self) -> int:
        """The number of tickets since the process began."""
        return self._next - 1

    def number(self) -> Ticket:
        """Return a fresh ticket number."""
        ticket = self._next
        self._next += 1
        return ticket

    def put(self, number: Ticket, ticket: AnyTicket, *, deadline: float) -> None:
        """Add the ticket of a write under this number, until `deadline`."""
        self._open[number] = ticket
        self._deadlines.add(deadline, number)

    def put_read(self, number: Ticket, ticket: ReadTicket, *, deadline: float) -> None:
        """Add the ticket of a read. Reads all wait equally long, unlike writes."""
        self._open[number] = ticket
        self._read_deadlines.add(deadline, number)

    def put_refusal(self, number: Ticket, ticket: AskTicket, *, deadline: float) -> None:
        """Add a refusal that waits until it is certain."""
        self._refusals.add(number)
        self.put(number, ticket, deadline=deadline)

    def refusals(self) -> int:
        """The number of refusals that wait."""
        self._refusals &= self._open.keys()
        return len(self._refusals)

    def waits(self, number: Ticket) -> AnyTicket | None:
        """Return the ticket of this number; None if it was answered."""
        return self._open.get(number)

    def pop(self, number: Ticket) -> AnyTicket | None:
        """Take the ticket of this number, to answer it; None if it was answered before."""
        return self._open.pop(number, None)

    def settled(self, oldest: Ticket, count: int, *, now: float) -> None:
        """Count writes that are answered together; all of them as slow as the oldest."""
        ticket = self._open.get(oldest)
        if type(ticket) is WriteTicket:
            self.waited = now - ticket.asked_at
            self.latency.add(self.waited, count)

    @property
    def expires_at(self) -> float:
        """The earliest deadline; infinite without tickets."""
        open_ = self._open
        return min(self._deadlines.soonest(open_), self._read_deadlines.soonest(open_))

    def take_all(self) -> list[tuple[Ticket, AnyTicket]]:
        """Take all tickets."""
        found = list(self._open.items())
        self._open.clear()
        return found

    def overdue(self, now: float) -> list[tuple[Ticket, AnyTicket]]:
        """Take all tickets whose deadline has passed."""
        found: list[tuple[Ticket, AnyTicket]] = []
        for deadlines in (self._deadlines, self._read_deadlines):
            for number in deadlines.pop_overdue(now):
                ticket = self._open.pop(number, None)
                if ticket is not None:
                    found.append((number, ticket))
            deadlines.trim(self._open, len(self._open))
        return found
