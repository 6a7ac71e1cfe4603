"""CONFIRM and ROLLBACK records, and the pending entries that follow from them.

The queue begins with an entry that waits for a quorum. It contains every transaction and PROMOTE
from there on that no CONFIRM has reached and no ROLLBACK removed.
"""

from bisect import bisect_right
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from admin.checker.kernels.arrays import NOBODY, Flags, Numbers
from admin.checker.kernels.kernel import PartKernel
from admin.checker.kernels.logs.findings import LogFindings
from admin.checker.kernels.logs.outlines import RolledBackStretch
from admin.checker.kernels.logs.references import NamedEntries
from admin.checker.kernels.logs.slices import CONFIRM, PROMOTE, TXN, Slice
from qsync.record import WAIT_SYNC

FATES, FORWARD = "log-fates", "confirms-forward"
LEGAL, SHARED = "rollback-legal", "fates-shared"
NOWHERE = -1


@dataclass(frozen=True, slots=True)
class PendingRows:
    """Transactions and PROMOTEs, in order. `asked`: of a request; `dead`: rolled back."""

    place: Numbers
    index: Numbers
    term: Numbers
    kind: Numbers
    lsn: Numbers
    flags: Numbers
    sync: Flags
    asked: Flags
    dead: Flags

    @classmethod
    def of(cls, here: Slice, sync: Flags, base: int) -> "PendingRows":
        """The entries of a slice whose first entry has the position `base`."""
        at = np.flatnonzero((here.kind == TXN) | (here.kind == PROMOTE))
        return cls(
            place=at + base,
            index=here.index[at],
            term=here.term[at],
            kind=here.kind[at],
            lsn=here.lsn[at],
            flags=here.flags[at],
            sync=sync[at],
            asked=here.request.session[at] != NOBODY,
            dead=np.zeros(len(at), dtype=np.bool_),
        )

    def then(self, other: "PendingRows") -> "PendingRows":
        """One after the other."""
        pairs = ((getattr(self, each.name), getattr(other, each.name)) for each in fields(self))
        return PendingRows(*(np.concatenate(pair) for pair in pairs))

    def since(self, at: int) -> "PendingRows":
        """Without the entries before."""
        return PendingRows(*(getattr(self, each.name)[at:] for each in fields(self)))

    def queue(self, begin: int, end: int) -> Numbers:
        """The waiting entries: not rolled back, from the first that needs a quorum on."""
        live = ~self.dead[begin:end]
        heads = live & self.sync[begin:end]
        first = int(heads.argmax()) if heads.any() else len(heads)
        return np.flatnonzero(live[first:]) + begin + first


@dataclass(slots=True)
class Reach:
    """The reach of CONFIRMs: the last confirmed entry before each position of the slice.

    The entry has a `place` in the log and an `index`; `record` is the index of the first CONFIRM
    that named it.
    """

    place: Numbers
    index: Numbers
    record: Numbers

    @classmethod
    def none(cls) -> "Reach":
        """Return the state without a confirmed entry."""
        return cls(*(np.array([NOWHERE]) for _ in range(3)))

    def go_on(self, here: Slice, names: NamedEntries, confirms: Flags) -> None:
        """Advance over the next slice."""
        at = names.at[confirms]
        after = at + 1
        former = int(self.place[-1])
        self.index = _reach(len(here), int(self.index[-1]), after, names.index[confirms])
        named = names.place[confirms]
        self.place = _reach(len(here), former, after, named)
        rises = named > np.maximum.accumulate(np.concatenate(([former], named)))[:-1]
        records = np.full(len(here) + 1, NOWHERE, dtype=np.int64)
        records[0] = self.record[-1]
        records[after[rises]] = here.index[at[rises]]
        self.record = np.maximum.accumulate(records)


