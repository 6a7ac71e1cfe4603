"""The reference log, up to the highest confirmed index of any node, and its rows.

Everything here is computed again from the entries, in the plainest way, to check the replicas: it
shares no code with the limbo or the overlay.
"""

from bisect import bisect_right, insort
from collections.abc import Container
from dataclasses import dataclass

from election.messages import Index, Position
from qsync.core.logindex import LogIndex
from qsync.core.replicated_log import ReplicatedLog
from qsync.data import body, keys
from qsync.data.schema import SPACE, TRUNCATE
from qsync.record import WAIT_ACK, Entry, EntryKind, read_ref

_ID = (keys.KeyPart(field=0, type=keys.FieldType.UNSIGNED),)

Key = tuple[int, bytes]
"""Space id and primary key bytes."""


class PropertyViolation(Exception):
    """A property of protocol.md section 9 does not hold."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(f"property {number}, {PROPERTIES[number]}: {text}")
        self.number = number


PROPERTIES = {
    0: "no internal error",
    1: "log matching",
    2: "state-machine safety",
    3: "leader completeness",
    4: "definite rollback",
    5: "one leader per term",
    6: "confirmed index is monotone",
    7: "quorum before confirm",
    8: "no pending data is readable",
    9: "exactly once",
    10: "fold equals replay",
    11: "liveness",
    12: "linearizability",
    13: "operators are answered",
    14: "quorums meet",
    15: "needed entries are not trimmed",
    16: "a superseded node does not act",
    17: "no effect without a right",
    18: "every node can read its entries",
    19: "stored state is bounded",
    20: "one history in a cluster",
    21: "no log for a node that is no member",
    22: "nothing for a caller that has gone",
}
"""The ten of protocol.md, and: no exception of our own code (0); a healed cluster comes to rest
(11); client histories are linearizable (12); operators get answers (13); any two quorums have a
common voter, also over changes of voters (14, membership.md); no node trims entries that are needed
(15); a superseded node is ignored (16, membership.md M8 e); no user has an effect without a right
that was confirmed before (17, security.md); no node receives an entry that its release cannot read
(18, protocol.md 7); the state of a node, besides the rows of its clients, does not grow with the
length of its life (19); a cluster recovered from one survivor has the survivor's whole log, terms
above all older ones, one voter at first, no peer and no client of the old cluster, and none of its
sessions (20, membership.md M8); a leader sends no entry to a node that is no member, and to a
removed one none behind its removal (21, membership.md M4 f); a client sends no read whose caller
has gone, no write of one that has no token, and no write by another token than its caller has (22).
"""


@dataclass(frozen=True, slots=True)
class KnownEntry:
    """An entry that some node had. At one `(index, term)` there is only one."""

    crc: int
    kind: int
    origin: int
    lsn: int
    sync: bool
    pending: bool
    request: tuple[bytes, int]
    keys: tuple[Key, ...]
    names: tuple[int, int]
    """Owner and lsn that a control entry names."""
    refused: bool
    """It records a refusal under the number of the request."""


class ReferenceRecords:
    """All entries that any replica ever had, by index and term, and their writes by key."""

    def __init__(self) -> None:
        self.places: dict[tuple[int, int], KnownEntry] = {}
        self.writes: dict[Key, list[tuple[int, int, bytes | None]]] = {}
        self._begins: dict[int, tuple[int, int]] = {}
        """For each term the index of its first entry, and the term of the entry before it."""

    def enter(self, me: int, entry: Entry, log: LogIndex) -> None:
        """Property 1: equal `(index, term)` means equal entry and, by the chain, equal prefix."""
        index, term, origin, lsn = entry.index, entry.term, entry.origin, entry.lsn
        kind, flags, crc = entry.kind, entry.flags, entry.crc
        known = self.places.get((index, term))
        if known is not None:
            if known.crc != crc:
                raise PropertyViolation(
                    1, f"node {me} has another entry at index {index} term {term}"
                )
            return
        if (index - 1, term) not in self.places:
            self._begins.setdefault(term, (index, log.term_at(Index(index - 1))))
        request, names = (b"", 0), (0, 0)
        keys: tuple[Key, ...] = ()
        refused = False
        if kind == EntryKind.TXN:
            parts = body.decode(entry.body)
            request = (parts[0], parts[1])
            refused = body.refusal(entry.body) is not None
            keys = tuple([(effect[0], effect[1]) for effect in parts[3]])
            for space, key, row in parts[3]:
                insort(self.writes.setdefault((space, key), []), (index, term, row), key=_place)
        else:
            ref = read_ref(entry)
            names = (int(ref.owner), int(ref.lsn))
        sync = kind == EntryKind.PROMOTE or (kind == EntryKind.TXN and bool(flags & WAIT_ACK))
        pending = kind == EntryKind.PROMOTE or (kind == EntryKind.TXN and flags != 0)
        self.places[index, term] = KnownEntry(
            crc, kind, origin, lsn, sync, pending, request, keys, names, refused
        )

    def forget(self, below: int, log: "ReferenceLog") -> None:
        """Keep only the rows of the entries before that one."""
        self.places = {place: known for place, known in self.places.items() if place[0] >= below}
        emptied = {space: log.emptied(space, below - 1) for space, _ in self.writes}
        kept: dict[Key, list[tuple[int, int, bytes | None]]] = {}
        for key, writes in self.writes.items():
            old = [each for each in writes if each[0] < below and log.shows(each[0], each[1])]
            left = [each for each in old[-1:] if each[0] >= emptied[key[0]]]
            kept[key] = [*left, *(each for each in writes if each[0] >= below)]
        self.writes = {key: writes for key, writes in kept.items() if writes}
        begins = sorted(self._begins.items(), key=lambda each: each[1][0])
        upto = [at for at, (_, (first, _)) in enumerate(begins) if first <= below]
        self._begins = dict(begins[upto[-1] if upto else 0 :])

    def keep_terms(self, terms: Container[int]) -> None:
        """No log has an entry of another term any more."""
        self._begins = {term: begins for term, begins in self._begins.items() if term in terms}

    def has(self, last: Position, place: Position) -> bool:
        """Whether the log whose last entry is `last` has that entry.

        A term has one leader, which only appends: entries of one term are in one log (Raft §5.3).
        """
        term: int = last.term
        while term in self._begins and self._begins[term][0] > place.index:
            term = self._begins[term][1]
        return place.index <= last.index and (not place.index or term == place.term)

    def expected(self, replicated_log: ReplicatedLog, key: Key, upto: int) -> bytes | None:
        """The value that a replica with visible index `upto` must show at `key`."""
        writes = self.writes.get(key, [])
        log, limbo = replicated_log.log, replicated_log.limbo
        for at in range(bisect_right(writes, (upto, 1 << 62), key=_place) - 1, -1, -1):
            index, term, row = writes[at]
            if index <= log.last and log.term_at(index) == term and limbo.stretch_at(index) is None:
                return row
        return None


class ReferenceLog:
    """Terms and outcomes of the longest known confirmed prefix. Lists are by index, from 1."""

    def __init__(self, books: ReferenceRecords) -> None:
        self.terms: list[int] = [0]
        self.rolled_back: list[bool] = [False]
        self._books = books
        self._index_of: dict[tuple[int, int], int] = {}
        self._stretches: list[tuple[int, int]] = []
        self._requests: dict[tuple[bytes, int], int] = {}
        self._shared = 0
        """Below it equal terms are one object: a long log has many entries but few terms.
        """

    @property
    def last(self) -> int:
        """The highest confirmed index of any node."""
        return len(self.terms) - 1

    def crc_at(self, index: int) -> int:
        """Chain checksum of the confirmed log."""
        return self._books.places[index, self.terms[index]].crc

    def out_of_stretch(self, index: int) -> int:
        """Return the index, or the one before the rolled-back range around it.

        Every entry before it is known.
        """
        ends = [first for first, record in self._stretches if first <= index < record]
        return min(ends) - 1 if ends else index

    def shows(self, index: int, term: int) -> bool:
        """Whether that entry is confirmed, and was not rolled back."""
        known = 0 < index <= self.last
        return known and self.terms[index] == term and not self.rolled_back[index]

    def gone(self, index: int, term: int) -> bool:
        """Whether that entry can never take effect: rolled back, or no later leader can have it."""
        if index > self.last:
            return self.terms[-1] > term
        return self.terms[index] != term or self.rolled_back[index]

    def begin_anew(self, log: LogIndex, upto: int) -> int:
        """Take that log, up to there, as the confirmed log.

        Returns the length of the common prefix with the earlier one, with equal outcomes.
        """
        stands: int = log.start.index
        last = min(self.last, upto)
        while stands < last and log.term_at(Index(stands + 1)) == self.terms[stands + 1]:
            stands += 1
        stands = self._out_of_stretches(log, stands, upto)
        self.end_at(stands)
        self.extend(log, upto)
        return stands

    def end_at(self, upto: int) -> None:
        """Drop everything after it; nothing there reaches back over it."""
        del self.terms[upto + 1 :], self.rolled_back[upto + 1 :]
        self._stretches = [each for each in self._stretches if each[1] <= upto]
        self._index_of = {name: index for name, index in self._index_of.items() if index <= upto}
        self._requests = {asked: index for asked, index in self._requests.items() if index <= upto}
        self._shared = min(self._shared, upto + 1)

    def _out_of_stretches(self, log: LogIndex, stands: int, upto: int) -> int:
        """Return the index, or the nearest lower one over which no ROLLBACK reaches back."""
        named = {name: index for name, index in self._index_of.items() if index <= stands}
        reaches = list(self._stretches)
        for index in range(stands + 1, upto + 1):
            place = self._books.places[index, log.term_at(Index(index))]
            named[place.origin, place.lsn] = index
            if place.kind == EntryKind.ROLLBACK and place.names in named:
                reaches.append((named[place.names], index))
        for first, record in sorted(reaches, key=lambda each: each[1], reverse=True):
            if first <= stands < record:
                stands = first - 1
        return stands

    def extend(self, log: LogIndex, upto: int) -> list[int]:
        """A node confirmed up to `upto`: the outcomes of all new entries follow from the log.

        Returns the new indexes that were rolled back.
        """
        first = self.last + 1
        queue: list[int] = []
        gone: list[int] = []
        for index in range(first, upto + 1):
            term = log.term_at(index)
            place = self._books.places[index, term]
            self.terms.append(term)
            self.rolled_back.append(False)
            self._index_of[place.origin, place.lsn] = index
            if place.pending:
                queue.append(index)
            elif place.kind == EntryKind.CONFIRM:
                queue = self._confirm(place, index, queue)
            elif place.kind == EntryKind.ROLLBACK:
                kept = self._roll_back(place, index, first, queue)
                self._stretches.append((self._index_of[place.names], index))
                gone += queue[len(kept) :]
                queue = kept
        for index in gone:
            self.rolled_back[index] = True
        for index in range(first, upto + 1):
            self._once(index)
        return gone

    def _confirm(self, place: KnownEntry, index: int, queue: list[int]) -> list[int]:
        named = self._index_of.get(place.names)
        if named is None:
            raise PropertyViolation(
                2, f"the CONFIRM at {index} names {place.names}, which is not there"
            )
        left = [each for each in queue if each > named]
        while left and not self._books.places[left[0], self.terms[left[0]]].sync:
            left.pop(0)
        return left

    def _roll_back(self, place: KnownEntry, index: int, first: int, queue: list[int]) -> list[int]:
        named = self._index_of.get(place.names)
        if named is None or named < first:
            raise PropertyViolation(
                2, f"the ROLLBACK at {index} is confirmed, but its first victim {named} was before"
            )
        for each in queue:
            if each >= named and self.terms[each] != self.terms[index]:
                raise PropertyViolation(
                    2, f"the ROLLBACK at {index} takes {each} of term {self.terms[each]}"
                )
        return [each for each in queue if each < named]

    def _once(self, index: int) -> None:
        """Property 9: a `(session, number)` takes effect at most once."""
        request = self._books.places[index, self.terms[index]].request
        if not request[1] or self.rolled_back[index]:
            return
        before = self._requests.setdefault(request, index)
        if before != index:
            raise PropertyViolation(
                9, f"request {request[1]} of {request[0].hex()} took effect at {before} and {index}"
            )

    def took_effect(self, request: tuple[bytes, int]) -> bool:
        """That numbered request is confirmed, and was not refused."""
        index = self._requests.get(request)
        return index is not None and not self._refused(index)

    def applied(self) -> dict[tuple[str, int], int]:
        """The index at which each numbered request took effect, by session (in hex) and number."""
        return {
            (session.hex(), seq): index
            for (session, seq), index in self._requests.items()
            if not self.rolled_back[index] and not self._refused(index)
        }

    def _refused(self, index: int) -> bool:
        known = self._books.places.get((index, self.terms[index]))
        return known is not None and known.refused

    def forget(self, below: int, remembered: Container[tuple[bytes, int]]) -> None:
        """Keep only the terms and outcomes of the entries before that one.

        Also keep the indexes of requests that may be retried, if they took effect.
        """
        self._requests = {
            request: index
            for request, index in self._requests.items()
            if index >= below or (request in remembered and not self._refused(index))
        }
        self._index_of = {name: index for name, index in self._index_of.items() if index >= below}
        self._stretches = [each for each in self._stretches if each[1] >= below]
        one: dict[int, int] = {}
        for index in range(self._shared, below):
            self.terms[index] = one.setdefault(self.terms[index], self.terms[index])
        self._shared = max(self._shared, below)

    def row_at(self, key: Key, upto: int, since: int = 0) -> bytes | None:
        """The value at `key` after a replay of the log up to `upto`, of writes from `since` on."""
        writes = self._books.writes.get(key, [])
        for at in range(bisect_right(writes, (upto, 1 << 62), key=_place) - 1, -1, -1):
            index, term, row = writes[at]
            if index < since:
                return None
            if self.terms[index] == term and not self.rolled_back[index]:
                return row
        return None

    def replay(self, space: int, upto: int) -> dict[bytes, bytes]:
        """The rows of a space after the log up to `upto`."""
        rows: dict[bytes, bytes] = {}
        since = self.emptied(space, upto)
        for key in self._books.writes:
            if key[0] == space:
                row = self.row_at(key, upto, since)
                if row is not None:
                    rows[key[1]] = row
        return rows

    def emptied(self, space: int, upto: int) -> int:
        """The index of the last entry that truncated or dropped the space."""
        name = keys.encode(_ID, (space,))
        for index, term, row in reversed(self._books.writes.get((TRUNCATE, name), ())):
            if row is not None and self._stands(index, term, upto):
                truncated = index
                break
        else:
            truncated = 0
        for index, term, row in reversed(self._books.writes.get((SPACE, name), ())):
            if row is None and self._stands(index, term, upto):
                return max(index, truncated)
        return truncated

    def _stands(self, index: int, term: int, upto: int) -> bool:
        return index <= upto and self.terms[index] == term and not self.rolled_back[index]


def _place(write: tuple[int, int] | tuple[int, int, bytes | None]) -> tuple[int, int]:
    return (write[0], write[1])
