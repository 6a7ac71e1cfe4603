"""What clients of one node wait for, and what they were told, over all its lives."""

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
"""The ticket of an operator; clients have smaller ones."""
RECEIPTS = range(500, 600)
"""Tickets of reads that are to be as new as a receipt."""
PROMOTER = OPERATOR + 1
"""And of one who promotes."""


class OpenQuestion(NamedTuple):
    """What the entry is that a ticket waits for. `refused`: the refusal of that request."""

    session: bytes
    seq: int
    refused: bool


class AnswerLog:
    """What was told is never forgotten; who waits is, when the process dies."""

    def __init__(self, me: Replica) -> None:
        self.me = me
        self.ok: dict[Place, bool] = {}
        """What was told to be committed; true if it is synchronous."""
        self.before: frozenset[Place] = frozenset()
        """What of that was told by the same node in an ancestor of its cluster."""
        self.gone: dict[Place, str] = {}
        """What was told to be gone, and in which words."""
        self.outcomes: dict[Name, Outcome] = {}
        """What was told of a numbered request."""
        self.refused: frozenset[Name] = frozenset()
        """Requests of which clients were told that they have no effect."""
        self.read_to: Place = (0, 0)
        """How far a linearizable read has seen."""
        self.asked: dict[int, OpenQuestion] = {}
        """Tickets of clients that wait: session and number of the request."""
        self.refusals: dict[int, object] = {}
        """Those that were refused, and not told so yet."""
        self.floors: dict[int, Position] = {}
        """Reads that wait, and the entry that each of them must have seen."""
        self.operators = 0
        """So many of them wait."""

    @property
    def promised(self) -> frozenset[Place]:
        """What was told to be committed, of synchronous transactions."""
        return frozenset([place for place, sync in self.ok.items() if sync])

    def refuses(self, request: Name) -> None:
        """A client hears that nothing was done."""
        self.refused |= {request}

    def restarts(self) -> None:
        """Who waited is not answered any more."""
        self.asked, self.floors, self.refusals = {}, {}, {}
        self.operators = 0

    def tells(self, replicated_log: ReplicatedLog, settled: Settled, *, sync: bool) -> None:
        """A client hears of its transaction. Properties 3, 4 and 9, as one node can know them."""
        index, term, verdict = int(settled.index), int(settled.term), settled.verdict
        place = (index, term)
        asked = self.asked.pop(settled.ticket, None)
        request = None if asked is None else asked[:2]
        if asked is not None and asked.refused and verdict is TransactionFate.COMMITTED:
            self.refuses(asked[:2])
        if request is not None and verdict not in _CUT:
            # What was cut for good did not happen, so the request may be tried anew.
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
        """A read as new as a receipt is answered by a log with that very entry. Property 3."""
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
