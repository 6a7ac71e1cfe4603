"""Reading tuples through any index: get, select in both directions, count; long ones in slices."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from qsync.data import tuples
from qsync.data.draft import Readable
from qsync.data.execute import find
from qsync.data.indexes import Index
from qsync.data.keys import ABOVE, Misfit
from qsync.data.operation_kinds import ReadKind
from qsync.data.schema import Schema, SpaceDefinition
from qsync.errors import WrongKey, WrongTuple

BACKWARD = frozenset({"req", "lt", "le"})
ITERATORS = frozenset({"eq", "gt", "ge", "all"}) | BACKWARD

SLICE_BYTES: Final = 512 << 10
"""A slice of a scan ends behind so much, however few rows that are."""
_ENDLESS: Final = sys.maxsize

Value = object
"""The client's arguments; they are validated at their use."""


@dataclass(frozen=True, slots=True)
class Query:
    """A select. `after` is a tuple of the space: go on behind it."""

    space: Value
    index: Value = None
    iterator: Value = "eq"
    key: Value = ()
    limit: int | None = None
    offset: int = 0
    after: bytes | None = None


def get(
    reader: Readable, shape: Schema, space_ref: object, index: object, key: object
) -> bytes | None:
    """The tuple that a whole key of a unique index names."""
    space = shape.space(space_ref)
    found = find(reader, space, space.index(index), key)
    return None if found is None else found[1]


class Scan:
    """Tuples in index order (backwards for lt, le, req), or how many, slice by slice.

    A slice begins behind the last key of the one before. What the store holds may be newer then, so
    the index of the reader has to be pinned until all is read: nothing above it is folded.
    """

    __slots__ = (
        *("_hi", "_keeps", "_left", "_lo", "_prefix", "_reader", "_reverse", "_skip"),
        *("rows", "size", "total"),
    )

    def __init__(self, reader: Readable, shape: Schema, query: Query, *, keeps: bool) -> None:
        """`keeps`: the tuples are wanted, not only their number. Raises what makes no sense."""
        space = shape.space(query.space)
        index = space.index(query.index)
        self._reader = reader
        self._keeps = keeps
        self._prefix = None if index.id == 0 else space.primary.prefix
        """The parts of the primary key that a secondary index refers to."""
        self._lo, self._hi, self._reverse = _range(space, index, query)
        # Clients may ask for more than Python can count to.
        self._skip = min(query.offset, sys.maxsize)
        self._left = sys.maxsize if query.limit is None else min(query.limit, sys.maxsize)
        if self._skip < 0 or self._left < 0:
            raise WrongKey("limit and offset cannot be negative")
        self.rows: list[bytes] = []
        """The tuples found so far, if they are wanted."""
        self.total = 0
        """How many were found so far."""
        self.size = 0
        """Bytes of `rows`."""

    def read(self, rows_max: int = _ENDLESS) -> bool:
        """Read one slice: at most this many rows, or `SLICE_BYTES`; true at the end."""
        wanted = min(rows_max, self._skip + self._left, _ENDLESS)
        if wanted <= 0 or self._lo >= self._hi:
            return True
        looked, room, last = 0, SLICE_BYTES, b""
        run = self._reader.scan(self._lo, self._hi, reverse=self._reverse)
        for key, value in islice(run, wanted):
            looked, last = looked + 1, key
            room -= len(value)
            if self._skip:
                self._skip -= 1
            else:
                self._left -= 1
                self.total += 1
                if self._keeps:
                    row = self._tuple(value)
                    room -= len(row)
                    self.size += len(row)
                    self.rows.append(row)
            if room <= 0:
                break
        if looked < wanted and room > 0:
            return True
        if self._reverse:
            self._hi = last
        else:
            self._lo = last + b"\0"
        return not self._skip + self._left

    def _tuple(self, value: bytes) -> bytes:
        if self._prefix is None:
            return value
        row = self._reader.get(self._prefix + value)
        assert row is not None
        return row


def select(reader: Readable, shape: Schema, query: Query) -> list[bytes]:
    """Tuples in index order (backwards for lt, le, req)."""
    scan = Scan(reader, shape, query, keeps=True)
    while not scan.read():
        pass
    return scan.rows


def count(reader: Readable, shape: Schema, query: Query) -> int:
    """Return how many tuples select would return."""
    scan = Scan(reader, shape, query, keeps=False)
    while not scan.read():
        pass
    return scan.total


def bounds(index: Index, iterator: object, key: object) -> tuple[bytes, bytes]:
    """The range of physical keys that an iterator covers."""
    word = iterator.lower() if isinstance(iterator, str) else ""
    if word not in ITERATORS:
        raise WrongKey(f"there is no iterator {iterator!r}; known: {', '.join(sorted(ITERATORS))}")
    if key is not None and not isinstance(key, list | tuple):
        raise WrongKey(f'index "{index.name}": a key is an array of its parts')
    if word == "all" or not key:
        return index.prefix, index.end
    first = index.key(key)
    match word:
        case "ge":
            return first, index.end
        case "gt":
            return first + ABOVE, index.end
        case "le":
            return index.prefix, first + ABOVE
        case "lt":
            return index.prefix, first
        case _:
            return first, first + ABOVE


def _range(space: SpaceDefinition, index: Index, query: Query) -> tuple[bytes, bytes, bool]:
    """The physical keys to look at, and whether backwards."""
    lo, hi = bounds(index, query.iterator, query.key)
    reverse = str(query.iterator).lower() in BACKWARD
    if query.after is not None:
        place = _position(space, index, query.after)
        if reverse:
            hi = min(hi, place)
        else:
            lo = max(lo, place + b"\0")
    return lo, hi, reverse


def _position(space: SpaceDefinition, index: Index, after: bytes) -> bytes:
    fields = tuples.decode(after)
    try:
        primary_key = space.primary.extract(fields)
        if index.id == 0:
            return index.prefix + primary_key
        return index.locate(fields, primary_key)
    except Misfit as error:
        raise WrongTuple(f'"after" is not a tuple of space "{space.name}": {error}') from error


def read_range(
    shape: Schema, read: Sequence[object]
) -> tuple[SpaceDefinition, Index, bytes, bytes]:
    """Return what a read covers: `[KEY, space, index, key]` or `[RANGE, space, index, ...]`."""
    match read:
        case [ReadKind.KEY, space_ref, index_ref, key]:
            iterator: object = "eq"
        case [ReadKind.RANGE, space_ref, index_ref, iterator, key]:
            pass
        case _:
            raise WrongKey(f"{read!r} is not a read")
    space = shape.space(space_ref)
    index = space.index(index_ref)
    return space, index, *bounds(index, iterator, key)
