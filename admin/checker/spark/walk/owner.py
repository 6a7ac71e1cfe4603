"""Whose term it is, who owns the limbo, and what a PROMOTE must name."""

from bisect import bisect_right
from collections.abc import Iterator

import numpy as np

from admin.checker.spark.columns import PROMOTE, ROLLBACK, TXN, Slice
from admin.checker.spark.walk.facts import FactCount, OddEntry
from qsync.record import EntryKind

DEMOTE = int(EntryKind.DEMOTE)


class Lead:
    """One log; feed it slices in order."""

    def __init__(self) -> None:
        self._promoted: tuple[int, int, int] | None = None
        """Index, term and origin of the last PROMOTE."""
        self._demoted = False
        self._owner: tuple[int, int] | None = None
        """Of the limbo, and its term; node 0 after a DEMOTE."""
        self._owners: list[tuple[int, tuple[int, int] | None]] = []
        self._highest = -1
        self._lsns: dict[int, int] = {}

    def next_slice(self, here: Slice, *, whole: bool) -> Iterator[FactCount | OddEntry]:
        """The next slice. `whole`: the log is here from its first entry on."""
        self._owners = [(-1, self._owner)]
        begin = 0
        for at in np.flatnonzero((here.kind == PROMOTE) | (here.kind == DEMOTE)).tolist():
            yield from self._stretch(here, begin, at, whole=whole)
            yield from self._mark(here, at, whole=whole)
            self._owners.append((at, self._owner))
            begin = at + 1
        yield from self._stretch(here, begin, len(here), whole=whole)

    def owner(self, at: int) -> tuple[int, int] | None:
        """Who owned the limbo behind a place in the last slice, and the term; None: never owned."""
        return self._owners[bisect_right(self._owners, at, key=lambda each: each[0]) - 1][1]

    def _mark(self, here: Slice, at: int, *, whole: bool) -> Iterator[FactCount | OddEntry]:
        index, term, origin = (int(each[at]) for each in (here.index, here.term, here.origin))
        promote = here.kind[at] == PROMOTE
        if not promote:
            yield from self._owned(here, at, at + 1, whole=whole)
        if whole:
            yield FactCount("promote-fits", 1)
            why = self._misfit(here, at)
            if why:
                yield OddEntry("promote-fits", index, why)
        if promote:
            self._promoted = (index, term, origin)
        self._demoted = not promote
        self._owner = (origin if promote else 0, term)
        self._past(here, at, at + 1)

    def _stretch(
        self, here: Slice, begin: int, end: int, *, whole: bool
    ) -> Iterator[FactCount | OddEntry]:
        if begin < end:
            yield from self._owned(here, begin, end, whole=whole)
            self._past(here, begin, end)

    def _past(self, here: Slice, begin: int, end: int) -> None:
        self._highest = max(self._highest, int(here.term[begin:end].max()))
        origins = here.origin[begin:end]
        if (origins == origins[0]).all():
            self._lsns[int(origins[0])] = int(here.lsn[end - 1])
            return
        known, back = np.unique(origins[::-1], return_index=True)
        for origin, ago in zip(known.tolist(), back.tolist(), strict=True):
            self._lsns[origin] = int(here.lsn[end - 1 - ago])

    def _owned(
        self, here: Slice, begin: int, end: int, *, whole: bool
    ) -> Iterator[FactCount | OddEntry]:
        """Entries between two PROMOTEs, all of them of the first one's leader."""
        if self._promoted is None and not whole:
            return
        yield FactCount("log-owner", end - begin)
        index, kind = here.index[begin:end], here.kind[begin:end]
        if self._promoted is None:
            for each in index.tolist():
                yield OddEntry("log-owner", each, "comes before any PROMOTE")
            return
        since, term, origin = self._promoted
        strange = (here.term[begin:end] != term) | (here.origin[begin:end] != origin)
        for each in index[strange].tolist():
            yield OddEntry("log-owner", each, f"is not of the owner since {since}")
        if self._demoted:
            for each in index[~strange & ((kind == TXN) | (kind == ROLLBACK))].tolist():
                yield OddEntry("log-owner", each, "comes after the DEMOTE")

    def _misfit(self, here: Slice, at: int) -> str:
        if here.kind[at] == PROMOTE and here.term[at] <= self._highest:
            return f"its term is not newer than {self._highest}"
        if not here.ref.known[at]:
            return ""
        owner = self._owner[0] if self._owner is not None else 0
        names, wanted = (
            (int(here.ref.owner[at]), int(here.ref.lsn[at])),
            (owner, self._lsns.get(owner, 0)),
        )
        return "" if names == wanted else f"names {names}, not {wanted}"
