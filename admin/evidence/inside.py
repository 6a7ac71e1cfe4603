"""The events that nodes recorded, as rows of `events` in one order.

All clocks must be one: then whatever happened because of something else comes behind it, since
nothing is sent before it is written down. What is read is a moment that all nodes agree on: from
when the last of them began to write, to when the first of them ended, or was read.
"""

import heapq
import struct
import time
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from admin.evidence.tables import UNSEEN, Row
from election.quorum import majority
from qsync.store.eventfile import READABLE, Life, clock, lives
from qsync.store.eventpack import What

FLOORS_MAX: Final = 1 << 16
"""How many answers are remembered that a later read must show; reads wait for seconds at most."""
_EVER: Final = 1 << 63
_TERMLESS: Final = 5
"""The length of records of reads that nodes of former versions wrote, without terms."""
_OF_DISKS: Final = frozenset({What.STARTED, What.WROTE, What.BEGAN})
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


EventPair = tuple[int, int]
"""A node, and the number of its instance: 0 if nodes of former versions did not record it."""


class StampedEvent(NamedTuple):
    """An event that a node recorded, with its time."""

    time: int
    node: int
    life: int
    generation: int
    record: Sequence[object]


@dataclass(slots=True)
class _Directory:
    """The lives of one node, and how each begins."""

    node: int
    lives: list[Life]
    firsts: list[Sequence[object]]

    @property
    def about(self) -> Mapping[str, object]:
        """The opening record of the node's last life."""
        return _table(self.firsts[-1][2])

    def stamped(self) -> Iterator[StampedEvent]:
        """Return all records of the node, in order."""
        for life in self.lives:
            for record in life.records():
                yield StampedEvent(_int(record[1]), self.node, life.number, life.generation, record)


@dataclass(slots=True)
class Inside:
    """The events of all nodes of a cluster. `why`: why some or all of it is missing.

    `quorum`: the smallest that anything was confirmed by, once the rows are read, but not below a
    majority of the voters of that time: such a one may not be. `voters`: how many there were when
    nodes started last.
    """

    why: str = ""
    quorum: int = 0
    voters: int = 0
    generations: Mapping[int, int] = field(default_factory=dict)
    _directories: list[_Directory] = field(default_factory=list)
    _upto: int = 0
    _begun: "_Begun | None" = None

    @property
    def latest(self) -> frozenset[EventPair]:
        """The voters counted by at last, once the rows are read; empty if unknown."""
        return frozenset() if self._begun is None else self._begun.latest

    def tells_all(self, node: int, instance: str) -> bool:
        """Return whether, once the rows are read, they end with a life of this directory."""
        return not self.why and any(
            each.node == node and each.about.get("instance") == instance
            for each in self._directories
        )

    def rows(self) -> Iterator[Row]:
        """Return the rows, numbered by time. Afterwards `why` says whether that is all."""
        disks = {each.node: _Disk() for each in self._directories}
        begun = self._begun = _Begun(self._directories)
        sent = _Sent()
        number = 0
        for each in heapq.merge(*(one.stamped() for one in self._directories)):
            if each.time >= self._upto:
                return
            what = each.record[0]
            if what == What.STOPPED:
                self.why = f"events of node {each.node} end early: {each.record[2]}"
                return
            begun.observe(each)
            if what == What.LEADS and not begun.saw_votes(each.node, _int(each.record[2])):
                continue  # a voter may not have written its vote down yet
            if what == What.CONFIRMED:
                least = majority(len(begun.voters(each.node) or range(self.voters)))
                quorum = max(_int(each.record[5]), least)
                self.quorum = min(self.quorum or quorum, quorum)
            whose = {"node": each.node, "generation": each.generation, "life": each.life}
            rows = (disks[each.node] if what in _OF_DISKS else sent).rows(each.record)
            if what == What.CONFIRMED and not begun.sees_disks(each.node):
                rows = _unseen(rows)  # and not every disk is known
            for row in rows:
                number += 1
                yield whose | {"number": number, "time_mono": each.time} | row


