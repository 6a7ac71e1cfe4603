"""Clients that wait for the fate of their transaction, until it is definite."""

from collections import deque
from typing import Final, final

from election.messages import Index, Position, Term
from qsync.core.ready import Settled, Ticket, TransactionFate
from qsync.core.replicated_log import ReplicatedLog
from qsync.record import WAIT_ACK, Entry

NOTHING = Position(Term(0), Index(0))


@final
class Waiter:
    """The ticket of the transaction `(term, index)`.

    `behind`: a synchronous entry (maybe itself); no node shows it before this is confirmed.
    """

    __slots__ = ("behind", "index", "term", "ticket")

    def __init__(self, index: Index, term: Term, ticket: Ticket, behind: Position) -> None:
        self.index: Final = index
        self.term: Final = term
        self.ticket: Final = ticket
        self.behind: Final = behind


class Waiters:
    """Waiters of the present leadership in log order; all others one by one.

    Three outcomes are never blurred (protocol.md section 5): "rolled back" is said only when the
    ROLLBACK itself is confirmed, or when the confirmed index has passed the place of a cut entry.
    """

    def __init__(self) -> None:
        self._own: deque[Waiter] = deque()
        self._others: list[Waiter] = []
        self._forgotten: set[Ticket] = set()
        self._dirty = False
        self._seen_at = (0, 0, 0)

    def __len__(self) -> int:
        return len(self._own) + len(self._others)

    def add(self, waiter: Waiter) -> None:
        """Add a proposal of the present leadership; indexes grow."""
        assert not self._own or waiter.index > self._own[-1].index
        self._own.append(waiter)

    def attach(self, waiter: Waiter) -> None:
        """Add a retry of a transaction that is in the log already."""
        self._others.append(waiter)
        self._dirty = True

    def forget(self, ticket: Ticket) -> None:
        """Forget a ticket whose client got the outcome "unknown", or is gone."""
        self._forgotten.add(ticket)
        self._dirty = True

    def deposed(self) -> None:
        """Keep the waiters when the leadership ends: the log decides their fate."""
        assert not self._own or self._own[0].term == self._own[-1].term
        self._others.extend(self._own)
        self._own.clear()
        self._dirty = True

    def rolled_back(self, first: Index) -> None:
        """Note a rollback from `first` on; it is definite only when it is confirmed."""
        while self._own and self._own[-1].index >= first:
            self._others.append(self._own.pop())
        self._dirty = True

    def settle(self, replicated_log: ReplicatedLog) -> list[Settled]:
        """Return all waiters whose fate is definite now, in log order."""
        settled: list[Settled] = []
        own, forgotten = self._own, self._forgotten
        if own:
            confirmed, reach = replicated_log.confirmed, replicated_log.visible
            while own and own[0].index <= reach:
                waiter = own.popleft()
                index, ticket = waiter.index, waiter.ticket
                assert index <= confirmed or index <= replicated_log.written
                if not forgotten or ticket not in forgotten:
                    settled.append(Settled(ticket, TransactionFate.COMMITTED, index, waiter.term))
        if self._others:
            at = (replicated_log.confirmed, replicated_log.log.last, replicated_log.cuts)
            if self._dirty or at != self._seen_at:
                self._seen_at = at
                settled.extend(self._settle_others(replicated_log))
        self._dirty = False
        if not own and not self._others:
            forgotten.clear()
        return settled

    def _settle_others(self, replicated_log: ReplicatedLog) -> list[Settled]:
        settled: list[Settled] = []
        left: list[Waiter] = []
        for waiter in sorted(self._others, key=lambda each: (each.index, each.term, each.ticket)):
            if waiter.ticket in self._forgotten:
                continue
            verdict = fate(replicated_log, waiter.index, waiter.term, waiter.behind)
            if verdict is None:
                left.append(waiter)
            else:
                settled.append(Settled(waiter.ticket, verdict, waiter.index, waiter.term))
        self._others = left
        return settled


def behind_what(replicated_log: ReplicatedLog, entry: Entry) -> Position:
    """Return the synchronous entry that `entry` of the log waits for first; or none."""
    queue = replicated_log.limbo.queue
    if entry.flags & WAIT_ACK:
        return Position(entry.term, entry.index)
    if queue and queue[0].index < entry.index:
        return Position(queue[0].term, queue[0].index)
    return NOTHING


def fate(
    replicated_log: ReplicatedLog, index: Index, term: Term, behind: Position
) -> TransactionFate | None:
    """Return the definite fate of the transaction `(term, index)`; None while it is open."""
    log, confirmed = replicated_log.log, replicated_log.confirmed
    if index <= log.start.unknown_upto:
        return None  # It was decided, and what is left of the log does not say how.
    if not log.has(index, term):
        # Cut from this log. Another replica may still hold it, until the place is taken for good.
        if confirmed < index:
            return None
        # And one that has heard nothing since may have shown it, unless that needed a quorum.
        hidden = not log.has(behind.index, behind.term)
        return TransactionFate.CUT if hidden else TransactionFate.LOST
    if log.start.took_back(index):
        return TransactionFate.ROLLED_BACK
    stretch = replicated_log.limbo.stretch_at(index)
    if stretch is not None:
        return TransactionFate.ROLLED_BACK if confirmed >= stretch.rollback else None
    return TransactionFate.COMMITTED if confirmed >= index else None
