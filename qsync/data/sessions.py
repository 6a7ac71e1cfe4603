"""Exactly once: which requests of which client sessions are in the log, and where.

Sessions are bookkeeping about the log, not data: they follow from the entries alone, rolled back
ones included. A request that was rolled back did happen, and a retry of it must learn so.

There are two tables. `head` has the whole log and answers retries. `folded` has the log up to the
folded index only; the rows of `_session` on disk are made from it, so they are a function of the
confirmed prefix and equal on all replicas.
"""

import struct
from collections.abc import Container, Generator, Iterable, Mapping

from election.messages import Index, Position, Term
from qsync.data import body, keys, tuples
from qsync.data.request import EXPIRED, NEW, STALE, KnownRequest, LoggedTransaction, Seen, Write
from qsync.data.schema import SESSION

_PREFIX = keys.prefix(SESSION, 0)
_OUTCOME = "BBQBQBQB"
_REFUSED = _OUTCOME + "H"
_ARRAY4, _U64, _FALSE, _TRUE, _U16, _U16_MAX = 0x84, 0x1B, 0xF4, 0xF5, 0x19, 0xFFFF
_ROW = b"\x84"


SEED_BYTES_MAX = 48
"""The prefix of an id that a client may choose."""
_PLACE = struct.Struct(">QQ")
PLACE_BYTES = _PLACE.size


def born(seed: bytes, at: Position) -> bytes:
    """The id of a session: what its client chose, and the place in the log of its opening.

    There is one entry at a place, so no id is opened twice. If a client chose all of it, a late
    copy of the opening would open the same id again after it has expired, and a late copy of a
    request would take effect a second time (protocol.md section 5).
    """
    return seed + _PLACE.pack(at.term, at.index)


def birthplace(name: bytes) -> Position:
    """The place in the log where a session was opened: the end of its id (see `born`)."""
    term, index = _PLACE.unpack(name[-PLACE_BYTES:])
    return Position(Term(term), Index(index))


Outcome = tuple[int, int, int]
"""Where a request is in the log: index, term; and what is known of its fate.

That is `IN_THE_LOG`, `ROLLED_BACK`, or the number of the error by which it was refused: the log
that says so may be trimmed.
"""
IN_THE_LOG, ROLLED_BACK = 0, -1


class Session:
    """One client session. `low`: requests below it are forgotten, by the client's own word."""

    __slots__ = ("low", "opened", "outcomes")

    def __init__(self, *, opened: int, low: int = 0) -> None:
        self.opened = opened
        self.low = low
        self.outcomes: dict[int, Outcome] = {}

    def forgets_below(self, low: int) -> bool:
        """Return whether an outcome is forgotten when requests below `low` are."""
        outcomes = self.outcomes
        if low - self.low <= len(outcomes):
            return any(seq in outcomes for seq in range(self.low, low))
        return any(seq < low for seq in outcomes)

    def record(self, seq: int, low: int, outcome: Outcome) -> None:
        """A request of this session is in the log."""
        if low > self.low:
            self._forget_below(low)
        self.outcomes[seq] = outcome

    def copy(self) -> "Session":
        """A copy that changes apart from this one."""
        twin = Session(opened=self.opened, low=self.low)
        twin.outcomes = dict(self.outcomes)
        return twin

    def _forget_below(self, low: int) -> None:
        outcomes = self.outcomes
        if low - self.low <= len(outcomes):
            for seq in range(self.low, low):
                outcomes.pop(seq, None)
        else:
            self.outcomes = {seq: one for seq, one in outcomes.items() if seq >= low}
        self.low = low


Table = dict[bytes, Session | None]
"""Sessions by id; None, in a plan only, for one that expires."""


