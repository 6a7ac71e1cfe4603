"""Optimistic validation: was anything of what a transaction read changed since?"""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from qsync.data.overlay import Overlay, VersionView
from qsync.data.reading import read_range
from qsync.data.request import Limits, too_large
from qsync.data.schema import Schema
from qsync.errors import Conflict

Found = TypeVar("Found")
TRACKED_KEYS_MAX = 100_000
"""Keys whose last change is remembered after it was folded."""


class Footprints:
    """Which keys were changed lately by entries that are folded already.

    Without it every fold would end the interactive transactions that run meanwhile. The keys of a
    fold are kept as the sorted run that they are.
    """

    def __init__(self, folded: int, *, keys_max: int = TRACKED_KEYS_MAX) -> None:
        self.complete_from = folded
        """Everything above this index is remembered."""
        self._keys_max = keys_max
        self._runs: deque[tuple[int, Sequence[bytes]]] = deque()
        self._count = 0

    @property
    def runs(self) -> int:
        """How many runs of keys there are; a question about any key may look into each."""
        return len(self._runs)

    def remember(self, folded: int, keys: Sequence[bytes]) -> None:
        """These keys, in order, changed at or before `folded`."""
        if not keys:
            return
        self._runs.append((folded, keys))
        self._count += len(keys)
        while self._count > self._keys_max:
            index, run = self._runs.popleft()
            self._count -= len(run)
            self.complete_from = max(self.complete_from, index)

    def any_between(self, lo: bytes, hi: bytes, *, above: int) -> bool:
        """Return whether a key with `lo <= key < hi` may have changed above that index."""
        for index, run in reversed(self._runs):
            if index <= above:
                return False
            at = bisect_left(run, lo)
            if at < len(run) and run[at] < hi:
                return True
        return False


class _Work:
    """What the validation of one transaction looks at, counted."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._done = 0

    def add(self, count: int) -> None:
        """Count so much more. Raises TooLarge."""
        self._done += count
        if self._done > self._most:
            what, unit = "the validation of a transaction", "rows and changes to look at"
            raise too_large(what, "VALIDATED_MAX", self._most, unit=unit)

    def counted(self, found: Iterable[Found]) -> Iterator[Found]:
        """Return the same, each counted."""
        for each in found:
            self.add(1)
            yield each


def validate(
    reads: Iterable[Sequence[object]],
    snapshot: int,
    *,
    shape: Schema,
    overlay: Overlay,
    footprints: Footprints,
    view: VersionView,
    upto: int | None = None,
    most: int = Limits().validated_max,
) -> None:
    """Raise Conflict unless everything in the read set is as it was at the snapshot.

    `upto`: changes above that index are not looked at, nor are they in the `view`. `most`: how many
    rows and changes are looked at; nothing else is done meanwhile. Raises TooLarge for more.
    """
    work = _Work(most)
    if snapshot < footprints.complete_from:
        raise Conflict(
            f"the transaction read at index {snapshot}, changes are remembered from"
            f" {footprints.complete_from} on",
            hint="the transaction took too long; run it again",
        )

    def changed(lo: bytes, hi: bytes) -> bool:
        return any(
            overlay.changed(key, upto) > snapshot for key in work.counted(overlay.keys(lo, hi))
        ) or footprints.any_between(lo, hi, above=snapshot)

    for read in reads:
        work.add(1 + footprints.runs)
        space, index, lo, hi = read_range(shape, read)
        stale = changed(lo, hi)
        if index.id != 0 and not stale:
            # The entries are as they were; the tuples they lead to may still differ.
            prefix = space.primary.prefix
            tuples = (prefix + key for _, key in work.counted(view.scan(lo, hi)))
            stale = any(
                overlay.changed(key, upto) > snapshot
                or footprints.any_between(key, key + b"\0", above=snapshot)
                for key in tuples
            )
        if stale:
            raise Conflict(
                f'space "{space.name}": what the transaction read has changed since',
                details={"space": space.name, "index": index.name},
            )
