"""The content of every disk, derived from the columns of a run's events.

A node acks only entries on its disk, and a confirmed entry is on the disks of a quorum. A later
write or cut at a lower index removes an entry. So an entry is on the disk if it was written before
with that checksum, and no lower index was written or cut since. Entries before the beginning of a
log are in a snapshot: they are on the disk, with an unknown checksum.

A lost disk stays what it was: it is the disk of a voter that stopped for ever, and the new one that
of another node (membership.md M5 c). So a leader may confirm by an ack of a disk that is gone.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from admin.checker.exhibit import EvidenceRow
from admin.checker.kernels import proofs
from admin.checker.kernels.arrays import Flags, Numbers
from admin.checker.kernels.kernel import PartKernel
from admin.checker.rules import texts
from admin.checker.rules.rule import RuleFinding, Where
from admin.checker.rules.run import NodeEvent, Whose

ROWS = 1 << 17
"""How many events are examined together."""
ACKS, QUORUM = "ack-durable", "quorum-before-confirm"
NUMBERS = ("node", "generation", "number", "index", "term", "crc", "floor")
"""The columns of an event that are read, besides its name."""
_NOTHING = -1
"""No checksum."""
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class DiskEvents:
    """Some events, in order.

    `changes`: written, cut, or found at a start. `floor`: for a confirm, the quorum that its node
    used; 0 if unknown. `begins`: from this event on the log of the node begins after that entry.
    """

    node: Numbers
    generation: Numbers
    number: Numbers
    index: Numbers
    term: Numbers
    crc: Numbers
    floor: Numbers
    durable: Flags
    changes: Flags
    begins: Flags
    ack: Flags
    confirmed: Flags

    @classmethod
    def of(
        cls, numbers: Mapping[str, Numbers], flags: Callable[[Collection[str]], Flags]
    ) -> "DiskEvents":
        """From columns of numbers, and masks of the events with certain names."""
        return cls(
            node=numbers["node"],
            generation=numbers["generation"],
            number=numbers["number"],
            index=numbers["index"],
            term=numbers["term"],
            crc=numbers["crc"],
            floor=numbers["floor"],
            durable=flags({"durable"}),
            changes=flags({"durable", "cut", "started"}),
            begins=flags({"begins"}),
            ack=flags({"ack"}),
            confirmed=flags({"confirmed"}),
        )

    @classmethod
    def of_records(cls, events: Sequence[NodeEvent]) -> "DiskEvents":
        """From events in memory."""
        return cls.of(
            {name: np.array([getattr(e, name) or 0 for e in events], np.int64) for name in NUMBERS},
            lambda names: np.array([each.name in names for each in events], dtype=np.bool_),
        )

    def part(self, first: int, end: int) -> "DiskEvents":
        """Those between two places."""
        return DiskEvents(*(getattr(self, each.name)[first:end] for each in fields(self)))


class DiskWriteColumns(NamedTuple):
    """The changes of one disk, in order: `at` are positions among all examined events."""

    at: Numbers
    index: Numbers  # type: ignore[assignment]  # hides tuple.index, which nobody needs
    crc: Numbers
    number: Numbers
    durable: Flags


class DiskChecksums:
    """Checksums by index before the next writes, and the events that wrote them."""

    def __init__(self) -> None:
        self._before_log = (0, -1)
        """The entry before the log, and the event that states it."""
        self._first = 0
        self._size = 0
        self._room = np.empty((2, 0), dtype=np.int64)

    def holds(
        self, writes: DiskWriteColumns, at: Numbers, index: Numbers, crc: Numbers
    ) -> tuple[Flags, Numbers]:
        """Return whether the entries were on the disk, and the events that wrote them."""
        (had, number), written = self._before(index), np.full(len(index), -1, dtype=np.int64)
        upto = np.searchsorted(writes.at, at)
        if writes.durable.any():
            written = _last(writes, index, upto)
            had = np.where(written >= 0, writes.crc[written], had)
            number = np.where(written >= 0, writes.number[written], number)
        begins, told = self._before_log
        # If nothing is known about the index, the entry counts as present.
        lost = (index <= begins) & (had == _NOTHING)
        number = np.where(lost, told, number)
        same = lost | (had == crc)
        found: Flags = same & (_lowest(writes.index, written + 1, upto) >= index)
        return found, number

    @property
    def last(self) -> int:
        """The last entry; 0 if there is none, or nothing is known."""
        return max(0, self._first + self._size - 1) if self._size else 0

    @property
    def begins(self) -> int:
        """The entry before the log, which a snapshot has with all before it; 0 if there is none."""
        return max(0, self._before_log[0])

    def written(self, index: int) -> tuple[int, int]:
        """Return the checksum of an entry, -1 if it is not known, and the event that wrote it."""
        (crc,), (number,) = self._before(np.array([index], dtype=np.int64))
        return int(crc), int(number)

    def begin_at(self, index: int, crc: int, number: int) -> None:
        """Its log now begins after that entry; the entries that follow it stay."""
        if self.written(index)[0] == crc:
            return
        self._before_log = (index, number)
        self._size = 0
        self._reach(index, index + 1)
        self._room[:, index - self._first] = (crc, number)

    def apply(self, writes: DiskWriteColumns) -> None:
        """From now on they are in the past."""
        index, durable = writes.index, writes.durable
        lowest = int((index + ~durable).min())
        after = np.append(np.minimum.accumulate(index[::-1])[::-1][1:], _NEVER)
        kept = durable & (index <= after)
        self._size = min(self._size, max(lowest - self._first, 0))
        begins, told = self._before_log
        self._before_log = (min(begins, lowest - 1), told)
        if kept.any():
            self._reach(int(index[kept].min()), int(index[kept].max()) + 1)
            # Of several writes of one index the last one stays.
            self._room[:, index[kept] - self._first] = (writes.crc[kept], writes.number[kept])

    def _before(self, index: Numbers) -> Numbers:
        place = index - self._first
        known = (place >= 0) & (place < self._size)
        found = np.full((2, len(index)), _NOTHING, dtype=np.int64)
        found[:, known] = self._room[:, place[known]]
        return found

    def _reach(self, first: int, end: int) -> None:
        """Make room for these; an index that was never written has no checksum."""
        low = min(self._first, first) if self._size else first
        size = max(self._first + self._size if self._size else end, end) - low
        if low != self._first or size > self._room.shape[1]:
            room = np.empty((2, max(size, 2 * self._room.shape[1])), dtype=np.int64)
            begin = self._first - low if self._size else 0
            room[:, :begin] = _NOTHING
            room[:, begin : begin + self._size] = self._room[:, : self._size]
            self._first, self._size, self._room = low, begin + self._size, room
        self._room[:, self._size : size] = _NOTHING
        self._size = size


class Wanted:
    """How many disks must have an entry before it is confirmed, by the quorum of its node.

    If the quorum changed in the batch that confirmed, the earlier quorum, from the node's last
    confirm, is allowed too (`replay.voters` does the same).
    """

    def __init__(self, least: int) -> None:
        self._least = least
        self._said: dict[int, int] = {}
        self.known = bool(least)

    def of(self, events: DiskEvents) -> Numbers:
        """Return it by event; 0 if it is unknown, or nothing is confirmed."""
        found = np.zeros(len(events.node), dtype=np.int64)
        for node in np.unique(events.node[events.confirmed]).tolist():
            at = np.flatnonzero(events.confirmed & (events.node == node))
            says = events.floor[at]
            before = np.concatenate(([self._said.get(node, says[0])], says[:-1]))
            self._said[node] = int(says[-1])
            found[at] = np.maximum(np.minimum(says, before), self._least)
        self.known |= bool(found.any())
        return found


class DiskWalk:
    """All disks of one run. Feed it events in order.

    `durable`: the run has a write. Each confirmed entry is checked against the quorum of the node's
    configuration at that moment, and against `quorum`, the smallest one of the run, if known.
    """

    def __init__(self, quorum: int, rows: int = ROWS) -> None:
        self.durable = False
        self._rows = rows
        self._wanted = Wanted(quorum)
        self.disks: dict[Whose, DiskChecksums] = {}
        """As the events so far leave them."""
        self._written: dict[Whose, int] = {}
        """The number of the last write to each disk."""
        self._highest = 0
        self._acked = False
        self._lacked = False
        self._acks, self._quorums = RuleFinding(), RuleFinding()

    def next_part(self, events: DiskEvents) -> None:
        """The next ones."""
        begins = np.flatnonzero(events.begins).tolist()
        stops = [*begins, len(events.node)]
        for since, upto in zip([0, *begins], stops, strict=True):
            for first in range(since, upto, self._rows):
                self._next(events.part(first, min(first + self._rows, upto)))
            if upto < len(events.node):
                self._begin(events, upto)

    def end(self) -> dict[str, RuleFinding]:
        """The findings; findings about quorums only if the run has writes."""
        if not self._acked:
            self._acks = RuleFinding(lacks="no event `ack` with a checksum")
        if self.durable and not self._wanted.known:
            self._quorums = RuleFinding(lacks="the quorum is not known")
        return {ACKS: self._acks} | ({QUORUM: self._quorums} if self.durable else {})

    def _begin(self, events: DiskEvents, at: int) -> None:
        disk = self.disks.setdefault(_whose(events, at), DiskChecksums())
        disk.begin_at(*(int(each[at]) for each in (events.index, events.crc, events.number)))

    def _next(self, events: DiskEvents) -> None:
        self.durable |= bool(events.durable.any())
        writes = {}
        for whose, at in _by_disk(events, events.changes):
            columns = (events.index[at], events.crc[at], events.number[at], events.durable[at])
            writes[whose] = DiskWriteColumns(at, *columns)
            self.disks.setdefault(whose, DiskChecksums())
        self._judge_acks(events, writes)
        self._judge_quorums(events, writes)
        for whose, own in writes.items():
            self.disks[whose].apply(own)
        for place in np.flatnonzero(events.durable).tolist():
            self._written[_whose(events, place)] = int(events.number[place])

    def _judge_acks(self, events: DiskEvents, writes: dict[Whose, DiskWriteColumns]) -> None:
        acks = events.ack & (events.index != 0)
        self._acked |= bool((events.ack & (events.crc != 0)).any())
        lacks = np.zeros(len(acks), dtype=np.bool_)
        for whose, at in _by_disk(events, acks):
            held, _ = self._holds(whose, writes, at, events)
            lacks[at] = ~held
        self._acks.facts += int(acks.sum())
        for place in np.flatnonzero(lacks).tolist():
            columns = (events.node, events.index, events.term)
            node, index, term = (int(each[place]) for each in columns)
            # With the last write to that disk before the ack.
            rows = [*self._last_write(events, place), proofs.event(int(events.number[place]))]
            where: Where = {"node": node, "index": index, "term": term}
            self._acks.broken(ACKS, texts.acked(node, index), rows, **where)

    def _last_write(self, events: DiskEvents, place: int) -> list[EvidenceRow]:
        whose = _whose(events, place)
        own = events.durable[:place] & (events.node[:place] == whose[0])
        at = np.flatnonzero(own & (events.generation[:place] == whose[1]))
        known = int(events.number[at[-1]]) if len(at) else self._written.get(whose)
        return [] if known is None else [proofs.event(known)]

    def _judge_quorums(self, events: DiskEvents, writes: dict[Whose, DiskWriteColumns]) -> None:
        wanted = self._wanted.of(events)
        at = self._first(events)
        at = at[wanted[at] > 0]
        have: dict[int, tuple[Flags, Numbers]] = {}
        for whose in sorted(self.disks):
            found = self._holds(whose, writes, at, events)
            have[whose[0]] = _either(have.get(whose[0], found), found)
        self._quorums.facts += len(at)
        count = sum((held for held, _ in have.values()), np.zeros(len(at), dtype=np.int64))
        lacks = count < wanted[at]
        # Later confirmed entries depend on it: only the first of a stretch is reported.
        goes_on = np.concatenate(([self._lacked], lacks))[: len(at)]
        self._lacked = bool(lacks[-1]) if len(at) else self._lacked
        for number in np.flatnonzero(lacks & ~goes_on).tolist():
            place = int(at[number])
            node, index = int(events.node[place]), int(events.index[place])
            on = {each: int(by[number]) for each, (held, by) in have.items() if held[number]}
            text = texts.quorum(node, index, list(on), int(wanted[place]))
            rows = [proofs.event(int(events.number[place])), *map(proofs.event, on.values())]
            self._quorums.broken(QUORUM, text, rows, node=node, index=index)

    def _holds(
        self, whose: Whose, writes: dict[Whose, DiskWriteColumns], at: Numbers, events: DiskEvents
    ) -> tuple[Flags, Numbers]:
        none = np.empty(0, dtype=np.int64)
        own = writes.get(whose, DiskWriteColumns(none, none, none, none, none.astype(np.bool_)))
        disk = self.disks.get(whose, DiskChecksums())
        return disk.holds(own, at, events.index[at], events.crc[at])

    def _first(self, events: DiskEvents) -> Numbers:
        """Places where a new index is confirmed."""
        at = np.flatnonzero(events.confirmed)
        reach = np.maximum.accumulate(np.concatenate(([self._highest], events.index[at])))
        self._highest = int(reach[-1])
        return at[events.index[at] > reach[:-1]]


def _whose(events: DiskEvents, at: int) -> Whose:
    return int(events.node[at]), int(events.generation[at])


def _by_disk(events: DiskEvents, wanted: Flags) -> Iterator[tuple[Whose, Numbers]]:
    """Yield each disk with wanted events, and their places."""
    for node in np.unique(events.node[wanted]).tolist():
        own = wanted & (events.node == node)
        for generation in np.unique(events.generation[own]).tolist():
            yield (node, generation), np.flatnonzero(own & (events.generation == generation))


def _either(one: tuple[Flags, Numbers], other: tuple[Flags, Numbers]) -> tuple[Flags, Numbers]:
    """What two disks of one node hold; the event of the later one where both do."""
    return one[0] | other[0], np.where(other[0], other[1], one[1])


def _last(writes: DiskWriteColumns, index: Numbers, upto: Numbers) -> Numbers:
    """Return, by query, the last earlier write of the index, or -1."""
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
    """Return, by query, the minimum of values `since..upto`; a huge value if there are none."""
    found = np.full(len(since), _NEVER, dtype=np.int64)
    length = upto - since
    level, width = values, 1
    while len(level):
        # Two ranges of the largest power of two that fits cover the range.
        fits = np.flatnonzero((length >= width) & (length < 2 * width))
        if len(fits):
            ends = level[upto[fits] - width]
            found[fits] = np.minimum(level[since[fits]], ends)
        if len(level) <= width:
            break
        level, width = np.minimum(level[:-width], level[width:]), 2 * width
    return found


KERNELS = (
    PartKernel(
        QUORUM,
        "confirmed entries are on the disks of a quorum",
        needs=(),
        idle="no confirmed index or no quorum is known, or logs are missing",
    ),
    PartKernel(
        ACKS,
        "acked entries are on the disk",
        needs=("events",),
        idle="no event `ack` with a checksum",
    ),
)
