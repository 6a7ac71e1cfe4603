"""Finds where two logs differ, with a few entries of each.

Equal checksums of the chain mean equal logs up to there, so a binary search finds the place.
"""

from dataclasses import dataclass

from admin.cluster import logs
from admin.cluster.logs import EntrySource
from qsync.errors import Compacted
from qsync.record import CHAIN_SEED


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDifference:
    """Two logs are the same up to entry `common`, and end at `left` and `right`."""

    common: int
    left: int
    right: int

    @property
    def only_left(self) -> int:
        """Entries that only the left one has."""
        return self.left - self.common

    @property
    def only_right(self) -> int:
        """Entries that only the right one has."""
        return self.right - self.common

    @property
    def same(self) -> bool:
        """Whether neither log has entries that the other one lacks."""
        return self.left == self.right == self.common


def difference(left: EntrySource, right: EntrySource) -> LogDifference:
    """Compare two logs. Raises Compacted if they differ before the entries that both still have.

    A running node's log counts up to its end at the moment of the request.
    """
    begins = max(left.start().index, right.start().index)
    ends = left.last(), right.last()
    low, high = int(begins), min(ends)
    if high < low or _crc(left, low) != _crc(right, low):
        raise Compacted(
            f"the logs cannot be compared: one begins at {begins + 1}, and before that they "
            "differ, or the other one ends",
            hint="compare what is stored with `qsync dump` of both and `qsync check`",
        )
    while low < high:
        middle = (low + high + 1) // 2
        if _crc(left, middle) == _crc(right, middle):
            low = middle
        else:
            high = middle - 1
    return LogDifference(common=low, left=ends[0], right=ends[1])


def _crc(source: EntrySource, index: int) -> int:
    """The checksum of the chain up to an entry."""
    start = source.start()
    if index == start.index:
        return start.crc if index else CHAIN_SEED
    return next(iter(logs.entries(source, index, index))).crc
