"""The log above the folded index as versions: appended, seen, rolled back, cut, folded."""

from collections import deque
from collections.abc import Generator, Sequence

from election.messages import Index
from qsync.data import body, schema, sessions
from qsync.data.body import Body
from qsync.data.conflicts import Footprints
from qsync.data.draft import EffectDraft
from qsync.data.fold import Fold, at_once, plan
from qsync.data.memtable import Memtable
from qsync.data.overlay import Backing, Overlay, OverlayLimits, VersionView
from qsync.data.request import ExecutedTransaction, LoggedTransaction, Seen, SessionChange, Write
from qsync.data.schema import Schema
from qsync.data.sessions import Sessions
from qsync.errors import QsyncError, Rebuilding
from qsync.record import HEADER_SIZE, Entry, EntryKind

_TXN = int(EntryKind.TXN)


class Schemas:
    """The schema at the head of the log and the one that readers see."""

    def __init__(self, folded: Schema, index: int) -> None:
        self.head = folded
        self.shown = folded
        self._shown_from = index
        self._ahead: deque[tuple[int, Schema]] = deque()

    def change(self, index: int, after: Schema) -> None:
        """The newest entry changes the schema."""
        self.head = after
        self._ahead.append((index, after))

    def see(self, visible: int) -> None:
        """Entries up to `visible` can be read."""
        ahead = self._ahead
        while ahead and ahead[0][0] <= visible:
            self._shown_from, self.shown = ahead.popleft()

    def rewind(self, first: int, view: VersionView) -> None:
        """Entries from `first` on were taken back; `view` is what is left."""
        if not self._ahead and self._shown_from < first:
            return
        while self._ahead and self._ahead[-1][0] >= first:
            self._ahead.pop()
        self.head = schema.load(view.scan)
        if self._shown_from >= first:
            assert not self._ahead
            self.shown, self._shown_from = self.head, first - 1


