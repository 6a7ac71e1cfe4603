"""Checksums and sizes of entries: of the newest each, of old ones now and then, by index."""

from array import array
from bisect import bisect_left, bisect_right
from typing import Final

from election.messages import Index
from qsync.record import CHAIN_SEED, Crc

WINDOW_ENTRIES: Final = 65_536
"""How many entries before the newest decided one are known exactly: 12 bytes each."""
STEP_ENTRIES: Final = 256
"""Of the entries before them, one of this many is kept: a point, 20 bytes."""
POINT_BYTES: Final = 64 << 10
"""Or one per this many bytes of log, if that is sooner."""
_NOWHERE: Final = Index(0)


class EntrySums:
    """Checksum and size of each entry, so that the core compares logs without a disk.

    Of entries that were decided long ago only some are known so exactly, the *points*. That is
    enough: a leader names a point as the entry before a batch, and a follower that is asked about
    an entry between two points goes by index and term, as in Raft (§5.3, log matching). It appends
    nothing by that alone: what continues its log follows its last entry, which it knows exactly,
    and the checksums in between are a chain. Points are at the same places in equal logs, unless
    one was trimmed.

    The first point is the entry just before the log; of what is before that nothing is known.
    """

    def __init__(
        self, *, window: int, step: int, after: Index = _NOWHERE, crc: Crc = CHAIN_SEED
    ) -> None:
        self.window, self.step = window, step
        self._points = array("Q", [after])
        self._point_crcs = array("I", [crc])
        self._point_ends = array("Q", [0])
        self._base = int(after)  # the last point; what follows it is known exactly
        self._crcs = array("I")
        self._ends = array("Q")  # size in bytes of everything up to and including an entry
        self._bytes = 0
        self.last = after

    def __len__(self) -> int:
        """How many entries are known exactly."""
        return len(self._points) + len(self._crcs)

    def _forget_above(self, above: Index) -> None:
        assert self._base <= above <= self.last, (above, self._base)
        del self._crcs[above - self._base :]
        del self._ends[above - self._base :]
        self._bytes = self._ends[-1] if self._ends else self._point_ends[-1]
        self.last = above

    def trim(self, decided: Index) -> None:
        """Up to here nothing is ever cut: keep points of what is older than the window."""
        if decided - self.window - self._base < max(self.step, self.window // 4):
            return  # all that is dropped moves what stays: not for every entry
        upto, base = decided - self.window, self._base
        at, ends = base, self._ends
        while True:
            before = ends[at - base - 1] if at > base else self._point_ends[-1]
            room = bisect_right(ends, before + POINT_BYTES, at - base, len(ends)) + base
            following = max(at + 1, min(at + self.step, room))
            if following > upto:
                break
            at = following
            self._points.append(at)
            self._point_crcs.append(self._crcs[at - base - 1])
            self._point_ends.append(ends[at - base - 1])
        del self._crcs[: at - base]
        del self._ends[: at - base]
        self._base = at

    def _forget_below(self, first: int, crc: Crc) -> None:
        """Forget what is before `first`: nothing there is asked about from now on."""
        base = self._base
        if first >= base:
            end = self._ends[first - base - 1] if first > base else self._point_ends[-1]
            del self._crcs[: first - base]
            del self._ends[: first - base]
            kept, self._base = len(self._points), first
        else:
            end, kept = self._end_below(first), bisect_right(self._points, first)
        self._points = array("Q", [first]) + self._points[kept:]
        self._point_crcs = array("I", [crc]) + self._point_crcs[kept:]
        self._point_ends = array("Q", [end]) + self._point_ends[kept:]

    def knows(self, index: int) -> bool:
        """Return whether the checksum of this entry is known."""
        if index > self._base:
            return index <= self.last
        return index >= self._points[0] and self._points[self._point(index)] == index

    def known_below(self, index: Index) -> Index:
        """Return the newest entry at or below with a known checksum; it may be before the log."""
        assert self._points[0] <= index <= self.last
        return index if index > self._base else Index(self._points[self._point(index)])

    def _point(self, index: int) -> int:
        """Return the place of the newest point at or below."""
        return bisect_right(self._points, index) - 1

    def crc_at(self, index: int) -> Crc:
        """Chain checksum, of an entry that is known: if equal, the prefixes are equal."""
        if index > self._base:
            return Crc(self._crcs[index - self._base - 1])
        at = self._point(index)
        assert self._points[at] == index, (index, self._base)
        return Crc(self._point_crcs[at])

    def bytes_between(self, after: int, upto: int) -> int:
        """Return the size of the entries `after + 1 .. upto`; for old ones a lower bound."""
        after = max(after, self._points[0])  # what was trimmed counts no more
        if upto <= after:
            return 0
        return self._end_above(upto) - self._end_below(after)

    def _end_below(self, index: int) -> int:
        """Return the size of everything up to the newest known entry at or below."""
        if index > self._base:
            return self._ends[index - self._base - 1]
        return self._point_ends[self._point(index)]

    def _end_above(self, index: int) -> int:
        """Return the size of everything up to the oldest known entry at or above."""
        if index > self._base:
            return self._ends[index - self._base - 1]
        return self._point_ends[bisect_left(self._points, index)]

    def fit(self, first: int, *, entries_max: int, bytes_max: int) -> Index:
        """Return the last index of a batch from `first` within both limits; at least one entry."""
        assert first <= self.last
        end = self._end_below(first - 1) + bytes_max
        upto = self._points[bisect_right(self._point_ends, end) - 1]
        if upto == self._base:
            upto += bisect_right(self._ends, end)
        return Index(max(first, min(upto, first + entries_max - 1)))