class _Begun:
    """Which nodes have begun to record, and by which votes and disks each counts.

    What a node has done before its first record nobody knows. That matters to those that count by
    it: who joins a cluster that grows counts for nothing before. A voter counts by its directory
    alone: records of another one with its id say nothing of it.
    """

    def __init__(self, directories: Iterable[_Directory]) -> None:
        self._terms: dict[EventPair, int] = {
            (each.node, _instance(_table(first[2]))): _int(_list(each.firsts[0][3])[0])
            for each in directories
            for first in each.firsts
        }
        """In which term each begins."""
        self._begun: set[EventPair] = set()
        self._voters: dict[int, frozenset[EventPair]] = {}
        self._furthest = (0, 0)
        """The highest confirmed index, and its node."""

    @property
    def latest(self) -> frozenset[EventPair]:
        """The voters by which the node counts that has confirmed the most."""
        return self.voters(self._furthest[1])

    def observe(self, each: StampedEvent) -> None:
        """Take the next record of any node."""
        if each.record[0] == What.STARTED:
            self._begun.add((each.node, _instance(_table(each.record[2]))))
        elif each.record[0] == What.CONFIGURED:
            pairs = map(_list, _list(each.record[4]))
            self._voters[each.node] = frozenset((_int(one), _int(other)) for one, other in pairs)
        elif each.record[0] == What.CONFIRMED:
            self._furthest = max(self._furthest, (_int(each.record[2]), each.node))

    def voters(self, node: int) -> frozenset[EventPair]:
        """Return the voters by which a node counts; empty if it did not record that."""
        return self._voters.get(node, frozenset())

    def saw_votes(self, node: int, term: int) -> bool:
        """Return whether all that may have voted for it in a term have recorded that."""
        counted = self.voters(node) or self._terms
        return all(self._terms.get(each, term) < term for each in counted)

    def sees_disks(self, node: int) -> bool:
        """Return whether all that it may count by had recorded by now what is on their disks."""
        if counted := self.voters(node):
            return self._begun >= counted
        return {each for each, _ in self._begun} >= {each for each, _ in self._terms}


def gather(places: Mapping[int, Path]) -> Inside:
    """Gather the events in directories, by node id. Of running nodes: those up to now."""
    now = time.monotonic_ns()
    found = [_open(node, place) for node, place in sorted(places.items())]
    there = [each for each in found if each.firsts]
    if not there:
        return Inside()
    firsts = [first for each in there for first in each.firsts]
    abouts = [_table(first[2]) for first in firsts]
    voters = {_int(each) for one in there for each in _list(one.about["voters"])}
    missing = sorted(voters - {each.node for each in there})
    if any(about["format"] not in READABLE for about in abouts):
        return Inside(f"events are kept in another format than {max(READABLE)}")
    clocks = {about["clock"] for about in abouts}
    if len(clocks) > 1:
        return Inside("the nodes' events are of several machines, or of several boots of one")
    if missing:
        return Inside(f"there are no events of {', '.join(f'node {each}' for each in missing)}")
    generations = {each.node: each.lives[-1].generation for each in there}
    upto = now if clocks == {clock()} else _EVER  # elsewhere nothing of it runs here
    return Inside(voters=len(voters), generations=generations, _directories=there, _upto=upto)


def _open(node: int, place: Path) -> _Directory:
    """Open the lives; one without a complete beginning has sent nothing to anybody."""
    begun = [(life, next(life.records(), None)) for life in lives(place)]
    known = [(life, first) for life, first in begun if first is not None]
    begun_by = [(life, each) for life, each in known if each[0] == What.STARTED]
    _tell_apart([(life, _table(each[2])) for life, each in begun_by])
    return _Directory(node, [life for life, _ in known], [each for _, each in begun_by])


def _tell_apart(lives_: Sequence[tuple[Life, Mapping[str, object]]]) -> None:
    """Separate instances: another one is another directory, even if its change was not noted.

    What an instance said and promised binds no other one (membership.md M5 a).
    """
    more = 0
    noted, instance = 0, None
    for life, about in lives_:
        is_new = about.get("instance") != instance
        more += instance is not None and is_new and life.generation == noted
        noted, instance = life.generation, about.get("instance")
        life.generation += more


