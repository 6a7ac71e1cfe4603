"""What CONFIRM and ROLLBACK name, and what is pending by them.

The queue begins with an entry that waits for a quorum. It is every transaction and PROMOTE from the
first such entry on that no CONFIRM has reached, without what was rolled back.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from admin.checker.spark.arrays import Flags, Numbers
from admin.checker.spark.columns import CONFIRM, PROMOTE, TXN, Slice
from admin.checker.spark.walk.facts import FactCount, OddEntry
from admin.checker.spark.walk.references import NamedEntries
from qsync.record import WAIT_SYNC

NOWHERE = -1


@dataclass(frozen=True, slots=True)
class PendingRows:
    """Transactions and PROMOTEs, in order. `dead`: rolled back by now."""

    place: Numbers
    index: Numbers
    kind: Numbers
    flags: Numbers
    sync: Flags
    dead: Flags

    @classmethod
    def of(cls, here: Slice, sync: Flags, base: int) -> "PendingRows":
        """Those of a slice of which the first entry has the place `base`."""
        at = np.flatnonzero((here.kind == TXN) | (here.kind == PROMOTE))
        columns = (here.index[at], here.kind[at], here.flags[at], sync[at])
        return cls(at + base, *columns, np.zeros(len(at), dtype=np.bool_))

    def then(self, other: "PendingRows") -> "PendingRows":
        """One after the other."""
        pairs = ((getattr(self, each.name), getattr(other, each.name)) for each in fields(self))
        return PendingRows(*(np.concatenate(pair) for pair in pairs))

    def since(self, at: int) -> "PendingRows":
        """Without those before."""
        return PendingRows(*(getattr(self, each.name)[at:] for each in fields(self)))

    def queue(self, begin: int, end: int) -> Numbers:
        """Which of these wait: those not rolled back, from the first on that wants a quorum."""
        live = ~self.dead[begin:end]
        heads = live & self.sync[begin:end]
        first = int(heads.argmax()) if heads.any() else len(heads)
        return np.flatnonzero(live[first:]) + begin + first


class LimboWalk:
    """One log. Of each slice: `begin`, in order `behind`, `roll_back` and `waiting`, then `end`."""

    def __init__(self) -> None:
        nothing, none = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_)
        self._rows = PendingRows(nothing, nothing, nothing, nothing, none, none)
        self._base = 0
        self._place = self._index = np.array([NOWHERE])
        """By place in the slice: how far was confirmed before it, in places and in indexes."""
        self._head = NOWHERE
        """The last place before what is looked at now that waits for a quorum."""
        self._sync = none
        self._gone: set[int] = set()

    def next_slice(
        self, here: Slice, sync: Flags, names: NamedEntries, base: int
    ) -> Iterator[FactCount | OddEntry]:
        """The next slice, of which the first entry has the place `base`. Judges its CONFIRMs."""
        confirms = here.kind[names.at] == CONFIRM
        self._base, self._sync = base, sync
        self._rows = self._rows.then(PendingRows.of(here, sync, base))
        after = names.at[confirms] + 1
        self._place = _reach(len(here), self._place[-1], after, names.place[confirms])
        self._index = _reach(len(here), self._index[-1], after, names.index[confirms])
        yield FactCount("confirms-forward", int(confirms.sum()))
        old = names.term != here.term[names.at]
        back = self._place[names.at] >= names.place
        for number in np.flatnonzero(confirms & (old | ~names.sync | back)).tolist():
            named = names.entry(number)
            why = "goes back"
            if old[number]:
                why = f"confirms by {named.index} of term {named.term}"
            elif not named.sync:
                why = f"names {named.index}, which waits for no quorum"
            yield OddEntry("confirms-forward", int(here.index[names.at[number]]), why)

    def behind(self, here: Slice, begin: int, end: int) -> Iterator[FactCount | OddEntry]:
        """Asynchronous transactions with no ROLLBACK between them: nothing waits for nothing."""
        part = slice(begin, end)
        free = (here.kind[part] == TXN) & ~self._sync[part]
        yield FactCount("fates-shared", int(free.sum()))
        at = np.flatnonzero(free & (here.flags[part] & WAIT_SYNC == WAIT_SYNC)) + begin
        if not len(at):
            return
        heads = np.flatnonzero(self._sync[part]) + begin
        known = np.concatenate(([self._head], heads + self._base))
        last = known[np.searchsorted(heads, at)]
        for index in here.index[at[last <= self._place[at]]].tolist():
            yield OddEntry("fates-shared", index, "waits for nothing")

    def roll_back(
        self, here: Slice, names: NamedEntries, number: int
    ) -> Iterator[FactCount | OddEntry]:
        """One of the names, of a ROLLBACK."""
        at, named = int(names.at[number]), names.entry(number)
        queue = self._queue(int(self._place[at]), at)
        places = self._rows.place[queue]
        gone = queue[places >= named.place]
        yield FactCount("rollback-legal", 1)
        why = ""
        if (self._rows.kind[gone] == PROMOTE).any():
            why = "rolls back a PROMOTE"
        elif named.place in self._gone:
            why = f"rolls back {named.index} again"
        elif named.place not in places and not named.sync:
            why = f"names {named.index}, which never waited"
        if why:
            yield OddEntry("rollback-legal", int(here.index[at]), why)
        for index in self._rows.index[gone[self._rows.flags[gone] == 0]].tolist():
            yield OddEntry("fates-shared", index, "shown, and rolled back")
        self._rows.dead[gone] = True
        self._gone.update(self._rows.place[gone].tolist())
        left = queue[places < named.place]
        self._head = self._last(left)

    def waiting(self, at: int, confirmed: int) -> tuple[int, int | None]:
        """Behind an entry, for who has confirmed so far: how many, and the index of the first."""
        above = int(np.searchsorted(self._rows.index, confirmed, side="right"))
        queue = self._queue(NOWHERE, at + 1, above)
        return len(queue), int(self._rows.index[queue[0]]) if len(queue) else None

    def confirmed(self, at: int) -> int:
        """How far the CONFIRMs up to an entry reach, as an index."""
        return int(self._index[at + 1])

    def end(self) -> None:
        """The slice is done. Only what may wait still is kept."""
        queue = self._queue(int(self._place[-1]), len(self._sync))
        self._head = self._last(queue)
        self._rows = self._rows.since(int(queue[0]) if len(queue) else len(self._rows.place))

    def _queue(self, above: int, before: int, least: int = 0) -> Numbers:
        """Which rows wait between two places, the second one of the slice."""
        begin = int(np.searchsorted(self._rows.place, above, side="right"))
        end = int(np.searchsorted(self._rows.place, before + self._base))
        return self._rows.queue(max(begin, least), end)

    def _last(self, queue: Numbers) -> int:
        heads = self._rows.place[queue[self._rows.sync[queue]]]
        return int(heads[-1]) if len(heads) else NOWHERE


def _reach(length: int, begun: int, after: Numbers, named: Numbers) -> Numbers:
    reach = np.full(length + 1, NOWHERE, dtype=np.int64)
    reach[after] = named
    reach[0] = begun
    return np.maximum.accumulate(reach)
