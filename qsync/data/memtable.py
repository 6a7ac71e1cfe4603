"""A memtable: versions of keys by a run of log entries, in one table that is dropped as a whole."""

from collections.abc import Generator, Iterator
from itertools import islice
from typing import Any

from sortedcontainers import SortedList

from qsync.data.request import LoggedTransaction

Version = tuple[int, bytes | None, Any]
"""The index of the entry that wrote it, the value (None: deleted), and the version before it.

That is a `Version` or None; the compiler of native modules takes no type that names itself.
"""

SORT_KEYS_MIN = 500
"""Fewer new keys are put in order by the scan that needs them."""

SORT_STEP = 1000
"""New keys that are put in order in one go, or a quarter of the ordered ones: so many are merged
with those at once, fewer are inserted one by one."""

RELEASE_STEP = 500
"""Transactions that are given back to the interpreter in one go."""


class Memtable:
    """Transactions in log order, and of every key that they write a chain of versions.

    A put is one write to a dictionary. The keys are put in order only for a scan: first those that
    were written first, as the dictionary keeps them.
    """

    __slots__ = ("_order", "rows", "txns", "versions", "weight")

    def __init__(self) -> None:
        self.txns: list[LoggedTransaction] = []
        self.versions: dict[bytes, Version] = {}
        """The newest version of each key, linked to the older ones."""
        self.rows = 0
        self.weight = 0
        self._order: SortedList[bytes] = SortedList()

    def put(self, txn: LoggedTransaction) -> None:
        """Add the newest entry; the keys that it writes are distinct."""
        index, writes, versions = txn.index, txn.writes, self.versions
        added = 0
        for key, value in writes:
            versions[key] = (index, value, versions.get(key))
            added += len(key) if value is None else len(key) + len(value)
        self.txns.append(txn)
        self.rows += len(writes)
        self.weight += added

    def undo(self) -> LoggedTransaction:
        """Take back the newest entry and what it writes."""
        txn = self.txns.pop()
        versions = self.versions
        for key, value in reversed(txn.writes):
            index, _, older = versions[key]
            assert index == txn.index
            if older is not None:
                versions[key] = older
            else:  # the newest entry wrote it first: it is at the end
                if len(self._order) == len(versions):
                    self._order.remove(key)
                del versions[key]
            self.weight -= len(key) if value is None else len(key) + len(value)
        self.rows -= len(txn.writes)
        return txn

    def keys(self, lo: bytes, hi: bytes, *, reverse: bool = False) -> Iterator[bytes]:
        """Keys with versions and `lo <= key < hi`, in order."""
        self._put_in_order(len(self.versions))
        found: Iterator[bytes] = self._order.irange(
            lo, hi, inclusive=(True, False), reverse=reverse
        )
        return found

    def sort(self) -> bool:
        """Put a part of its keys in order; false when the rest is not worth a turn."""
        if len(self.versions) - len(self._order) < SORT_KEYS_MIN:
            return False
        self._put_in_order(max(SORT_STEP, len(self._order) // 4 + 1))
        return True

    def _put_in_order(self, keys_max: int) -> None:
        order, versions = self._order, self.versions
        left = len(versions) - len(order)
        if left > keys_max:
            order.update(islice(versions, len(order), len(order) + keys_max))
        elif left:
            order.update(islice(reversed(versions), left))


def release(memtables: list[Memtable]) -> Generator[None, None, None]:
    """Free unused rows in steps: the interpreter needs 2 ms for 4,000 rows."""
    while memtables:
        memtable = memtables.pop()
        while len(memtable.txns) > RELEASE_STEP:
            del memtable.txns[-RELEASE_STEP:]
            yield
