"""What is on every disk, followed through the events of a run in columns.

An ack is of what is on its node's disk, and what is confirmed first is on the disks of a quorum.
Of what a disk holds, an entry is lost to every later write or cut below it: so it is there at a
moment if it was written before, with that checksum, and nothing lower was touched in between.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from admin.checker.kernels.arrays import Flags, Numbers
from admin.checker.rules import texts
from admin.checker.spark.arrays import among, numbers
from admin.checker.spark.job_schema import BREACH, FACTS, FindingRow

COLUMNS = ("node", "number", "name", "index", "term", "crc")
"""What is looked at of an event."""
ROWS = 1 << 17
"""Events that are looked at together."""
ACKS, QUORUM = "ack-durable", "quorum-before-confirm"
_NOTHING = -1
"""No checksum."""
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class DiskWriteColumns:
    """What happened to one disk, in order: `at` are places among all events that are looked at."""

    at: Numbers
    index: Numbers
    crc: Numbers
    durable: Flags


class DiskChecksums:
    """Checksums by index, as they were before the writes that come next."""

    def __init__(self) -> None:
        self._first = 0
        self._size = 0
        self._room = np.empty(0, dtype=np.int64)

    def holds(self, writes: DiskWriteColumns, at: Numbers, index: Numbers, crc: Numbers) -> Flags:
        """Whether entries were there at places among the writes."""
        had, written = self._before(index), np.full(len(index), -1, dtype=np.int64)
        upto = np.searchsorted(writes.at, at)
        if writes.durable.any():
            written = _last(writes, index, upto)
            had = np.where(written >= 0, writes.crc[written], had)
        found: Flags = (had == crc) & (_lowest(writes.index, written + 1, upto) >= index)
        return found

    def apply(self, writes: DiskWriteColumns) -> None:
        """From now on they are behind us."""
        index, durable = writes.index, writes.durable
        lowest = int((index + ~durable).min())
        after = np.append(np.minimum.accumulate(index[::-1])[::-1][1:], _NEVER)
        kept = durable & (index <= after)
        self._size = min(self._size, max(lowest - self._first, 0))
        if kept.any():
            self._reach(int(index[kept].min()), int(index[kept].max()) + 1)
            # Of several writes of one place the last one stays.
            self._room[index[kept] - self._first] = writes.crc[kept]

    def _before(self, index: Numbers) -> Numbers:
        place = index - self._first
        known = (place >= 0) & (place < self._size)
        found = np.full(len(index), _NOTHING, dtype=np.int64)
        found[known] = self._room[place[known]]
        return found

    def _reach(self, first: int, end: int) -> None:
        """Room for these; what was never written has no checksum."""
        low = min(self._first, first) if self._size else first
        size = max(self._first + self._size if self._size else end, end) - low
        if low != self._first or size > len(self._room):
            room = np.empty(max(size, 2 * len(self._room)), dtype=np.int64)
            begin = self._first - low if self._size else 0
            room[:begin] = _NOTHING
            room[begin : begin + self._size] = self._room[: self._size]
            self._first, self._size, self._room = low, begin + self._size, room
        self._room[self._size : size] = _NOTHING
        self._size = size


class RunDisks:
    """All disks of one run. Feed it tables of events in order."""

    def __init__(self, run_id: str, quorum: int, rows: int = ROWS) -> None:
        self.run_id = run_id
        self._rows = rows
        self._quorum = quorum
        self._disks: dict[int, DiskChecksums] = {}
        self._highest = 0
        self._acked = False
        self._durable = False
        self._lacked = False
        self._facts = {ACKS: 0, QUORUM: 0}
        self._odd: list[FindingRow] = []

    def apply(self, events: pa.Table) -> None:
        """The next ones."""
        for first in range(0, len(events), self._rows):
            self._take(events.slice(first, self._rows))

    def end(self) -> Iterator[FindingRow]:
        """What was found, of what can be known."""
        told = {ACKS: self._acked, QUORUM: self._durable and bool(self._quorum)}
        for id_, facts in self._facts.items():
            if told[id_]:
                yield FindingRow(self.run_id, FACTS, id_, amount=facts)
        yield from (each for each in self._odd if told[each.invariant])

    def _take(self, events: pa.Table) -> None:
        index, crc, node, term = (
            numbers(events, each) for each in ("index", "crc", "node", "term")
        )
        durable = among(events, "name", ("durable",))
        changes = durable | among(events, "name", ("cut", "started"))
        self._durable |= bool(durable.any())
        writes = {}
        for one in np.unique(node[changes]).tolist():
            at = np.flatnonzero(changes & (node == one))
            writes[one] = DiskWriteColumns(at, index[at], crc[at], durable[at])
            self._disks.setdefault(one, DiskChecksums())
        acks = among(events, "name", ("ack",)) & (index != 0)
        self._acked |= bool((among(events, "name", ("ack",)) & (crc != 0)).any())
        for one in np.unique(node[acks]).tolist():
            at = np.flatnonzero(acks & (node == one))
            held = self._holds(one, writes, at, index, crc)
            self._facts[ACKS] += len(at)
            for place in at[~held].tolist():
                text = texts.acked(one, int(index[place]))
                where = (one, 0, int(index[place]), int(term[place]))
                self._odd.append(FindingRow(self.run_id, BREACH, ACKS, *where, 0, text))
        at = self._first(among(events, "name", ("confirmed",)), index)
        have = {one: self._holds(one, writes, at, index, crc) for one in sorted(self._disks)}
        self._facts[QUORUM] += len(at)
        count = sum(have.values(), np.zeros(len(at), dtype=np.int64))
        lacks = count < self._quorum
        # What is confirmed behind it stands on it: the first of a stretch is told.
        goes_on = np.concatenate(([self._lacked], lacks))[: len(at)]
        self._lacked = bool(lacks[-1]) if len(at) else self._lacked
        for number in np.flatnonzero(lacks & ~goes_on).tolist():
            place = (int(node[at[number]]), int(index[at[number]]))
            on = [one for one, held in have.items() if held[number]]
            text = texts.quorum(*place, on, self._quorum)
            where = (place[0], 0, place[1], 0)
            self._odd.append(FindingRow(self.run_id, BREACH, QUORUM, *where, 0, text))
        for one, own in writes.items():
            self._disks[one].apply(own)

    def _holds(
        self,
        node: int,
        writes: dict[int, DiskWriteColumns],
        at: Numbers,
        index: Numbers,
        crc: Numbers,
    ) -> Flags:
        none = np.empty(0, dtype=np.int64)
        own = writes.get(node, DiskWriteColumns(none, none, none, none.astype(np.bool_)))
        disk = self._disks.get(node, DiskChecksums())
        return disk.holds(own, at, index[at], crc[at])

    def _first(self, confirmed: Flags, index: Numbers) -> Numbers:
        """Places where something is confirmed that was not before."""
        at = np.flatnonzero(confirmed)
        reach = np.maximum.accumulate(np.concatenate(([self._highest], index[at])))
        self._highest = int(reach[-1])
        return at[index[at] > reach[:-1]]


def _last(writes: DiskWriteColumns, index: Numbers, upto: Numbers) -> Numbers:
    """By query: which of the writes before wrote that place last, -1 if none did."""
    found = np.full(len(index), -1, dtype=np.int64)
    made = np.flatnonzero(writes.durable)
    places, rank = np.unique(writes.index[made], return_inverse=True)
    size = len(writes.at) + 1
    keys = rank * size + made
    order = np.argsort(keys, kind="stable")
    keys, made = keys[order], made[order]
    wanted = np.minimum(np.searchsorted(places, index), len(places) - 1)
    at = np.searchsorted(keys, wanted * size + upto) - 1
    there = (places[wanted] == index) & (at >= 0) & (keys[at] >= wanted * size)
    found[there] = made[at[there]]
    return found


def _lowest(values: Numbers, since: Numbers, upto: Numbers) -> Numbers:
    """By query the least of the values `since..upto`; of none, what is never reached."""
    found = np.full(len(since), _NEVER, dtype=np.int64)
    length = upto - since
    level, width = values, 1
    while len(level):
        # A range is covered by two of the greatest width that fits into it.
        fits = np.flatnonzero((length >= width) & (length < 2 * width))
        if len(fits):
            ends = level[upto[fits] - width]
            found[fits] = np.minimum(level[since[fits]], ends)
        if len(level) <= width:
            break
        level, width = np.minimum(level[:-width], level[width:]), 2 * width
    return found