class QueuedEntries:
    """Which entries of a log were pending when they were appended: one bit each."""

    def __init__(self) -> None:
        self.here: Flags = np.empty(0, dtype=np.bool_)
        """Of the slice."""
        self._begins: list[int] = []
        self._bits: list[NDArray[np.uint8]] = []

    def next_slice(self, sync: Flags, base: int) -> None:
        """An entry that waits for a quorum is pending; the others are set later."""
        if self._begins:
            self._bits.append(np.packbits(self.here))
        self._begins.append(base)
        self.here = sync.copy()

    def was(self, place: int) -> bool:
        """The bit of a position in the log."""
        at = bisect_right(self._begins, place) - 1
        ahead = place - self._begins[at]
        if at == len(self._begins) - 1:
            return bool(self.here[ahead])
        return bool(self._bits[at][ahead // 8] >> (7 - ahead % 8) & 1)


class LimboWalk:
    """One log. For each slice call `next_slice`, `behind` and `roll_back` in order, `end_slice`."""

    def __init__(self, found: LogFindings) -> None:
        nothing, none = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_)
        self.reach = Reach.none()
        self.rolled: list[RolledBackStretch] = []
        """In order of the ROLLBACKs."""
        self._found = found
        self._rows = PendingRows(*(nothing,) * 6, none, none, none)
        self._base = 0
        self._head = NOWHERE
        """The last position before the current one that waits for a quorum."""
        self._sync = none
        self._queued = QueuedEntries()
        self._gone: dict[int, int] = {}
        """By position of a rolled-back entry, the index of the last ROLLBACK that removed it."""
        self._lsns: dict[int, int] = {}
        """By origin, before the slice: the highest lsn that a CONFIRM named."""
        self._confirms = np.empty((3, 0), dtype=np.int64)
        """In the slice: the position of a CONFIRM, and the origin and lsn that it names."""

    def next_slice(self, here: Slice, sync: Flags, names: NamedEntries, base: int) -> None:
        """Take the next slice, whose first position is `base`, and check its CONFIRMs."""
        confirms = here.kind[names.at] == CONFIRM
        self._base, self._sync = base, sync
        self._queued.next_slice(sync, base)
        self._rows = self._rows.then(PendingRows.of(here, sync, base))
        before = self.reach
        at = names.at[confirms]
        self._confirms = np.stack((at, here.ref.owner[at], here.ref.lsn[at]))
        self.reach = Reach(before.place, before.index, before.record)
        self.reach.go_on(here, names, confirms)
        self._found.count(FORWARD, int(confirms.sum()))
        old = names.term != here.term[names.at]
        back = self.reach.place[names.at] >= names.place
        for number in np.flatnonzero(confirms & (old | ~names.sync | back)).tolist():
            self._confirms_wrongly(here, names, number)

    def _confirms_wrongly(self, here: Slice, names: NamedEntries, number: int) -> None:
        at, named = int(names.at[number]), names.entry(number)
        index, term = int(here.index[at]), int(here.term[at])
        former, record = int(self.reach.index[at]), int(self.reach.record[at])
        why = f"after {former} was confirmed at {record}"
        if named.term != term:
            why = f"of term {named.term}; entries of older terms decide nothing"
        elif not named.sync:
            why = "which waits for no quorum"
        which = f"the CONFIRM at {index} of term {term} on node {self._found.node}"
        proof = (named.index, None if record == NOWHERE else record, index)
        self._found.odd(FORWARD, index, f"{which} names {named.index}, {why}", *proof)

    def behind(self, here: Slice, begin: int, end: int) -> None:
        """Asynchronous transactions without a ROLLBACK between: none waits on an empty queue."""
        part = slice(begin, end)
        free = (here.kind[part] == TXN) & ~self._sync[part]
        self._found.count(SHARED, int(free.sum()))
        at = np.flatnonzero(free) + begin
        heads = np.flatnonzero(self._sync[part]) + begin
        known = np.concatenate(([self._head], heads + self._base))
        alone = known[np.searchsorted(heads, at)] <= self.reach.place[at]
        self._queued.here[at] = ~alone
        for index in here.index[at[alone & (here.flags[at] & WAIT_SYNC == WAIT_SYNC)]].tolist():
            which = f"the asynchronous entry {index} of node {self._found.node}"
            message = f"{which} waits, and nothing before it was pending"
            self._found.odd(SHARED, index, message, index)

    def roll_back(self, here: Slice, names: NamedEntries, number: int) -> None:
        """Check one entry that a ROLLBACK names."""
        at, named = int(names.at[number]), names.entry(number)
        queue, index = self._queue(int(self.reach.place[at]), at), int(here.index[at])
        places = self._rows.place[queue]
        gone = queue[places >= named.place]
        self._found.count(LEGAL, 1)
        promotes = self._rows.index[gone[self._rows.kind[gone] == PROMOTE]].tolist()
        why, proof = "", [named.index, index]
        if promotes:
            why, proof = f"rolls back the PROMOTE at {promotes[0]}", [promotes[0], index]
        elif named.place in self._gone:
            by = self._gone[named.place]
            why = f"rolls back {named.index}, rolled back at {by} before"
            proof = [named.index, by, index]
        elif named.place not in places and not named.sync:
            why = f"names {named.index}, which never waited"
        if why:
            message = f"the ROLLBACK at {index} of node {self._found.node} {why}"
            self._found.odd(LEGAL, index, message, *proof)
        if self._was_confirmed(named.place, places):
            why, by = (
                f"rolls back {named.index}, which was confirmed before",
                int(self.reach.record[at]),
            )
            self._contradicts(index, why, named.index, by, index)
        old = gone[self._rows.term[gone] != here.term[at]]
        if len(old):
            first, term = int(self._rows.index[old[0]]), int(self._rows.term[old[0]])
            why = f"rolls back {first}, inherited from term {term}"
            self._contradicts(index, why, first, index)
        for each in self._rows.index[gone[self._rows.flags[gone] == 0]].tolist():
            which = f"the asynchronous entry {each} of node {self._found.node}"
            message = f"{which} was shown at once, and rolled back at {index}"
            self._found.odd(SHARED, each, message, int(self._rows.index[gone[0]]), each, index)
        self.take_back(here, names, number)

    def take_back(self, here: Slice, names: NamedEntries, number: int) -> None:
        """The entries that a ROLLBACK removes are rolled back, and no longer pending."""
        at, named = int(names.at[number]), names.entry(number)
        queue, index = self._queue(int(self.reach.place[at]), at), int(here.index[at])
        places = self._rows.place[queue]
        gone = queue[places >= named.place]
        self._rows.dead[gone] = True
        self._goes(gone, index)
        self._gone |= dict.fromkeys(self._rows.place[gone].tolist(), index)
        self._head = self._last(queue[places < named.place])

    def _goes(self, gone: Numbers, by: int) -> None:
        """These rows are rolled back."""
        for own in np.split(gone, np.flatnonzero(np.diff(self._rows.index[gone]) != 1) + 1):
            if len(own):
                first, last = (int(self._rows.index[at]) for at in (own[0], own[-1]))
                requests = int(self._rows.asked[own].sum())
                self.rolled.append(RolledBackStretch(first, last, by, requests))

    def decide(self, here: Slice, names: NamedEntries) -> None:
        """All records of the slice: no CONFIRM names an entry that was rolled back before."""
        self._found.count(FATES, len(names.at))
        rolled = np.fromiter(self._gone, dtype=np.int64, count=len(self._gone))
        suspect = (here.kind[names.at] == CONFIRM) & np.isin(names.place, rolled)
        for number in np.flatnonzero(suspect).tolist():
            index, named = int(here.index[names.at[number]]), names.entry(number)
            by = self._gone[named.place]
            if by < index:
                why = f"confirms {named.index}, which was rolled back before"
                self._contradicts(index, why, named.index, by, index)

    def waiting(self, at: int, confirmed: int) -> tuple[int, int | None]:
        """The number of entries waiting after a confirmed entry, and the index of the first."""
        above = int(np.searchsorted(self._rows.index, confirmed, side="right"))
        queue = self._queue(NOWHERE, at + 1, above)
        return len(queue), int(self._rows.index[queue[0]]) if len(queue) else None

    def first_pending(self, at: int) -> int | None:
        """The lsn of the first waiting entry before a position of the slice."""
        queue = self._queue(int(self.reach.place[at]), at)
        return int(self._rows.lsn[queue[0]]) if len(queue) else None

    def confirmed_lsn(self, at: int, origin: int) -> int:
        """The highest lsn of an origin that a CONFIRM before a position of the slice names."""
        where, owner, lsn = self._confirms
        named = lsn[(where < at) & (owner == origin)]
        return int(max(named.max(initial=0), self._lsns.get(origin, 0)))

    def end_slice(self) -> None:
        """End the slice. Only entries that may still wait are kept."""
        for origin in np.unique(self._confirms[1]).tolist():
            self._lsns[origin] = self.confirmed_lsn(len(self._sync), origin)
        queue = self._queue(int(self.reach.place[-1]), len(self._sync))
        self._head = self._last(queue)
        self._rows = self._rows.since(int(queue[0]) if len(queue) else len(self._rows.place))

    def _was_confirmed(self, place: int, pending: Numbers) -> bool:
        """It was pending, is no longer pending, and was not rolled back."""
        return self._queued.was(place) and place not in pending and place not in self._gone

    def _contradicts(self, record: int, why: str, *proof: int) -> None:
        message = f"the record at {record} of node {self._found.node} {why}"
        self._found.odd(FATES, record, message, *proof)

    def _queue(self, above: int, before: int, least: int = 0) -> Numbers:
        """The rows that wait between two positions; the second is in the slice."""
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


KERNELS = (
    PartKernel(
        FATES,
        "no entry is both confirmed and rolled back",
        idle="no complete log has a CONFIRM or a ROLLBACK",
    ),
    PartKernel(
        FORWARD,
        "CONFIRMs move forward, and name entries of their own term",
        idle="no log has a CONFIRM together with the entry that it names",
    ),
    PartKernel(
        LEGAL,
        "a ROLLBACK removes only pending entries",
        idle="no complete log has a ROLLBACK",
    ),
    PartKernel(
        SHARED,
        "an entry queued behind a synchronous one commits or rolls back with it",
        idle="no complete log has an asynchronous transaction",
    ),
)