class _Disk:
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
            yield from self._begins(*map(_int, record[2:]))
        else:
            yield from self._vote(record[2])
            if record[3] is not None:
                yield {"name": "cut", "index": record[3]}
                del self._crcs[_int(record[3]) + 1 - self._first :]
            if record[6]:
                yield from self._durable(_int(record[4]), _list(record[5]), _crcs(record[6]))

    def _started(self, record: Sequence[object]) -> Iterator[Row]:
        about, runs, crcs = _table(record[2]), _list(record[4]), _crcs(record[5])
        first = _int(about.get("first", 1))
        same = self._same(first, crcs)
        yield {"name": "started", "index": first + len(crcs) - 1}
        yield from _opened(about)
        yield from self._vote(record[3])
        if first > 1 and crcs:
            yield from self._begins(first, _int(_list(runs[0])[1]), crcs[0])
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
        self._ballot = _list(ballot)
        term, peer = self._ballot
        if term:
            yield {"name": "ballot", "term": term, "peer": peer}

    def _durable(
        self, first: int, runs: Sequence[object], crcs: "array[int]", *, skip: int = 0
    ) -> Iterator[Row]:
        del self._crcs[first - self._first + skip :]
        self._crcs += crcs[skip:]
        at = 0
        for count, term in map(_list, runs):
            stop = at + _int(count)
            for place in range(max(at, skip), stop):
                index = first + place
                yield {"name": "durable", "index": index, "term": term, "crc": crcs[place]}
            at = stop


class _Sent:
    """The messages that were sent, and what reads had to show by then."""

    def __init__(self) -> None:
        self._times: list[int] = [0]
        self._floors: list[int] = [0]

    def rows(self, record: Sequence[object]) -> Iterator[Row]:
        """Return the rows of a record; mostly one."""
        what, at = record[0], _int(record[1])
        if what == What.ANSWERED:
            self._rise(at, _int(record[2]))
        elif what == What.CONFIGURED:
            yield from _configured(record)
        elif what == What.SERVED:
            floor = self._floors[bisect_left(self._times, _int(record[3])) - 1]
            self._rise(at, _int(record[4]))
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
        number = _instance(about)
        place: Row = {"index": about["inode"], "peer": about["device"], "floor": number}
        yield {"name": "opened", **place}
    if "file" in about:
        device, inode = _list(about["file"])
        yield {"name": "log-opened", "peer": device, "index": inode}
        yield {"name": "slept", "floor": about["slept"]}


def _unseen(rows: Iterable[Row]) -> Iterator[Row]:
    """Return rows of what was confirmed as those of which nobody can count the disks."""
    for row in rows:
        yield row | {"name": UNSEEN}


def _instance(about: Mapping[str, object]) -> int:
    """Return the number that stands for the instance in evidence; 0 if it was not recorded."""
    return instance_number(str(about["instance"])) if "instance" in about else 0


def instance_number(instance: str) -> int:
    """Return the number that stands for an instance in evidence."""
    return zlib.crc32(instance.encode())


def _configured(record: Sequence[object]) -> Iterator[Row]:
    """Return a configuration, followed by its voters, each on a directory."""
    place: Row = {"index": record[2], "term": record[3]}
    voters = _list(record[4])
    yield {"name": "configured", "floor": len(voters), **place}
    for replica, instance in map(_list, voters):
        yield {"name": "voter", "peer": replica, "floor": instance, **place}


def _crcs(packed: object) -> "array[int]":
    assert isinstance(packed, bytes), packed
    return array("I", struct.unpack(f"<{len(packed) // 4}I", packed))


def _int(value: object) -> int:
    assert isinstance(value, int), value
    return value


def _list(value: object) -> list[object]:
    assert isinstance(value, list), value
    return value


def _table(value: object) -> dict[str, object]:
    assert isinstance(value, dict), value
    return value
