"""Compares the stored spaces of a node with what its log alone makes of them."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from admin.evidence.tables import REPLAY, SNAPSHOT, Row
from qsync.data import body, keys, schema
from qsync.data.digest import digest
from qsync.record import Entry, EntryKind, read_ref

BATCH = 1000
"""How many bodies are decoded at once."""

Rows = dict[int, dict[bytes, bytes]]
"""By space and physical key."""


class FoldedState(Protocol):
    """Stored rows, exact at an index."""

    @property
    def folded(self) -> int:
        """The index at which the rows are exact."""
        ...

    def scan(self, lo: bytes, hi: bytes, *, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """Return the rows with `lo <= key < hi`, in order."""
        ...


def compared(node: int, entries: Callable[[], Iterable[Entry]], spaces: FoldedState) -> list[Row]:
    """Return two digests of every user space at the folded index; none if the log begins later.

    `entries` gives the whole log, and is asked twice: what a ROLLBACK takes stands before it.
    """
    upto = int(spaces.folded)
    first = next(iter(entries()), None)
    if not upto or first is None or first.index != 1:
        return []
    rows = _replayed(entries, upto)
    names = {each.id: each.name for each in schema.load(spaces.scan).spaces}
    found: list[Row] = []
    for space in sorted(rows.keys() | names.keys()):
        if space < schema.USER_SPACE_MIN:
            continue
        stored = digest(spaces.scan(*schema.keys_of(space)))
        alone = digest(sorted(rows.get(space, {}).items()))
        where: Row = {"node": node, "generation": 1, "index": upto}
        where["space"] = names.get(space, str(space))
        found += [where | {"digest": stored, "made": SNAPSHOT}]
        found += [where | {"digest": alone, "made": REPLAY}]
    return found


def _replayed(entries: Callable[[], Iterable[Entry]], upto: int) -> Rows:
    """Return all that transactions wrote up to an index, without rolled-back ones."""
    ends: dict[tuple[int, int], int] = {}
    for entry in entries():
        if entry.kind == EntryKind.ROLLBACK:
            ref = read_ref(entry)
            ends[ref.owner, ref.lsn] = int(entry.index)
    rows: Rows = defaultdict(dict)
    kept = _kept(entries(), ends, upto)
    while some := list(itertools.islice(kept, BATCH)):
        for parts in body.decode_all(some):
            for space, key, row in parts[3]:
                if space in _OF_WHOLE_SPACES:
                    rows.pop(_emptied(space, key, row), None)
                place = schema.keys_of(space)[0] + key
                if row is None:
                    rows[space].pop(place, None)
                else:
                    rows[space][place] = row
    return rows


_OF_WHOLE_SPACES = frozenset({schema.SPACE, schema.INDEX, schema.TRUNCATE})


def _emptied(space: int, key: bytes, row: bytes | None) -> int:
    """Return the space whose tuples go with this row of the schema; 0 if none do.

    In one effect: of a space that is truncated, or dropped, alone or by its primary index.
    """
    number, *which = keys.decode(key)
    assert isinstance(number, int)
    goes = space == schema.TRUNCATE or (row is None and which in ([], [0]))
    return number if goes else 0


def _kept(entries: Iterable[Entry], ends: dict[tuple[int, int], int], upto: int) -> Iterator[bytes]:
    """Return the bodies, without those that a ROLLBACK took."""
    gone = 0
    for entry in entries:
        if entry.index > upto:
            return
        gone = max(gone, ends.get((entry.origin, entry.lsn), 0))
        if entry.kind == EntryKind.TXN and entry.index > gone:
            yield entry.body
