"""The places of entries: a point for many records, and every place where the log was cut."""

from array import array
from bisect import bisect_left, bisect_right
from typing import Final, NamedTuple

from election.messages import Index

POINT_BYTES: Final = 32 << 10
"""One point for this many bytes of log: 24 bytes of memory for 32 KiB of disk."""


class RecordPlace(NamedTuple):
    """A record: the number of its segment, and its offset there."""

    number: int
    offset: int


class ReadPlan(NamedTuple):
    """Where to begin to read, and where the log was cut since.

    `borders`: from this index on, what counts stands at this place or behind it.
    """

    begin: RecordPlace
    borders: list[tuple[int, RecordPlace]]
    last: Index


class SparseIndex:
    """Points in the order of the log, which is also the order of their first indexes."""

    def __init__(self) -> None:
        self.last = Index(0)
        self.tails: list[RecordPlace] = []
        """Records that hold an archived tail."""
        self._firsts, self._numbers, self._offsets = array("Q"), array("Q"), array("Q")
        self._cut_firsts: list[int] = []
        self._cut_places: list[RecordPlace] = []

    def add_record(self, place: RecordPlace, *, above: int, last: int, tail: bool) -> None:
        """A record with the entries `above + 1 .. last`."""
        if tail:
            self.tails.append(place)
        if above < self.last:
            self._cut(above)
            self._cut_firsts.append(above + 1)
            self._cut_places.append(place)
            self._point(place, above)
        elif (
            not self._firsts
            or place.number != self._numbers[-1]
            or place.offset - self._offsets[-1] >= POINT_BYTES
        ):
            self._point(place, above)
        self.last = Index(last)

    def plan(self, first: int) -> ReadPlan:
        """Return how to read from the record on that holds `first`."""
        at = max(bisect_right(self._firsts, first) - 1, 0)
        begin = RecordPlace(0, 0)
        if self._firsts:
            begin = RecordPlace(self._numbers[at], self._offsets[at])
        later = bisect_right(self._cut_firsts, first)
        borders = list(zip(self._cut_firsts[later:], self._cut_places[later:], strict=True))
        return ReadPlan(begin, borders, self.last)

    def tails_below(self, number: int) -> int:
        """Return how many archived tails are in segments below this one."""
        return bisect_left(self.tails, RecordPlace(number, 0))

    def forget_below(self, number: int) -> None:
        """Segments below this one go."""
        at = bisect_left(self._numbers, number)
        for each in (self._firsts, self._numbers, self._offsets):
            del each[:at]
        at = bisect_left(self._cut_places, RecordPlace(number, 0))
        del self._cut_firsts[:at], self._cut_places[:at]
        del self.tails[: self.tails_below(number)]

    def __len__(self) -> int:
        return len(self._firsts)

    def _point(self, place: RecordPlace, above: int) -> None:
        self._firsts.append(above + 1)
        self._numbers.append(place.number)
        self._offsets.append(place.offset)

    def _cut(self, above: int) -> None:
        """Forget where everything above was."""
        at = bisect_left(self._firsts, above + 1)
        for each in (self._firsts, self._numbers, self._offsets):
            del each[at:]
        at = bisect_left(self._cut_firsts, above + 1)
        del self._cut_firsts[at:], self._cut_places[at:]
