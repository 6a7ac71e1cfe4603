"""A memtable: versions of keys by a run of log entries, in one table that is dropped as a whole."""

from collections.abc import Generator, Iterable, Iterator
from itertools import islice
from typing import Any

from sortedcontainers import SortedSet

from qsync.data.request import LoggedTransaction

Version = tuple[int, bytes | None, Any]
"""The index of the entry that wrote it, the value (None: deleted), and the version before it.

That is a `Version` or None; the compiler of native modules takes no type that names itself.
"""

STALE_KEYS_MAX = 1000
"""Keys without versions that the order may hold beyond as many as there are with versions."""

SORT_KEYS_MIN = 500
"""Fewer keys are sorted by the scan that needs them; 4,000 take more than a millisecond."""

RELEASE_STEP = 500
"""Transactions that are given back to the interpreter in one go."""


class Memtable:
    """Transactions in log order, and of every key that they write a chain of versions.

    A put is one write to a dictionary. The keys are sorted only for a scan.
    """

    __slots__ = ("_order", "_seen", "rows", "txns", "versions", "weight")

    def __init__(self) -> None:
        self.txns: list[LoggedTransaction] = []
        self.versions: dict[bytes, Version] = {}
        """The newest version of each key, linked to the older ones."""
        self.rows = 0
        self.weight = 0
        self._order: SortedSet[bytes] | None = None
        self._seen = 0

    def put(self, txn: LoggedTransaction) -> None:
        """Add the newest entry; the keys that it writes are distinct."""
        index, writes, versions = txn.index, txn.writes, self.versions
        added = 0
        known = versions.get
        for key, value in writes:
            versions[key] = (index, value, known(key))
            added += len(key) if value is None else len(key) + len(value)
        self.txns.append(txn)
        self.rows += len(writes)
        self.weight += added

    def undo(self) -> LoggedTransaction:
        """Take back the newest entry and what it writes."""
        txn = self.txns.pop()
        versions = self.versions
        for key, value in txn.writes:
            index, _, older = versions[key]
            assert index == txn.index
            if older is None:
                del versions[key]  # the newest entry wrote it first: it is at the end
            else:
                versions[key] = older
            self.weight -= len(key) if value is None else len(key) + len(value)
        self.rows -= len(txn.writes)
        self._seen = min(self._seen, len(versions))
        return txn

    def keys(self, lo: bytes, hi: bytes, *, reverse: bool = False) -> Iterator[bytes]:
        """Keys with versions and `lo <= key < hi`, in order."""
        order, versions = self._sorted(), self.versions
        found: Iterable[bytes] = order.irange(lo, hi, inclusive=(True, False), reverse=reverse)
        return filter(versions.__contains__, found)

    def sort(self) -> bool:
        """Put its keys in order; false when that was done before, or is not worth a turn."""
        if self._order is not None or len(self.versions) < SORT_KEYS_MIN:
            return False
        self._sorted()
        return True

    def _sorted(self) -> "SortedSet[bytes]":
        versions = self.versions
        order = self._order
        if order is None or len(order) > 2 * len(versions) + STALE_KEYS_MAX:
            order = self._order = SortedSet(versions)
        elif self._seen < len(versions):
            # A dictionary keeps the order of first writes: what is new is at its end.
            order.update(islice(reversed(versions), len(versions) - self._seen))
        self._seen = len(versions)
        return order


def release(memtables: list[Memtable]) -> Generator[None, None, None]:
    """Free unused rows in steps: the interpreter needs 2 ms for 4,000 rows."""
    while memtables:
        memtable = memtables.pop()
        while len(memtable.txns) > RELEASE_STEP:
            del memtable.txns[-RELEASE_STEP:]
            yield
