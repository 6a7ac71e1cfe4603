"""Checks the answers to clients against the final log."""

from collections.abc import Mapping

import cbor2

from election.messages import Index, Position, Replica, Term
from qsync.core.consistency import Consistency
from qsync.core.inputs import ReadAsked
from qsync.core.ready import Settled, TransactionFate
from qsync.core.replicated_log import ReplicatedLog
from qsync.data import keys
from qsync.data.keys import FieldType, KeyPart
from qsync.sim import properties
from qsync.sim.canon import Key, PropertyViolation, ReferenceLog, ReferenceRecords
from qsync.sim.entrusted import RightsRules
from qsync.sim.numbered import SessionRules

Where = tuple[Replica, ReplicatedLog]
"""A node and its replicated log."""

_KEY = (KeyPart(field=0, type=FieldType.UNSIGNED),)


class ClientPromises:
    """Properties 3, 4, 8 and 9 as clients see them, and that reads are as fresh as they claim."""

    def __init__(
        self, books: ReferenceRecords, canon: ReferenceLog, *, lease_checked: bool
    ) -> None:
        self.floor = Position(Term(0), Index(0))
        """The newest entry that was answered to anybody as committed."""
        self.newest_shown = Position(Term(0), Index(0))
        """The newest position that a linearizable read or a lease read showed."""
        self.rolled_back: dict[tuple[int, int], str] = {}
        self.lost = 0
        self.rights = RightsRules(books, canon)
        """The properties of users' rights."""
        self.sessions = SessionRules(books, canon)
        """The properties of the numbers that clients give their writes."""
        self._books = books
        self.canon = canon
        self.lease_checked = lease_checked
        self._acked_in_term: dict[int, int] = {}
        self._established: dict[int, int] = {}
        self._receipts: dict[tuple[bytes, int], tuple[int, int]] = {}

    def forget(self, below: int) -> None:
        """Drop the answers about earlier entries: all are decided, and no client retries."""
        self.rolled_back = {at: why for at, why in self.rolled_back.items() if at[0] >= below}
        self._receipts = {asked: at for asked, at in self._receipts.items() if at[0] >= below}
        acked, newest = self._acked_in_term, max(self._acked_in_term, default=0)
        self._acked_in_term = {
            term: index for term, index in acked.items() if index >= below or term == newest
        }
        led = self._established
        self._established = {
            term: at for term, at in led.items() if at >= below or term == max(led)
        }

    def begin_anew(self, place: Position, generation: int) -> None:
        """The log of a survivor is the only log, up to there, regardless of earlier answers."""
        self.sessions.generation = generation
        self.floor = self.newest_shown = place
        shows = self.canon.shows
        self.rolled_back = {at: why for at, why in self.rolled_back.items() if not shows(*at)}
        self._acked_in_term.clear()
        self._established.clear()
        self._receipts.clear()

    # -- writes

    def settled(
        self,
        where: Where,
        request: tuple[bytes, int],
        settled: Settled,
        all_: Mapping[Replica, ReplicatedLog],
    ) -> None:
        """A definite outcome of a request is about to be answered."""
        index, term = settled.index, settled.term
        if settled.verdict is TransactionFate.COMMITTED:
            self._committed(where, request, index, term)
            return
        me = where[0]
        canon = self.canon
        known = index <= canon.last
        if settled.verdict is TransactionFate.ROLLED_BACK:
            decided = known and canon.terms[index] == term and canon.rolled_back[index]
        else:
            decided = known and canon.terms[index] != term
        properties.gone_for_good(me, (index, term), settled.verdict.value, decided=decided)
        if settled.verdict is TransactionFate.LOST:
            return  # an isolated node may have shown it, and may still show it
        self.rolled_back[index, term] = settled.verdict.value
        for each, replicated_log in all_.items():
            self._not_shown((each, replicated_log), index, term)

    def told_gone(self, request: tuple[bytes, int]) -> None:
        """Property 4: a client gets "not committed" only if no attempt can be confirmed."""
        for (index, term), place in self._books.places.items():
            if place.request == request and not place.refused:
                gone = self.canon.gone(index, term)
                properties.told_gone(request, (index, term), gone=gone)

    def told_compacted(self, request: tuple[bytes, int]) -> None:
        """Property 9: a client gets "unknown" for good; then the request was not refused."""
        for (index, term), place in self._books.places.items():
            if place.request == request and place.refused and self.canon.shows(index, term):
                raise PropertyViolation(
                    9, f"request {request[1]} was refused at {index}, and its client is not told so"
                )

    def _shows(self, replicated_log: ReplicatedLog, index: int, term: int) -> bool:
        """Whether that transaction is visible there. Trimmed entries are confirmed."""
        if index < replicated_log.log.start.index:
            return self.canon.shows(index, term)
        return properties.shows(replicated_log, index, term)

    def _not_shown(self, where: Where, index: int, term: int) -> None:
        me, replicated_log = where
        if self._shows(replicated_log, index, term):
            raise PropertyViolation(
                4, f"{index} of term {term} was answered as gone; node {me} shows it"
            )

    def _committed(
        self, where: Where, request: tuple[bytes, int], index: Index, term: Term
    ) -> None:
        me, replicated_log = where
        place = self._books.places.get((index, term))
        if place is None:
            raise PropertyViolation(3, f"node {me} committed {index} of term {term}, unheard of")
        seq = request[1]
        if seq and place.request != request:
            raise PropertyViolation(
                9, f"request {seq} is answered with {index}, which is of another request"
            )
        if (index, term) in self.rolled_back:
            raise PropertyViolation(
                4, f"{index} of term {term} is committed after it was {self.rolled_back}"
            )
        properties.committed_is_shown(me, (index, term), replicated_log)
        if place.sync:
            self._committed_for_good(me, index, term)
        if seq:
            self._receipt(request, (index, term))

    def _committed_for_good(self, me: Replica, index: Index, term: Term) -> None:
        canon = self.canon
        confirmed = index <= canon.last and canon.terms[index] == term
        confirmed = confirmed and not canon.rolled_back[index]
        properties.committed_is_confirmed(me, (index, term), confirmed=confirmed)
        for later, promoted_at in self._established.items():
            if later > term and promoted_at <= index:
                raise PropertyViolation(
                    3, f"{index} of term {term} is committed beyond the PROMOTE of {later}"
                )
        self._rise(Position(term, index))
        self._acked_in_term[term] = max(self._acked_in_term.get(term, 0), index)

    def _receipt(self, request: tuple[bytes, int], receipt: tuple[int, int]) -> None:
        """Only an asynchronous write can be lost and get a second receipt.

        The second may be of a synchronous entry: a retry that is refused is recorded as one.
        """
        before = self._receipts.get(request)
        if before is not None and before != receipt:
            if self._books.places[before].sync:
                raise PropertyViolation(
                    9, f"request {request[1]} has receipts {before} and {receipt}"
                )
            self.lost += 1
        self._receipts[request] = receipt

    def gone(self, index: int) -> None:
        """A confirmed ROLLBACK removed this entry."""
        term = self.canon.terms[index]
        if self._acked_in_term.get(term, 0) >= index and self._books.places[index, term].sync:
            request = self._books.places[index, term].request
            if self._receipts.get(request) == (index, term):
                raise PropertyViolation(
                    3, f"{index} of term {term} was committed, and is rolled back"
                )

    def shown(self, me: Replica, index: int, term: int) -> None:
        """Property 4: a write that was answered as not committed is never shown."""
        if (index, term) in self.rolled_back:
            properties.gone_is_hidden(me, (index, term), self.rolled_back[index, term])

    # -- leaders

    def leads(
        self, me: Replica, term: int, promoted_at: int, replicated_log: ReplicatedLog
    ) -> None:
        """Property 3, once for every leader whose PROMOTE is confirmed."""
        if term in self._established:
            return
        self._established[term] = promoted_at
        for before, index in self._acked_in_term.items():
            if before < term:
                has = index <= replicated_log.confirmed
                properties.leader_complete(me, term=term, has=has, index=index, of=before)

    # -- reads

    def served(self, where: Where, asked: ReadAsked, floor: Position) -> None:
        """A read is about to be answered; `floor` had been answered when it came."""
        me, replicated_log = where
        if asked.consistency is Consistency.AT_LEAST:
            place = Position(asked.term, asked.index)
            begins = replicated_log.log.start
            if 0 < asked.index < begins.index:
                if not self.canon.shows(asked.index, asked.term):
                    raise PropertyViolation(
                        3,
                        f"node {me}, trimmed to {begins.index}, serves at least {_at(place)}",
                    )
            elif asked.index and not properties.shows(replicated_log, asked.index, asked.term):
                raise PropertyViolation(
                    3, f"node {me} at {replicated_log.visible} serves a read at least {_at(place)}"
                )
        elif asked.consistency is Consistency.LINEARIZABLE or (
            asked.consistency is Consistency.LEASE and self.lease_checked
        ):
            properties.fresh(me, asked.consistency, replicated_log, floor)
            self._rise(
                Position(
                    replicated_log.log.term_at(replicated_log.confirmed), replicated_log.confirmed
                )
            )

    def row(self, seen: Position, place: tuple[int, int], row: bytes | None) -> None:
        """Property 8: a client was shown a row by a log up to there: what that log leaves there."""
        canon, (space, number) = self.canon, place
        if seen.index > canon.last or canon.terms[seen.index] != seen.term:
            return  # the outcome of all of it is not decided yet
        key: Key = (space, keys.encode(_KEY, (number,)))
        wanted = canon.row_at(key, seen.index)
        if row != wanted:
            text = f"at {_at(seen)} a client is shown {_show(row)} at {space}/{number}"
            raise PropertyViolation(8, f"{text}, not {_show(wanted)}")

    def in_order(self, seen: Position, before: Position) -> None:
        """A fresh read showed the log up to there, and an earlier one `before`.

        A term has one log, and fresh reads do not go back in it, on any node. A read that is at
        least as new as a local read may be ahead of them.
        """
        if seen.term == before.term and seen.index < before.index:
            text = f"a read shows {_at(seen)}, though {_at(before)} was shown before it was asked"
            raise PropertyViolation(3, text)
        self.newest_shown = max(self.newest_shown, seen)

    def saw(self, seen: Position, consistency: str, floor: Position) -> None:
        """A read showed the log up to there, and `floor` was answered before its request."""
        if not self._books.has(seen, floor):
            text = f"a {consistency} read shows {_at(seen)}"
            raise PropertyViolation(
                3, f"{text}, though {_at(floor)} was answered before it was asked"
            )
        canon = self.canon
        index = Index(min(seen.index, canon.last))
        confirmed = Position(Term(canon.terms[index]), index)
        if self._books.has(seen, confirmed):
            self._rise(confirmed)

    def showed(self, seen: Position, floor: Position) -> None:
        """A read showed the log up to there, and its request had the minimum `floor`."""
        canon = self.canon
        gone = floor.index <= canon.last and canon.rolled_back[floor.index]
        gone = gone and canon.terms[floor.index] == floor.term
        if gone or not self._books.has(seen, floor):
            raise PropertyViolation(3, f"a read at least {_at(floor)} shows {_at(seen)}")

    def _rise(self, place: Position) -> None:
        if place.index > self.floor.index:
            self.floor = place


def _at(place: Position) -> str:
    return f"{place.index} of term {place.term}"


def _show(row: object) -> str:
    return repr(cbor2.loads(row)) if isinstance(row, bytes) else repr(row)
