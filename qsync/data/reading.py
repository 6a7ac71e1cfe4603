"""Reading tuples through any index: get, select in both directions, count."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from qsync.data import tuples
from qsync.data.draft import Readable
from qsync.data.execute import find
from qsync.data.keys import ABOVE, Misfit
from qsync.data.request import ReadKind
from qsync.data.schema import Index, Schema, SpaceDefinition
from qsync.errors import WrongKey, WrongTuple

BACKWARD = frozenset({"req", "lt", "le"})
ITERATORS = frozenset({"eq", "gt", "ge", "all"}) | BACKWARD

Value = object
"""What a client sent; it is judged when it is used."""


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


def select(reader: Readable, shape: Schema, query: Query) -> list[bytes]:
    """Tuples in index order (backwards for lt, le, req)."""
    space, index, run = _run(reader, shape, query)
    found = _page(run, query)
    if index.id == 0:
        return [row for _, row in found]
    prefix = space.primary.prefix
    rows = [reader.get(prefix + key) for _, key in found]
    assert None not in rows
    return rows  # type: ignore[return-value]  # asserted just above


def count(reader: Readable, shape: Schema, query: Query) -> int:
    """How many tuples select would return."""
    _, _, run = _run(reader, shape, query)
    return sum(1 for _ in _page(run, query))


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


def _run(
    reader: Readable, shape: Schema, query: Query
) -> tuple[SpaceDefinition, Index, Iterator[tuple[bytes, bytes]]]:
    space = shape.space(query.space)
    index = space.index(query.index)
    lo, hi = bounds(index, query.iterator, query.key)
    reverse = str(query.iterator).lower() in BACKWARD
    if query.after is not None:
        place = _position(space, index, query.after)
        if reverse:
            hi = min(hi, place)
        else:
            lo = max(lo, place + b"\0")
    if lo >= hi:
        return space, index, iter(())
    return space, index, reader.scan(lo, hi, reverse=reverse)


def _position(space: SpaceDefinition, index: Index, after: bytes) -> bytes:
    fields = tuples.decode(after)
    try:
        primary_key = space.primary.extract(fields)
        if index.id == 0:
            return index.prefix + primary_key
        return index.locate(fields, primary_key)
    except Misfit as error:
        raise WrongTuple(f'"after" is not a tuple of space "{space.name}": {error}') from error


def _page(run: Iterator[tuple[bytes, bytes]], query: Query) -> Iterator[tuple[bytes, bytes]]:
    """What offset and limit leave. Clients may ask for more than Python can count to."""
    limit = query.limit
    if query.offset < 0 or (limit is not None and limit < 0):
        raise WrongKey("limit and offset cannot be negative")
    offset = min(query.offset, sys.maxsize)
    return islice(run, offset, None if limit is None else min(offset + limit, sys.maxsize))


def read_range(
    shape: Schema, read: Sequence[object]
) -> tuple[SpaceDefinition, Index, bytes, bytes]:
    """What a read covers: `[KEY, space, index, key]` or `[RANGE, space, index, iterator, key]`."""
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
