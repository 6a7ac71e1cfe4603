"""A transaction being made: its writes over a view, with indexes and schema kept in step."""

from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from election.messages import Position
from qsync.data import keys, schema, tuples
from qsync.data.body import Effect
from qsync.data.indexes import Index
from qsync.data.keys import Misfit
from qsync.data.overlay import Row, merge
from qsync.data.request import SessionChange, Write, too_large
from qsync.data.schema import Schema, SpaceDefinition
from qsync.errors import Damaged

SCHEMA_CHANGES_MAX: Final = 256
"""How often one transaction may change spaces, indexes, sequences, users, grants, or truncate.

All definitions are read again each time, or all rows of a space looked at, and nothing else is done
meanwhile: heartbeats neither.
"""


class Readable(Protocol):
    """Physical keys and values: a View, or a Draft over one."""

    def get(self, key: bytes) -> bytes | None:
        """The value of a physical key."""

    def scan(self, lo: bytes, hi: bytes, *, reverse: bool = False) -> Iterator[Row]:
        """Rows with `lo <= key < hi`."""


class TransactionOrigin(NamedTuple):
    """Where a transaction comes from: what it makes may carry that.

    `user`: who asks; None is the node itself. `at`: the place in the log that the transaction will
    have; None if it is not for the log.
    """

    user: str | None = None
    at: Position | None = None


_NOWHERE: Final = TransactionOrigin()


