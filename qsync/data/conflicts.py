"""Optimistic validation: was anything of what a transaction read changed since?"""

from collections import deque
from collections.abc import Iterable, Sequence

from qsync.data.overlay import Overlay, VersionView
from qsync.data.reading import read_range
from qsync.data.schema import Schema
from qsync.errors import Conflict

TRACKED_KEYS_MAX = 100_000
"""Keys whose last change is remembered after it was folded."""


class Footprints:
    """Which keys were changed lately by entries that are folded already.

    Without it every fold would end the interactive transactions that run meanwhile.
    """

    def __init__(self, folded: int, *, keys_max: int = TRACKED_KEYS_MAX) -> None:
        self.complete_from = folded
        """Everything above this index is remembered."""
        self._keys_max = keys_max
        self._last: dict[bytes, int] = {}
        self._order: deque[tuple[int, bytes]] = deque()

    def remember(self, folded: int, keys: Iterable[bytes]) -> None:
        """These keys changed at or before `folded`."""
        order, last = self._order, self._last
        for key in keys:
            last[key] = folded
            order.append((folded, key))
        while len(order) > self._keys_max:
            index, key = order.popleft()
            self.complete_from = max(self.complete_from, index)
            if last.get(key) == index:
                del last[key]

    def changed(self, key: bytes) -> int:
        """An index at or after the key's last change, 0 if that was long ago."""
        return self._last.get(key, 0)

    def any_between(self, lo: bytes, hi: bytes, *, above: int) -> bool:
        """Did a key in the range change above that index?"""
        for index, key in reversed(self._order):
            if index <= above:
                return False
            if lo <= key < hi:
                return True
        return False


def validate(
    reads: Iterable[Sequence[object]],
    snapshot: int,
    *,
    shape: Schema,
    overlay: Overlay,
    footprints: Footprints,
    view: VersionView,
    upto: int | None = None,
) -> None:
    """Raise Conflict unless everything in the read set is as it was at the snapshot.

    `upto`: changes above that index are not looked at, nor are they in the `view`.
    """
    if snapshot < footprints.complete_from:
        raise Conflict(
            f"the transaction read at index {snapshot}, changes are remembered from"
            f" {footprints.complete_from} on",
            hint="the transaction took too long; run it again",
        )

    def changed(lo: bytes, hi: bytes) -> bool:
        return any(
            overlay.changed(key, upto) > snapshot for key in overlay.keys(lo, hi)
        ) or footprints.any_between(lo, hi, above=snapshot)

    for read in reads:
        space, index, lo, hi = read_range(shape, read)
        stale = changed(lo, hi)
        if index.id != 0 and not stale:
            # The entries are as they were; the tuples they lead to may still differ.
            prefix = space.primary.prefix
            stale = any(
                max(overlay.changed(prefix + key, upto), footprints.changed(prefix + key))
                > snapshot
                for _, key in view.scan(lo, hi)
            )
        if stale:
            raise Conflict(
                f'space "{space.name}": what the transaction read has changed since',
                details={"space": space.name, "index": index.name},
            )
