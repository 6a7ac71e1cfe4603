"""Versions of physical keys above the folded state, and views of both together at one index."""

from collections import deque
from collections.abc import Iterable, Iterator
from heapq import merge as merge_sorted
from itertools import islice
from typing import Final, NamedTuple, Protocol

from qsync.data.memtable import Memtable, Version
from qsync.data.request import LoggedTransaction, Write

Row = tuple[bytes, bytes]

MEMTABLE_BYTES: Final = 8 << 20
"""A memtable whose keys and tuples weigh so much takes no more."""
FOLLOWER_FACTOR: Final = 4
"""A follower keeps so much more in memory than a leader takes, before it takes no more: otherwise
each that folds a little more slowly than its leader would hold up the others."""
REST_SHARE: Final = 20
"""An active memtable with at most this share of unfolded rows is rebuilt when all before is
folded.
"""


class Backing(Protocol):
    """The folded store: an ordered map of physical keys."""

    def get(self, key: bytes) -> bytes | None:
        """The value, if any."""

    def scan(self, lo: bytes, hi: bytes, *, reverse: bool = False) -> Iterator[Row]:
        """Rows with `lo <= key < hi`."""


class OverlayLimits(NamedTuple):
    """How much is kept in memory above the folded state."""

    memtable_rows: int = 20_000
    """A memtable is full after this many versions, or this many transactions."""
    unfolded_bytes_max: int = 32 << 20
    """When all versions weigh more than this, a leader lets writers wait."""


class Overlay:
    """For every key written above the folded index, its versions in log order, by generations.

    New versions go to the active memtable. A full one is frozen, and dropped as a whole when all
    of its entries are folded; until then what is folded already stays in it, which hides rows of
    the store that are the same. So neither a write nor a fold has anything to do for single rows.
    """

    def __init__(self, limits: OverlayLimits | None = None) -> None:
        self.limits = limits or OverlayLimits()
        self._active = Memtable()
        self.memtables: deque[Memtable] = deque([self._active])
        """The oldest first; the last one is active."""
        self._folded = 0
        self._folded_rows = 0
        self.tables: tuple[dict[bytes, Version], ...] = (self._active.versions,)
        """Those that must be asked for a key, the newest first."""

    @property
    def rows(self) -> int:
        """Versions that are in memory and not folded."""
        return sum(each.rows for each in self.memtables) - self._folded_rows

    @property
    def weight(self) -> int:
        """Weight of the versions in memory: keys and tuples."""
        return sum(each.weight for each in self.memtables)

    @property
    def is_full(self) -> bool:
        """Whether the versions weigh more than they should. Folding makes room."""
        return self.weight > self.limits.unfolded_bytes_max

    @property
    def is_overfull(self) -> bool:
        """Whether a follower must stop taking transactions: it cannot let writers wait."""
        return self.weight > FOLLOWER_FACTOR * self.limits.unfolded_bytes_max

    @property
    def has_frozen(self) -> bool:
        """Whether there is a memtable that takes no more."""
        return len(self.memtables) > 1

    def put(self, txn: LoggedTransaction) -> None:
        """Add the newest entry."""
        active = self._active
        rows_max = self.limits.memtable_rows
        if (
            active.rows >= rows_max
            or len(active.txns) >= rows_max
            or active.weight >= MEMTABLE_BYTES
        ):
            active = self._active = Memtable()
            self.memtables.append(active)
            self._list_tables()
        active.put(txn)

    def last(self) -> LoggedTransaction | None:
        """The newest entry that is not folded."""
        if len(self.memtables) == 1 and self._folded == len(self._active.txns):
            return None
        return self._active.txns[-1]

    def undo(self) -> LoggedTransaction:
        """Take back the newest entry, which is not folded, and what it writes."""
        txn = self._active.undo()
        if not self._active.txns and len(self.memtables) > 1:
            self.memtables.pop()
            self._active = self.memtables[-1]
            self._list_tables()
        if self.last() is None:
            self.fold(0, 0)
        return txn

    def unfolded(self) -> Iterator[LoggedTransaction]:
        """The entries above the folded index, in order. Newer ones may come and go meanwhile."""
        start = self._folded
        for memtable in tuple(self.memtables):
            yield from islice(memtable.txns, start, None)
            start = 0

    def fold(self, txns: int, rows: int) -> list[Memtable]:
        """The store has the next so many entries, which write so many rows; what is dropped."""
        dropped: list[Memtable] = []
        self._folded += txns
        self._folded_rows += rows
        while self._folded and self._folded >= len(self.memtables[0].txns):
            whole = self.memtables.popleft()
            self._folded -= len(whole.txns)
            self._folded_rows -= whole.rows
            dropped.append(whole)
            if not self.memtables:
                self._active = Memtable()
                self.memtables.append(self._active)
        if self._folded and len(self.memtables) == 1:
            dropped += self._divide()
        if dropped:
            self._list_tables()
        return dropped

    def _divide(self) -> list[Memtable]:
        """Rebuild the active memtable from its unfolded rows if these are few."""
        former = self._active
        left = max(len(former.txns) - self._folded, former.rows - self._folded_rows)
        if left > self.limits.memtable_rows // REST_SHARE:
            return []
        self._active = Memtable()
        for txn in islice(former.txns, self._folded, None):
            self._active.put(txn)
        self.memtables[0] = self._active
        self._folded = self._folded_rows = 0
        return [former]

    def find(self, key: bytes, upto: int | None = None) -> Version | None:
        """The newest version of a key (up to an index) in memory."""
        for table in self.tables:
            version = table.get(key)
            if upto is not None:
                while version is not None and version[0] > upto:
                    version = version[2]
            if version is not None:
                return version
        return None

    def changed(self, key: bytes, upto: int | None = None) -> int:
        """Index of the newest version of the key (up to an index), 0 if it has none."""
        version = self.find(key, upto)
        return 0 if version is None else version[0]

    def keys(self, lo: bytes, hi: bytes, *, reverse: bool = False) -> Iterator[bytes]:
        """Keys with versions and `lo <= key < hi`, in order."""
        runs = [each.keys(lo, hi, reverse=reverse) for each in self.memtables if each.versions]
        if not runs:
            return iter(())
        return runs[0] if len(runs) == 1 else _distinct(merge_sorted(*runs, reverse=reverse))

    def sort(self) -> bool:
        """Put the keys of one memtable in order; false when there is none left to be sorted.

        A scan needs them all in order, and would do it at its beginning.
        """
        return any(each.sort() for each in self.memtables)

    def scan(
        self, lo: bytes, hi: bytes, *, at: int | None, reverse: bool = False
    ) -> Iterator[Write]:
        """The newest version up to `at` of every key in the range; deletions included."""
        for key in self.keys(lo, hi, reverse=reverse):
            version = self.find(key, at)
            if version is not None:
                yield key, version[1]

    def _list_tables(self) -> None:
        self.tables = tuple(each.versions for each in reversed(self.memtables))


