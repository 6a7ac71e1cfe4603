"""What a log held before a slice of it: where each entry is, and which wait for a quorum."""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from admin.checker.spark.arrays import Flags, Numbers
from admin.checker.spark.columns import CONFIRM, PROMOTE, ROLLBACK, TXN, Slice
from admin.checker.spark.control_entries import WAIT_ACK, breaks, named


class PastStretch(NamedTuple):
    """Entries of one term and origin, of which place, index and lsn grow together."""

    place: int
    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs
    lsn: int
    term: int
    size: int


class PastEntry(NamedTuple):
    """One that a control entry names."""

    place: int
    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs
    term: int
    sync: bool


@dataclass(frozen=True, slots=True)
class NamedEntries:
    """CONFIRMs and ROLLBACKs of a slice that name an earlier entry: where they are, and that one.

    `at` counts in the slice, `place` from the beginning of the log.
    """

    at: Numbers
    place: Numbers
    index: Numbers
    term: Numbers
    sync: Flags

    def entry(self, number: int) -> PastEntry:
        """What one of them names."""
        place, index, term = (int(each[number]) for each in (self.place, self.index, self.term))
        return PastEntry(place, index, term, bool(self.sync[number]))


def synchronous(here: Slice) -> Flags:
    """Entries that wait for a quorum of their own accord."""
    waits = (here.kind == TXN) & (here.flags & WAIT_ACK == WAIT_ACK)
    found: Flags = waits | (here.kind == PROMOTE)
    return found


class Past:
    """One log; feed it slices in order. `count`: how many entries it has by now."""

    def __init__(self) -> None:
        self.count = 0
        self._of: dict[int, list[PastStretch]] = defaultdict(list)
        self._begins: list[int] = []
        self._sync: list[Flags] = []

    def names(self, here: Slice, sync: Flags) -> NamedEntries:
        """Of the next slice, before it is taken."""
        refs = named(here, breaks(here))
        kind = here.kind[refs.at]
        asked = here.ref.known[refs.at] & ((kind == CONFIRM) | (kind == ROLLBACK))
        at, to = refs.at[asked], refs.to[asked]
        place = np.where(to >= 0, to + self.count, -1)
        index, term, waits = here.index[to], here.term[to], sync[to]
        for number in np.flatnonzero(to < 0).tolist():
            ref = here.ref.owner[at[number]], here.ref.lsn[at[number]]
            found = self._find(*map(int, ref))
            if found is not None:
                place[number], index[number], term[number], waits[number] = found
        there = place >= 0
        return NamedEntries(at[there], place[there], index[there], term[there], waits[there])

    def next_slice(self, here: Slice, sync: Flags) -> None:
        """The next slice."""
        starts = breaks(here)
        for at, size in zip(
            starts.tolist(), np.diff(starts, append=len(here)).tolist(), strict=True
        ):
            index, lsn, term = (int(each[at]) for each in (here.index, here.lsn, here.term))
            self._add(int(here.origin[at]), PastStretch(self.count + at, index, lsn, term, size))
        self._begins.append(self.count)
        self._sync.append(sync)
        self.count += len(here)

    def _add(self, origin: int, each: PastStretch) -> None:
        known = self._of[origin]
        if known:
            last = known[-1]
            ahead = (each.place - last.place, each.index - last.index, each.lsn - last.lsn)
            if ahead == (last.size,) * 3 and each.term == last.term:
                known[-1] = last._replace(size=last.size + each.size)
                return
        known.append(each)

    def _find(self, owner: int, lsn: int) -> PastEntry | None:
        """The latest of that name."""
        for each in reversed(self._of.get(owner, ())):
            ahead = lsn - each.lsn
            if 0 <= ahead < each.size:
                place = each.place + ahead
                at = bisect_right(self._begins, place) - 1
                sync = bool(self._sync[at][place - self._begins[at]])
                return PastEntry(place, each.index + ahead, each.term, sync)
        return None
