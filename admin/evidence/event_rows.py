"""Rows of `events` from the records of one node: what came on its disk, and what it sent."""

import struct
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from admin.evidence.tables import Row
from qsync.checksum import crc32
from qsync.store.eventpack import What

FLOORS_MAX: Final = 1 << 16
"""How many answers are remembered that a later read must show; reads wait for seconds at most."""
_TERMLESS: Final = 5
"""The length of records of reads that nodes of former versions wrote, without terms."""
_PLAIN: Final[Mapping[int, Sequence[str]]] = {
    What.VOTE: ("vote", "peer", "term"),
    What.ACK: ("ack", "peer", "term", "index", "crc"),
    What.LEADS: ("leads", "term"),
    What.CONFIRMED: ("confirmed", "index", "term", "crc", "floor"),
    What.PROMISED: ("promised", "peer", "term", "floor"),
    What.RELEASED: ("released", "peer", "term"),
    What.OPENED: ("log-opened", "peer", "index"),
    What.SLEPT: ("slept", "floor"),
}
"""Events that become one row unchanged: the name, and the columns after the time."""


class DiskRows:
    """The log of one node by its events: checksums, from that of entry `_first` on."""

    def __init__(self) -> None:
        self._first = 1
        self._crcs = array("I")
        self._ballot: list[object] = []

    def rows(self, record: Sequence[object]) -> Iterator[Row]:
        """Return what a start, a snapshot or a write put on the disk that was not there before."""
        if record[0] == What.STARTED:
            yield from self._started(record)
        elif record[0] == What.BEGAN:
            yield from self._begins(*map(int_of, record[2:]))
        else:
            yield from self._vote(record[2])
            if record[3] is not None:
                yield {"name": "cut", "index": record[3]}
                del self._crcs[int_of(record[3]) + 1 - self._first :]
            if record[6]:
                yield from self._durable(int_of(record[4]), list_of(record[5]), _crcs(record[6]))

    def _started(self, record: Sequence[object]) -> Iterator[Row]:
        about, runs, crcs = table_of(record[2]), list_of(record[4]), _crcs(record[5])
        first = int_of(about.get("first", 1))
        same = self._same(first, crcs)
        yield {"name": "started", "index": first + len(crcs) - 1}
        yield from _opened(about)
        yield from self._vote(record[3])
        if first > 1 and crcs:
            yield from self._begins(first, int_of(list_of(runs[0])[1]), crcs[0])
        # The entry before the log is known by now.
        yield from self._durable(first, runs, crcs, skip=max(same, first > 1))

    def _same(self, first: int, crcs: Sequence[int]) -> int:
        """Return how many entries are known already: a checksum covers all before it, too."""
        before = first - self._first
        count = min(len(crcs), len(self._crcs) - before) if before >= 0 else 0
        upto = range(1, count + 1)
        return bisect_left(upto, 1, key=lambda at: crcs[at - 1] != self._crcs[before + at - 1])

    def _begins(self, index: int, term: int, crc: int) -> Iterator[Row]:
        """Begin at an entry; known entries that follow it stay (membership.md M6 c)."""
        place = index - self._first
        known = 0 <= place < len(self._crcs) and self._crcs[place] == crc
        self._first, self._crcs = index, self._crcs[place:] if known else array("I", [crc])
        yield {"name": "begins", "index": index, "term": term, "crc": crc}

    def _vote(self, ballot: object) -> Iterator[Row]:
        if ballot is None or ballot == self._ballot:
            return
        self._ballot = list_of(ballot)
        term, peer = self._ballot
        if term:
            yield {"name": "ballot", "term": term, "peer": peer}

    def _durable(
        self, first: int, runs: Sequence[object], crcs: "array[int]", *, skip: int = 0
    ) -> Iterator[Row]:
        del self._crcs[first - self._first + skip :]
        self._crcs += crcs[skip:]
        at = 0
        for count, term in map(list_of, runs):
            stop = at + int_of(count)
            for place in range(max(at, skip), stop):
                index = first + place
                yield {"name": "durable", "index": index, "term": term, "crc": crcs[place]}
            at = stop


class SentRows:
    """The messages that were sent, and what reads had to show by then."""

    def __init__(self) -> None:
        self._times: list[int] = [0]
        self._floors: list[int] = [0]

    def rows(self, record: Sequence[object]) -> Iterator[Row]:
        """Return the rows of a record; mostly one."""
        what, at = record[0], int_of(record[1])
        if what == What.ANSWERED:
            self._rise(at, int_of(record[2]))
        elif what == What.CONFIGURED:
            yield from _configured(record)
        elif what == What.SERVED:
            floor = self._floors[bisect_left(self._times, int_of(record[3])) - 1]
            self._rise(at, int_of(record[4]))
            place: Row = {
                "index": record[2],
                "term": record[5] if len(record) > _TERMLESS else None,
            }
            yield {"name": "served", "floor": floor, **place}
        else:
            assert isinstance(what, int)
            name, *columns = _PLAIN[what]
            yield {"name": name, **dict(zip(columns, record[2:], strict=True))}

    def _rise(self, at: int, floor: int) -> None:
        if floor > self._floors[-1]:
            self._times.append(at)
            self._floors.append(floor)
        if len(self._times) > 2 * FLOORS_MAX:
            del self._times[1:FLOORS_MAX], self._floors[1:FLOORS_MAX]


def _opened(about: Mapping[str, object]) -> Iterator[Row]:
    """Return directory, file and clock of a life; nodes of former versions do not record them."""
    if "inode" in about:
        number = instance_of(about)
        place: Row = {"index": about["inode"], "peer": about["device"], "floor": number}
        yield {"name": "opened", **place}
    if "file" in about:
        device, inode = list_of(about["file"])
        yield {"name": "log-opened", "peer": device, "index": inode}
        yield {"name": "slept", "floor": about["slept"]}


def instance_of(about: Mapping[str, object]) -> int:
    """Return the number that stands for the instance in evidence; 0 if it was not recorded."""
    return instance_number(str(about["instance"])) if "instance" in about else 0


def instance_number(instance: str) -> int:
    """Return the number that stands for an instance in evidence."""
    return crc32(instance.encode())


def _configured(record: Sequence[object]) -> Iterator[Row]:
    """Return a configuration, followed by its voters, each on a directory."""
    place: Row = {"index": record[2], "term": record[3]}
    voters = list_of(record[4])
    yield {"name": "configured", "floor": len(voters), **place}
    for replica, instance in map(list_of, voters):
        yield {"name": "voter", "peer": replica, "floor": instance, **place}


def _crcs(packed: object) -> "array[int]":
    assert isinstance(packed, bytes), packed
    return array("I", struct.unpack(f"<{len(packed) // 4}I", packed))


def int_of(value: object) -> int:
    """A member of a record that is a number."""
    assert isinstance(value, int), value
    return value


def list_of(value: object) -> list[object]:
    """A member of a record that is a list."""
    assert isinstance(value, list), value
    return value


def table_of(value: object) -> dict[str, object]:
    """A member of a record that is a table."""
    assert isinstance(value, dict), value
    return value