def _distinct(run: Iterable[bytes]) -> Iterator[bytes]:
    last = None
    for key in run:
        if key != last:
            yield key
            last = key


class VersionView:
    """The rows at an index; at the newest version of everything if `at` is None."""

    __slots__ = ("_at", "_backing", "_overlay")

    def __init__(self, overlay: Overlay, backing: Backing, at: int | None) -> None:
        self._overlay = overlay
        self._backing = backing
        self._at = at

    def get(self, key: bytes) -> bytes | None:
        """The value of a physical key."""
        at = self._at
        for table in self._overlay.tables:
            version = table.get(key)
            while version is not None:
                if at is None or version[0] <= at:
                    return version[1]
                version = version[2]
        return self._backing.get(key)

    def scan(self, lo: bytes, hi: bytes, *, reverse: bool = False) -> Iterator[Row]:
        """Rows with `lo <= key < hi`. The view must not change meanwhile."""
        upper = self._overlay.scan(lo, hi, at=self._at, reverse=reverse)
        return merge(upper, self._backing.scan(lo, hi, reverse=reverse), reverse=reverse)


def merge(upper: Iterable[Write], lower: Iterator[Row], *, reverse: bool) -> Iterator[Row]:
    """Two ordered runs as one; `upper` hides the same key of `lower`."""
    below = next(lower, None)
    for key, value in upper:
        while below is not None and (below[0] > key if reverse else below[0] < key):
            yield below
            below = next(lower, None)
        if below is not None and below[0] == key:
            below = next(lower, None)
        if value is not None:
            yield key, value
    while below is not None:
        yield below
        below = next(lower, None)