class EffectDraft:
    """Collects effects (what the log will say) and writes (what they do to physical keys).

    `put` serves execution and checks; `replay` serves effects that come from the log and trusts.
    """

    def __init__(
        self, view: Readable, shape: Schema, *, origin: TransactionOrigin = _NOWHERE
    ) -> None:
        self.origin = origin
        self.schema_changed = False
        self.effects: list[Effect] = []
        self.changes: list[SessionChange] = []
        self.sync = False
        self.put_bytes = 0
        """Of all tuples that were put, those included that were replaced again."""
        self._schema = shape
        self._stale = False
        """Settings or rights have changed since `_schema` was read; its spaces are right."""
        self._changes_left: int | None = SCHEMA_CHANGES_MAX
        """None: it comes from the log, where it was judged."""
        self._view = view
        self._writes: dict[bytes, bytes | None] = {}
        self._places: dict[bytes, int] = {}

    @property
    def schema(self) -> Schema:
        """Spaces, settings and rights, as the transaction leaves them so far."""
        if self._stale:
            self._load_schema()
        return self._schema

    def space(self, ref: object) -> SpaceDefinition:
        """A space. Does not read settings and rights anew, which may be many rows."""
        return self._schema.space(ref)

    @property
    def writes(self) -> list[Write]:
        """One write for each key, in the order of the first."""
        return list(self._writes.items())

    def get(self, key: bytes) -> bytes | None:
        """The value of a physical key, own writes first."""
        if key in self._writes:
            return self._writes[key]
        return self._view.get(key)

    def scan(self, lo: bytes, hi: bytes, *, reverse: bool = False) -> Iterator[Row]:
        """Rows with `lo <= key < hi`, own writes included."""
        own = sorted([key for key in self._writes if lo <= key < hi], reverse=reverse)
        upper = [(key, self._writes[key]) for key in own]
        return merge(upper, self._view.scan(lo, hi, reverse=reverse), reverse=reverse)

    def put(self, space: SpaceDefinition, key: bytes, old: bytes | None, new: bytes | None) -> None:
        """Make `new` the tuple at the physical primary key; `old` is there now. None deletes."""
        self.sync = self.sync or space.sync
        if len(key) > keys.KEY_BYTES_MAX:
            what = f'space "{space.name}": a key'
            raise too_large(what, "KEY_BYTES_MAX", keys.KEY_BYTES_MAX)
        primary_key = key[5:]
        self.put_bytes += 0 if new is None else len(new)
        place = self._places.get(key)
        if place is None:
            self._places[key] = len(self.effects)
            self.effects.append([space.id, primary_key, new])
        else:
            self.effects[place][2] = new
        self._writes[key] = new
        if space.secondary:
            self._derive(space, primary_key, old, new, trusted=False)
        if space.id in schema.DDL_SPACES:
            # Later operations must stay after the schema change in the log.
            self._places.clear()
            self._change_schema(space.id, old, new, trusted=False)

    def change_session(self, session: bytes, key: bytes, row: bytes | None) -> None:
        """Open (with a row) or expire a session.

        That alone waits for no quorum, though it goes into a system space. A request of the session
        is behind its opening in the log, so where the request is confirmed the opening is; and
        where an opening was cut so were its requests, and the next leader refuses late copies of
        them. So what a session promises holds, and asynchronous spaces need no quorum.
        """
        self.effects.append([schema.SESSION, key, row])
        self.changes.append(SessionChange(session, opened=row is not None))

    def replay(self, space_id: int, primary_key: bytes, new: bytes | None) -> None:
        """Apply an entry of the log. Raises Damaged if it does not follow from what is there."""
        self._changes_left = None
        prefix = self._schema.plain.get(space_id)
        if prefix is not None:
            self._writes[prefix + primary_key] = new
            return
        space = self._schema.find(space_id)
        if space is None:
            raise Damaged(f"the log writes to space {space_id}, which is not there")
        key = space.primary.prefix + primary_key
        old = None
        if space.secondary or space_id in schema.DDL_SPACES:
            old = self.get(key)
        self._writes[key] = new
        self._derive(space, primary_key, old, new, trusted=True)
        if space_id in schema.DDL_SPACES:
            self._change_schema(space_id, old, new, trusted=True)

    def _build(self, space: SpaceDefinition, index: Index, *, trusted: bool) -> None:
        """Fill a new secondary index from the tuples of the space."""
        primary = space.primary
        for key, data in list(self.scan(primary.prefix, primary.end)):
            fields = tuples.stored(data)
            entry = self._locate(space, index, fields, key[5:])
            self._enter(space, index, entry, key[5:], fields=fields, trusted=trusted)

    def erase(self, lo: bytes, hi: bytes) -> None:
        """Delete a range of physical keys without an effect: it follows from another one."""
        for key, _ in list(self.scan(lo, hi)):
            self._writes[key] = None

    def _derive(
        self,
        space: SpaceDefinition,
        primary_key: bytes,
        old: bytes | None,
        new: bytes | None,
        *,
        trusted: bool,
    ) -> None:
        """Move the entries of the secondary indexes."""
        before = None if old is None else tuples.stored(old)
        after = None if new is None else tuples.stored(new)
        for index in space.secondary:
            gone = None if before is None else index.locate(before, primary_key)
            come = None if after is None else self._locate(space, index, after, primary_key)
            if come == gone:
                continue
            if after is not None and come is not None:
                self._enter(space, index, come, primary_key, fields=after, trusted=trusted)
            # Within one entry of the log another tuple may have taken the place meanwhile.
            if gone is not None and self.get(gone) == primary_key:
                self._writes[gone] = None

    def _locate(
        self, space: SpaceDefinition, index: Index, fields: list[object], primary_key: bytes
    ) -> bytes:
        try:
            return index.locate(fields, primary_key)
        except Misfit as error:
            raise index.misfit(space.name, error) from error

    def _enter(
        self,
        space: SpaceDefinition,
        index: Index,
        key: bytes,
        primary_key: bytes,
        *,
        fields: list[object],
        trusted: bool,
    ) -> None:
        """Add the entry of a tuple to a secondary index."""
        if not trusted:
            if len(key) > keys.KEY_BYTES_MAX:
                what = f'space "{space.name}", index "{index.name}": a key'
                raise too_large(what, "KEY_BYTES_MAX", keys.KEY_BYTES_MAX)
            if self.get(key) not in (None, primary_key):
                raise index.taken(space.name, fields)
        self._writes[key] = primary_key

    def _change_schema(
        self, space_id: int, old: bytes | None, new: bytes | None, *, trusted: bool
    ) -> None:
        """A row of one of the schema's spaces was written: do what follows from it."""
        if space_id in schema.SCHEMA_ONLY:
            self._stale = self.schema_changed = True
            return
        data = old if new is None else new
        if data is None:
            raise Damaged(f"the log deletes a row of space {space_id} that is not there")
        row = tuples.stored(data)
        number = row[0]
        assert isinstance(number, int)
        if space_id == schema.INDEX and new is None:
            iid = row[1]
            assert isinstance(iid, int)
            self.erase(keys.prefix(number, iid), keys.prefix(number, iid + 1))
        elif space_id == schema.TRUNCATE or (space_id == schema.SPACE and new is None):
            self.erase(*keys.space_range(number))
        if space_id == schema.TRUNCATE:
            self.count_change()
            return
        self._load_schema()
        self.schema_changed = True
        if space_id == schema.INDEX and new is not None and row[1] != 0:
            space = self._schema.space(number)
            self._build(space, space.index(row[1]), trusted=trusted)

    def _load_schema(self) -> None:
        """Read the schema from its rows, which takes long where there are many."""
        self.count_change()
        self._schema, self._stale = schema.load(self.scan), False

    def count_change(self) -> None:
        """Count what looks at much that is there. Raises TooLarge for one too many."""
        if self._changes_left is None:
            return
        self._changes_left -= 1
        if self._changes_left < 0:
            what, limit = "a transaction", "SCHEMA_CHANGES_MAX"
            raise too_large(what, limit, SCHEMA_CHANGES_MAX, unit="changes of the schema")
