"""The waiting clients of one node, and its answers to clients, over all its lives."""

from collections.abc import Sequence
from typing import NamedTuple

from election.messages import Position, Replica
from qsync.core.ready import Settled, TransactionFate
from qsync.core.replicated_log import ReplicatedLog
from qsync.record import Entry
from qsync.sim import properties
from qsync.sim.canon import PropertyViolation

Place = tuple[int, int]
"""Index and term of an entry."""
Name = tuple[bytes, int]
"""Session and number of a request."""
Outcome = tuple[int, int, str]
"""Place and verdict."""
_CUT = frozenset({TransactionFate.CUT, TransactionFate.LOST})


OPERATOR = 1000
"""The ticket of an operator; tickets of clients are smaller."""
RECEIPTS = range(500, 600)
"""Tickets of reads that must be as new as a receipt."""
PROMOTER = OPERATOR + 1
"""The ticket of an operator that promotes."""


class OpenQuestion(NamedTuple):
    """The entry that a ticket waits for. `refused`: the refusal of that request."""

    session: bytes
    seq: int
    refused: bool


class AnswerLog:
    """Answers are never forgotten; waiting clients are forgotten when the process dies."""

    def __init__(self, me: Replica) -> None:
        self.me = me
        self.ok: dict[Place, bool] = {}
        """Entries that were answered as committed; true if synchronous."""
        self.before: frozenset[Place] = frozenset()
        """The part of these that the same node answered in an ancestor of its cluster."""
        self.gone: dict[Place, str] = {}
        """Entries that were answered as not committed, and the answer."""
        self.outcomes: dict[Name, Outcome] = {}
        """The answer to a numbered request."""
        self.refused: frozenset[Name] = frozenset()
        """Requests that were answered as having no effect."""
        self.read_to: Place = (0, 0)
        """The highest index that a linearizable read showed."""
        self.asked: dict[int, OpenQuestion] = {}
        """Tickets of waiting clients: session and number of the request."""
        self.refusals: dict[int, object] = {}
        """Requests that were refused, but not answered yet."""
        self.floors: dict[int, Position] = {}
        """Waiting reads, and the entry that each must show."""
        self.operators = 0
        """How many of them wait."""

    @property
    def promised(self) -> frozenset[Place]:
        """Synchronous transactions that were answered as committed."""
        return frozenset([place for place, sync in self.ok.items() if sync])

    def refuses(self, request: Name) -> None:
        """A client gets the answer that nothing was done."""
        self.refused |= {request}

    def restarts(self) -> None:
        """Waiting clients get no answer any more."""
        self.asked, self.floors, self.refusals = {}, {}, {}
        self.operators = 0

    def tells(self, replicated_log: ReplicatedLog, settled: Settled, *, sync: bool) -> None:
        """A client gets the outcome of its transaction.

        Properties 3, 4 and 9, as far as one node shows them.
        """
        index, term, verdict = int(settled.index), int(settled.term), settled.verdict
        place = (index, term)
        asked = self.asked.pop(settled.ticket, None)
        request = None if asked is None else asked[:2]
        if asked is not None and asked.refused and verdict is TransactionFate.COMMITTED:
            self.refuses(asked[:2])
        if request is not None and verdict not in _CUT:
            # A permanently cut entry had no effect, so the request may be retried.
            outcome = (index, term, verdict.value)
            properties.one_outcome(request, self.outcomes.setdefault(request, outcome), outcome)
        if verdict is TransactionFate.COMMITTED:
            properties.committed_is_shown(self.me, place, replicated_log)
            confirmed = (
                index <= replicated_log.confirmed and replicated_log.limbo.stretch_at(index) is None
            )
            if sync:
                properties.committed_is_confirmed(self.me, place, confirmed=confirmed)
            self.ok[place] = sync
            return
        here = index <= replicated_log.log.last and replicated_log.log.term_at(index) == term
        stretch = replicated_log.limbo.stretch_at(index) if here else None
        if verdict in _CUT:
            decided = replicated_log.confirmed >= index and not here
        else:
            decided = stretch is not None and replicated_log.confirmed >= stretch.rollback
        properties.gone_for_good(self.me, place, verdict.value, decided=decided)
        if verdict is not TransactionFate.LOST:
            self.gone[place] = verdict.value

    def serves(self, ticket: int, history: Sequence[Entry]) -> None:
        """A read as new as a receipt is answered from a log with that entry. Property 3."""
        place = self.floors.pop(ticket)
        has = place.index <= len(history) and history[place.index - 1].term == place.term
        if not has:
            raise PropertyViolation(
                3, f"node {self.me} serves a receipt of {place}, which is not in its log"
            )

    def reads(self, ticket: int, replicated_log: ReplicatedLog) -> None:
        """A linearizable read is answered. Property 3."""
        floor = self.floors.pop(ticket)
        properties.fresh(self.me, "linearizable", replicated_log, floor)
        confirmed = int(replicated_log.confirmed)
        self.read_to = max(self.read_to, (confirmed, int(replicated_log.log.term_at(confirmed))))
