"""The entries of a log before a slice: their positions, and which wait for a quorum."""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from admin.checker.kernels.arrays import Flags, Numbers
from admin.checker.kernels.logs.slices import CONFIRM, PROMOTE, ROLLBACK, TXN, Slice

SEGMENTS_MAX = 64
"""A slice with more segments than this is looked up entry by entry."""
WAIT_ACK = 1


class NamedPlaces(NamedTuple):
    """By control entry: its position in the slice, and the position that it names, or -1."""

    at: Numbers
    to: Numbers


def breaks(found: Slice) -> Numbers:
    """Positions where a new segment begins; the first one is 0."""
    same = (
        (np.diff(found.index) == 1)
        & (np.diff(found.lsn) == 1)
        & (np.diff(found.origin) == 0)
        & (np.diff(found.term) == 0)
    )
    return np.concatenate(([0], np.flatnonzero(~same) + 1))


def named(found: Slice, starts: Numbers) -> NamedPlaces:
    """The entries that control entries name: the latest such entry before each."""
    at = np.flatnonzero(found.kind != TXN)
    if len(starts) > SEGMENTS_MAX:
        return NamedPlaces(at, _one_by_one(found, at))
    owner, lsn = found.ref.owner[at], found.ref.lsn[at]
    to = np.full(len(at), -1, dtype=np.int64)
    ends = np.append(starts[1:], len(found))
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        place = start + lsn - found.lsn[start]
        inside = (owner == found.origin[start]) & (place >= start) & (place < np.minimum(end, at))
        to = np.where(inside & found.ref.known[at], place, to)
    return NamedPlaces(at, to)


def _one_by_one(found: Slice, at: Numbers) -> Numbers:
    """For a slice with many segments."""
    names = list(zip(found.origin.tolist(), found.lsn.tolist(), strict=True))
    known: dict[tuple[int, int], int] = {}
    to, before = [], 0
    for place in at.tolist():
        known.update((names[each], each) for each in range(before, place))
        before = place
        ref = (int(found.ref.owner[place]), int(found.ref.lsn[place]))
        to.append(known.get(ref, -1) if found.ref.known[place] else -1)
    return np.array(to, dtype=np.int64)


class PastStretch(NamedTuple):
    """Entries of one term and origin whose position, index and lsn grow together."""

    place: int
    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs
    lsn: int
    term: int
    size: int


class PastEntry(NamedTuple):
    """An entry that a control entry names."""

    place: int
    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs
    term: int
    sync: bool


@dataclass(frozen=True, slots=True)
class NamedEntries:
    """CONFIRMs and ROLLBACKs of a slice with the earlier entry that each names.

    `at` is a position in the slice, `place` a position in the log.
    """

    at: Numbers
    place: Numbers
    index: Numbers
    term: Numbers
    sync: Flags

    def entry(self, number: int) -> PastEntry:
        """The entry that one of them names."""
        place, index, term = (int(each[number]) for each in (self.place, self.index, self.term))
        return PastEntry(place, index, term, bool(self.sync[number]))


def synchronous(here: Slice) -> Flags:
    """Entries that need a quorum themselves."""
    waits = (here.kind == TXN) & (here.flags & WAIT_ACK == WAIT_ACK)
    found: Flags = waits | (here.kind == PROMOTE)
    return found


class Past:
    """One log; feed it slices in order. `count`: the number of its entries so far."""

    def __init__(self) -> None:
        self.count = 0
        self._of: dict[int, list[PastStretch]] = defaultdict(list)
        self._begins: list[int] = []
        self._sync: list[Flags] = []

    def names(self, here: Slice, sync: Flags) -> tuple[NamedEntries, Numbers]:
        """Return the positions named in the next slice, and control entries without a named entry.

        An lsn of 0 names the state before the first entry of an origin.
        """
        at, to = named(here, breaks(here))
        place = np.where(to >= 0, to + self.count, -1)
        index, term, waits = here.index[to], here.term[to], sync[to]
        asked = here.ref.known[at]
        for number in np.flatnonzero(asked & (to < 0)).tolist():
            ref = here.ref.owner[at[number]], here.ref.lsn[at[number]]
            found = self._find(*map(int, ref))
            if found is not None:
                place[number], index[number], term[number], waits[number] = found
        nameless = at[~asked | ((place < 0) & (here.ref.lsn[at] != 0))]
        kind = here.kind[at]
        there = (place >= 0) & ((kind == CONFIRM) | (kind == ROLLBACK))
        columns = (each[there] for each in (at, place, index, term, waits))
        return NamedEntries(*columns), nameless

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
        """The latest entry with that name."""
        for each in reversed(self._of.get(owner, ())):
            ahead = lsn - each.lsn
            if 0 <= ahead < each.size:
                place = each.place + ahead
                at = bisect_right(self._begins, place) - 1
                sync = bool(self._sync[at][place - self._begins[at]])
                return PastEntry(place, each.index + ahead, each.term, sync)
        return None