class Pins:
    """Indexes at which reads are in progress. Nothing above the lowest is folded."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def pin(self, index: int) -> None:
        """Begin to read at an index."""
        self._counts[index] = self._counts.get(index, 0) + 1

    def unpin(self, index: int) -> None:
        """Done reading at an index."""
        self._counts[index] -= 1
        if not self._counts[index]:
            del self._counts[index]

    def lowest(self, upto: int) -> int:
        """The given index, or the lowest pin if that is below."""
        return min(upto, min(self._counts, default=upto))


class UnfoldedHistory:
    """Everything about the log above the folded index that the spaces need.

    Reads see versions up to `visible`. A leader's `applied` and a follower's `apply` put the same
    versions; `fold` says what to store, `folded_to` drops it from memory when that is done.
    """

    def __init__(
        self, backing: Backing, *, folded: Index, memory: OverlayLimits | None = None
    ) -> None:
        self.backing = backing
        self.folded = folded
        self.visible = folded
        self.head = folded
        self.overlay = Overlay(memory)
        self.pins = Pins()
        self.schemas = Schemas(schema.load(backing.scan), folded)
        self.sessions = Sessions(row for _, row in backing.scan(*schema.keys_of(schema.SESSION)))
        self.footprints = Footprints(folded)
        self.rewinds = 0
        """How often something that could be read was taken back: a pinned index is another then."""
        self._rolled: dict[int, LoggedTransaction] = {}

    @property
    def overlay_rows(self) -> int:
        """Versions in memory."""
        return self.overlay.rows

    @property
    def overlay_bytes(self) -> int:
        """Weight of the versions in memory: keys and tuples."""
        return self.overlay.weight

    def applied(self, index: int, term: int, executed: ExecutedTransaction) -> None:
        """The entry that was executed here was appended to the log."""
        self._add(
            LoggedTransaction(
                index,
                term,
                session=executed.session,
                seq=executed.seq,
                low=executed.low,
                changes=executed.changes,
                body=executed.body,
                writes=executed.writes,
                schema=executed.schema,
            )
        )

    def apply(self, entries: Sequence[Entry]) -> None:
        """Entries that were executed elsewhere (or before a restart) were appended to the log."""
        txns = [entry for entry in entries if entry.kind == _TXN]
        if not txns:
            return
        bodies = [entry.raw[HEADER_SIZE:] for entry in txns]
        for entry, text, parts in zip(txns, bodies, body.decode_all(bodies), strict=True):
            self._add(self._read(entry.index, entry.term, text, parts))

    def roll_back(self, first: Index, last: Index) -> None:
        """The entries `first..last` have no effect (any more)."""
        taken = self._take_from(first)
        for txn in taken:
            if txn.index <= last:
                self._rolled[txn.index] = txn
        self._put_again(taken)

    def restore(self, first: Index, last: Index) -> None:
        """The entries `first..last` were rolled back by a record of no say: they have effect."""
        # They may be pending again: `see` says next what is visible.
        taken = self._take_from(first)
        for txn in taken:
            if txn.index <= last:
                self._rolled.pop(txn.index, None)
        self._put_again(taken)

    def cut(self, above: Index) -> None:
        """Cut the log: everything above an index is gone."""
        assert above >= self.folded
        self.head = min(self.head, above)
        taken = self._take_from(above + 1)
        if not taken:
            return
        for txn in taken:
            self._rolled.pop(txn.index, None)
        self.sessions.cut(self.overlay.unfolded())

    def see(self, visible: Index) -> None:
        """Make everything visible up to this index that is not rolled back."""
        assert visible >= self.visible
        self.visible = visible
        self.schemas.see(visible)

    def fold(self, upto: Index, rows_max: int) -> Fold:
        """Return what to store next: a slice of what is at or below the confirmed index `upto`."""
        return at_once(self.folding(upto, rows_max))

    def folding(self, upto: Index, rows_max: int) -> Generator[None, None, Fold]:
        """Return the same in steps. Meanwhile what is above `upto` may come and go."""
        assert upto <= self.visible
        return plan(
            self.overlay.unfolded(),
            upto=max(self.folded, self.pins.lowest(upto)),
            rows_max=rows_max,
            known=self.sessions,
            rolled=self._rolled,
        )

    def folded_to(self, done: Fold) -> list[Memtable]:
        """The store has the slice; the memtables that are not needed any more."""
        assert done.folded >= self.folded
        for index in [index for index in self._rolled if index <= done.folded]:
            self.sessions.settle_rolled(self._rolled.pop(index))
        dropped = self.overlay.fold(done.txns, done.rows)
        self.sessions.folded_to(done.sessions)
        self.footprints.remember(done.folded, done.keys)
        self.folded = done.folded
        return dropped

    def known_request(self, session: bytes, seq: int) -> Seen:
        """Return what is known of a request, pending ones included."""
        return self.sessions.known_request(session, seq, self._rolled)

    def view(self, at: int | None) -> VersionView:
        """Return the view at an index; at the head for None."""
        return VersionView(self.overlay, self.backing, at)

    def _add(self, txn: LoggedTransaction) -> None:
        """The one place where the history grows."""
        index = txn.index
        assert index > self.head
        self.head = Index(index)
        self.overlay.put(txn)
        self.sessions.record(txn)
        if txn.schema is not None:
            self.schemas.change(index, txn.schema)

    def _read(self, index: int, term: int, text: bytes, parts: Body) -> LoggedTransaction:
        """A transaction from its body: effects become writes to physical keys."""
        effects = parts[3]
        if len(effects) == 1:
            ((space, key, row),) = effects
            prefix = self.schemas.head.plain.get(space)
            if prefix is not None:
                writes: list[Write] = [(prefix + key, row)]
                return LoggedTransaction(
                    index,
                    term,
                    session=parts[0],
                    seq=parts[1],
                    low=parts[2],
                    changes=(),
                    body=text,
                    writes=writes,
                    schema=None,
                )
        session, seq, low = parts[:3]
        changes = tuple(
            SessionChange(sessions.name_of(key), opened=row is not None)
            for space, key, row in effects
            if space == schema.SESSION
        )
        draft = EffectDraft(self.view(None), self.schemas.head)
        damage, after = "", None
        try:
            for space, key, row in effects:
                if space != schema.SESSION:
                    draft.replay(space, key, row)
            if draft.schema_changed:
                after = draft.schema
        except Rebuilding:
            raise  # nothing is wrong with the entry
        except QsyncError as error:
            # It was executed without an entry whose rollback we have not heard of yet, or after
            # one of no say: what is before it will change, or it will be cut.
            damage = f"entry {index}: {error.message}"
        return LoggedTransaction(
            index,
            term,
            session=session,
            seq=seq,
            low=low,
            changes=changes,
            body=text,
            writes=[] if damage else draft.writes,
            schema=None if damage else after,
            damage=damage,
        )

    def _take_from(self, first: int) -> list[LoggedTransaction]:
        """Take back the versions of all entries from `first` on; these entries, oldest first."""
        if first <= self.visible:
            self.visible = Index(first - 1)
            self.rewinds += 1
        taken: list[LoggedTransaction] = []
        while (last := self.overlay.last()) is not None and last.index >= first:
            taken.append(self.overlay.undo())
        if any(txn.schema is not None for txn in taken):
            self.schemas.rewind(first, self.view(None))
        taken.reverse()
        return taken

    def _put_again(self, taken: Sequence[LoggedTransaction]) -> None:
        """Derive the writes again: their base has changed. Sessions are unchanged."""
        for txn in taken:
            if txn.index in self._rolled:
                txn.writes, txn.schema, txn.damage = [], None, ""
            else:
                (parts,) = body.decode_all([txn.body])
                again = self._read(txn.index, txn.term, txn.body, parts)
                txn.writes, txn.schema, txn.damage = again.writes, again.schema, again.damage
            self.overlay.put(txn)
            if txn.schema is not None:
                self.schemas.change(txn.index, txn.schema)
        self.schemas.see(self.visible)
