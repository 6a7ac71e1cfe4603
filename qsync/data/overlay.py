"""Versions of physical keys above the folded state, and views of both together at one index."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Protocol

from sortedcontainers import SortedSet

from qsync.data.request import Write

Version = tuple[int, bytes | None]
"""The index of the entry that wrote it, and the value; None means deleted."""
Row = tuple[bytes, bytes]

STALE_KEYS_MAX = 1000
"""Keys without versions that the order may hold beyond as many as there are with versions."""


class Backing(Protocol):
    """The folded store: an ordered map of physical keys."""

    def get(self, key: bytes) -> bytes | None:
        """The value, if any."""

    def scan(self, lo: bytes, hi: bytes, *, reverse: bool = False) -> Iterator[Row]:
        """Rows with `lo <= key < hi`."""


class Overlay:
    """For every key written above the folded index, its versions in log order.

    A put appends to a small list. The keys are put in order only when somebody scans.
    """

    def __init__(self) -> None:
        self.versions: dict[bytes, list[Version]] = {}
        self.rows = 0
        self.bytes = 0
        self._ordered: SortedSet[bytes] = SortedSet()
        self._fresh: list[bytes] = []

    def put(self, index: int, writes: Iterable[Write]) -> None:
        """Add what the entry at `index` writes. It is the newest entry; its keys are distinct."""
        versions, fresh = self.versions, self._fresh
        rows = weight = 0
        for key, value in writes:
            known = versions.get(key)
            if known is None:
                versions[key] = [(index, value)]
                fresh.append(key)
            else:
                known.append((index, value))
            rows += 1
            weight += len(key) if value is None else len(key) + len(value)
        self.rows += rows
        self.bytes += weight

    def undo(self, index: int, writes: Iterable[Write]) -> None:
        """Take back the writes of the newest entry."""
        for key, value in writes:
            known = self.versions[key]
            gone = known.pop()
            assert gone[0] == index
            self._lighten(key, value)
            if not known:
                del self.versions[key]

    def fold(self, keys: Iterable[bytes], folded: int) -> None:
        """The store now has the newest version of `keys` up to `folded`: drop these versions."""
        for key in keys:
            known = self.versions[key]
            if known[-1][0] <= folded:
                gone = known
                del self.versions[key]
            else:
                cut = bisect_right(known, folded, key=_index_of)
                gone = known[:cut]
                del known[:cut]
            for _, value in gone:
                self._lighten(key, value)
        if len(self._fresh) > 2 * len(self.versions) + STALE_KEYS_MAX:
            self._fresh = [key for key in dict.fromkeys(self._fresh) if key in self.versions]

    def changed(self, key: bytes, upto: int | None = None) -> int:
        """Index of the newest version of the key (up to an index), 0 if it has none."""
        known = self.versions.get(key)
        if not known:
            return 0
        if upto is None:
            return known[-1][0]
        return next((index for index, _ in reversed(known) if index <= upto), 0)

    def keys(self, lo: bytes, hi: bytes, *, reverse: bool = False) -> Iterator[bytes]:
        """Keys with versions and `lo <= key < hi`, in order."""
        if not self.versions:
            self._ordered.clear()
            self._fresh.clear()
            return iter(())
        self._sort()
        found = self._ordered.irange(lo, hi, inclusive=(True, False), reverse=reverse)
        return filter(self.versions.__contains__, found)

    def scan(
        self, lo: bytes, hi: bytes, *, at: int | None, reverse: bool = False
    ) -> Iterator[Write]:
        """The newest version up to `at` of every key in the range; deletions included."""
        for key in self.keys(lo, hi, reverse=reverse):
            known = self.versions[key]
            if at is None:
                yield key, known[-1][1]
                continue
            for index, value in reversed(known):
                if index <= at:
                    yield key, value
                    break

    def _lighten(self, key: bytes, value: bytes | None) -> None:
        self.rows -= 1
        self.bytes -= len(key) if value is None else len(key) + len(value)

    def _sort(self) -> None:
        if self._fresh:
            self._ordered.update(self._fresh)
            self._fresh.clear()
        if len(self._ordered) > 2 * len(self.versions) + STALE_KEYS_MAX:
            self._ordered = SortedSet(self.versions)


def _index_of(version: Version) -> int:
    return version[0]


class VersionView:
    """What is to be read at an index; at the newest version of everything if `at` is None."""

    __slots__ = ("_at", "_backing", "_overlay", "_versions")

    def __init__(self, overlay: Overlay, backing: Backing, at: int | None) -> None:
        self._overlay = overlay
        self._versions = overlay.versions
        self._backing = backing
        self._at = at

    def get(self, key: bytes) -> bytes | None:
        """The value of a physical key."""
        known = self._versions.get(key)
        if known is not None:
            at = self._at
            if at is None:
                return known[-1][1]
            for index, value in reversed(known):
                if index <= at:
                    return value
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