class Sessions:
    """Both tables."""

    def __init__(self, rows: Iterable[bytes]) -> None:
        self.head: Table = {}
        self.folded: Table = {}
        for row in rows:
            name, session = _read(row)
            self.folded[name] = session
            self.head[name] = session.copy()

    def known_request(self, session: bytes, seq: int, rolled: Container[int]) -> Seen:
        """Return what is known of a request. `rolled`: indexes rolled back above the folded one."""
        if not session:
            return NEW
        known = self.head.get(session)
        if known is None:
            return EXPIRED
        outcome = known.outcomes.get(seq)
        if outcome is not None:
            index, term, fate = outcome
            gone = fate == ROLLED_BACK or index in rolled
            return KnownRequest(index, term, gone, max(fate, 0))
        return STALE if seq < known.low else NEW

    def record(self, txn: LoggedTransaction) -> None:
        """A transaction joined the log."""
        if txn.changes:
            _change(self.head, txn)
        known = self.head.get(txn.session)
        if known is not None:
            known.record(txn.seq, txn.low, (txn.index, txn.term, body.refused_by(txn.body)))
        if txn.changes:
            _sweep(self.head, txn)

    def cut(self, txns: Iterable[LoggedTransaction]) -> None:
        """Entries left the log; `txns` are those above the folded index that stay."""
        self.head = {name: one.copy() for name, one in self.folded.items() if one is not None}
        for txn in txns:
            self.record(txn)

    def planning(
        self, txns: list[LoggedTransaction], rolled: Container[int], *, step: int
    ) -> Generator[None, None, Table]:
        """The sessions that these transactions change, as they are afterwards.

        So many transactions a step. What a later one forgets again is not recorded before.
        """
        after: Table = {}
        lows: dict[bytes, int] = {}
        for at in range(0, len(txns), step):
            self._copy_changed(txns[at : at + step], after, lows)
            if len(txns) > step:
                yield
        for at in range(0, len(txns), step):
            for txn in txns[at : at + step]:
                if txn.changes:
                    _change(after, txn)
                known, low = after.get(txn.session), lows.get(txn.session, 0)
                if known is not None and txn.seq >= low:
                    fate = ROLLED_BACK if txn.index in rolled else body.refused_by(txn.body)
                    known.record(txn.seq, low, (txn.index, txn.term, fate))
            if at + step < len(txns):
                yield
        return {name: s for name, s in after.items() if s is not None or name in self.folded}

    def _copy_changed(
        self, txns: list[LoggedTransaction], after: Table, lows: dict[bytes, int]
    ) -> None:
        """Add the sessions that these change, as they were, and what each forgets at the end."""
        for txn in txns:
            name, low = txn.session, txn.low
            if name:
                self._copy(name, after)
                if low > lows.get(name, 0):
                    lows[name] = low
            for change in txn.changes:
                self._copy(change.session, after)

    def _copy(self, name: bytes, after: Table) -> None:
        if name not in after:
            known = self.folded.get(name)
            after[name] = None if known is None else known.copy()

    def folded_to(self, after: Mapping[bytes, Session | None]) -> None:
        """The planned sessions are in the store."""
        for name, session in after.items():
            if session is None:
                self.folded.pop(name, None)
            else:
                self.folded[name] = session

    def settle_rolled(self, txn: LoggedTransaction) -> None:
        """A rolled back transaction was folded: from now on the outcome itself says so."""
        known = self.head.get(txn.session)
        if known is not None and txn.seq in known.outcomes:
            index, term, _ = known.outcomes[txn.seq]
            if index == txn.index:
                known.outcomes[txn.seq] = (index, term, ROLLED_BACK)


def key_of(name: bytes) -> bytes:
    """Primary key of a row of `_session`."""
    return keys.ENCODERS[keys.FieldType.VARBINARY](name)


def name_of(key: bytes) -> bytes:
    """The session that a primary key of `_session` belongs to."""
    return key[1:-1].replace(b"\0\xff", b"\0")


def write(name: bytes, session: Session | None) -> Write:
    """A row of `_session`, as it is stored."""
    return _PREFIX + key_of(name), None if session is None else _row(name, session)


def _change(table: Table, txn: LoggedTransaction) -> None:
    """Sessions that the transaction opens, and None for those that it expires."""
    for name, opened in txn.changes:
        if not opened:
            table[name] = None
        elif table.get(name) is None:
            table[name] = Session(opened=txn.index)


def _sweep(table: Table, txn: LoggedTransaction) -> None:
    for name, _ in txn.changes:
        if table.get(name) is None:
            table.pop(name, None)  # one transaction may change a session more than once


def _row(name: bytes, session: Session) -> bytes:
    """`[id, low, opened, [[seq, index, term, fate], ...]]`, fixed-width for speed.

    A fate is false, true where it was rolled back, or the number of the error that refused it:
    releases that knew no such number take one for true, which says as well that nothing was done.
    """
    outcomes = session.outcomes
    flat: list[int] = []
    sizes = [">"]
    for seq, (index, term, fate) in outcomes.items():
        flat += (_ARRAY4, _U64, seq, _U64, index, _U64, term)
        if fate <= 0:
            flat.append(_TRUE if fate == ROLLED_BACK else _FALSE)
        else:
            flat += (_U16, min(fate, _U16_MAX))  # numbers of errors are small
        sizes.append(_OUTCOME if fate <= 0 else _REFUSED)
    packed = struct.pack("".join(sizes), *flat)
    return b"".join((
        _ROW, body.text(name), body.uint(session.low), body.uint(session.opened),
        body.array(len(outcomes)), packed,
    ))  # fmt: skip


def _read(row: bytes) -> tuple[bytes, Session]:
    name, low, opened, outcomes = tuples.stored(row)
    assert isinstance(name, bytes)
    assert isinstance(low, int)
    assert isinstance(opened, int)
    assert isinstance(outcomes, list)
    session = Session(opened=opened, low=low)
    session.outcomes = {seq: (index, term, _fate(known)) for seq, index, term, known in outcomes}
    return name, session


def _fate(known: object) -> int:
    if known is True:
        return ROLLED_BACK
    assert isinstance(known, int)
    return int(known)
