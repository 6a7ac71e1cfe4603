"""A memtable: versions of keys by a run of log entries, in one table that is dropped as a whole."""

from collections.abc import Generator, Iterator
from itertools import islice
from typing import Any, Final

from sortedcontainers import SortedList

from qsync.data import keys
from qsync.data.request import LoggedTransaction
from qsync.data.schema import USER_SPACE_MIN

Version = tuple[int, bytes | None, Any]
"""The index of the entry that wrote it, the value (None: deleted), and the version before it.

That is a `Version` or None; the compiler of native modules takes no type that names itself.
"""

SORT_KEYS_MIN = 500
"""Fewer new keys are put in order by the scan that needs them."""

SORT_STEP = 1000
"""New keys that are put in order in one go, or a quarter of the ordered ones: so many are merged
with those at once, fewer are inserted one by one."""

USER_KEYS: Final = keys.prefix(USER_SPACE_MIN, 0)
"""The keys of system spaces are below it, those of all others are not."""

RELEASE_STEP = 500
"""Transactions that are given back to the interpreter in one go."""


class Memtable:
    """Transactions in log order, and of every key that they write a chain of versions.

    A put is one write to a dictionary. The keys are put in order only for a scan: first those that
    were written first, as the dictionary keeps them. Those of system spaces are few, and the node
    itself looks them up often: they have an order of their own, so that this does not order all.
    """

    __slots__ = ("_looked", "_order", "_system", "rows", "txns", "versions", "weight")

    def __init__(self) -> None:
        self.txns: list[LoggedTransaction] = []
        self.versions: dict[bytes, Version] = {}
        """The newest version of each key, linked to the older ones."""
        self.rows = 0
        self.weight = 0
        self._order: SortedList[bytes] = SortedList()
        self._system: SortedList[bytes] = SortedList()
        self._looked = 0
        """So many keys, the first ones, are in `_system` if they belong there."""

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
                if self._looked == len(versions):
                    self._looked -= 1
                    self._system.discard(key)
                del versions[key]
            self.weight -= len(key) if value is None else len(key) + len(value)
        self.rows -= len(txn.writes)
        return txn

    def keys(self, lo: bytes, hi: bytes, *, reverse: bool = False) -> Iterator[bytes]:
        """Keys with versions and `lo <= key < hi`, in order."""
        if hi <= USER_KEYS:
            self._look_for_system_keys()
            order = self._system
        else:
            self._put_in_order(len(self.versions))
            order = self._order
        found: Iterator[bytes] = order.irange(lo, hi, inclusive=(True, False), reverse=reverse)
        return found

    def sort(self) -> bool:
        """Put a part of its keys in order; false when the rest is not worth a turn."""
        if len(self.versions) - len(self._order) < SORT_KEYS_MIN:
            return False
        self._put_in_order(max(SORT_STEP, len(self._order) // 4 + 1))
        return True

    def _look_for_system_keys(self) -> None:
        versions = self.versions
        left = len(versions) - self._looked
        if left:
            newest = islice(reversed(versions), left)
            self._system.update([key for key in newest if key < USER_KEYS])
            self._looked = len(versions)

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
