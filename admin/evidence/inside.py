"""The events that nodes recorded, as rows of `events` in one order.

All clocks must be one: then whatever happened because of something else comes behind it, since
nothing is sent before it is written down. What is read is a moment that all nodes agree on: from
when the last of them began to write, to when the first of them ended, or was read.
"""

import heapq
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from admin.evidence.event_rows import (
    DiskRows,
    SentRows,
    instance_of,
    int_of,
    list_of,
    table_of,
)
from admin.evidence.tables import UNSEEN, Row
from election.quorum import majority
from qsync.errors import StoreError
from qsync.store.eventfile import READABLE, Life, clock, lives
from qsync.store.eventpack import What

_EVER: Final = 1 << 63
_OF_DISKS: Final = frozenset({What.STARTED, What.WROTE, What.BEGAN})
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
        return table_of(self.firsts[-1][2])

    def stamped(self) -> Iterator[StampedEvent]:
        """Return all records of the node, in order."""
        for life in self.lives:
            for record in life.records():
                yield StampedEvent(
                    int_of(record[1]), self.node, life.number, life.generation, record
                )


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
    removed: tuple[int, ...] = ()
    """Nodes without events here by whose votes and disks no node counts any more."""
    generations: Mapping[int, int] = field(default_factory=dict)
    _directories: list[_Directory] = field(default_factory=list)
    _upto: int = 0
    _begun: "_Begun | None" = None

    @property
    def left_out(self) -> str:
        """What the rows tell nothing of because of removed nodes, in words; empty of nothing."""
        named = ", ".join(f"node {each}" for each in self.removed)
        return named and (
            f"there are no events of {named}, by which no node counts any more: elections and "
            "confirmations of the time before are left out"
        )

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
        disks = {each.node: DiskRows() for each in self._directories}
        begun = self._begun = _Begun(self._directories, whole=not self.removed)
        sent = SentRows()
        number = 0
        for each in heapq.merge(*(one.stamped() for one in self._directories)):
            if each.time >= self._upto:
                return
            what = each.record[0]
            if what == What.STOPPED:
                self.why = f"events of node {each.node} end early: {each.record[2]}"
                return
            begun.observe(each)
            if what == What.LEADS and not begun.saw_votes(each.node, int_of(each.record[2])):
                continue  # a voter may not have written its vote down yet
            if what == What.CONFIRMED:
                least = majority(len(begun.voters(each.node) or range(self.voters)))
                quorum = max(int_of(each.record[5]), least)
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

    def __init__(self, directories: Iterable[_Directory], *, whole: bool) -> None:
        """`whole`: every node that was counted by when one of these started is among them."""
        self._whole = whole
        self._terms: dict[EventPair, int] = {
            (each.node, instance_of(table_of(first[2]))): int_of(list_of(each.firsts[0][3])[0])
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
            self._begun.add((each.node, instance_of(table_of(each.record[2]))))
        elif each.record[0] == What.CONFIGURED:
            pairs = map(list_of, list_of(each.record[4]))
            self._voters[each.node] = frozenset(
                (int_of(one), int_of(other)) for one, other in pairs
            )
        elif each.record[0] == What.CONFIRMED:
            self._furthest = max(self._furthest, (int_of(each.record[2]), each.node))

    def voters(self, node: int) -> frozenset[EventPair]:
        """Return the voters by which a node counts; empty if it did not record that."""
        return self._voters.get(node, frozenset())

    def saw_votes(self, node: int, term: int) -> bool:
        """Return whether all that may have voted for it in a term have recorded that."""
        if not (self._whole or self.voters(node)):
            return False
        counted = self.voters(node) or self._terms
        return all(self._terms.get(each, term) < term for each in counted)

    def sees_disks(self, node: int) -> bool:
        """Return whether all that it may count by had recorded by now what is on their disks."""
        if counted := self.voters(node):
            return self._begun >= counted
        return self._whole and {each for each, _ in self._begun} >= {
            each for each, _ in self._terms
        }


def gather(places: Mapping[int, Path]) -> Inside:
    """Gather the events in directories, by node id. Of running nodes: those up to now."""
    now = time.monotonic_ns()
    found = [_open(node, place) for node, place in sorted(places.items())]
    there = [each for each in found if each.firsts]
    if not there:
        return Inside()
    if strange := _of_others(there) or _copied(there, places):
        return Inside(strange)
    firsts = [first for each in there for first in each.firsts]
    abouts = [table_of(first[2]) for first in firsts]
    voters = {int_of(each) for one in there for each in list_of(one.about["voters"])}
    missing = sorted(voters - {each.node for each in there})
    if any(about["format"] not in READABLE for about in abouts):
        return Inside(f"events are kept in another format than {max(READABLE)}")
    clocks = {about["clock"] for about in abouts}
    if len(clocks) > 1:
        return Inside("the nodes' events are of several machines, or of several boots of one")
    for node, counted in _counted_at_last(there).items() if missing else ():
        if needed := [each for each in missing if each in counted]:
            return Inside(
                f"there are no events of {', '.join(f'node {each}' for each in needed)}, by which "
                f"node {node} counted to the end: what is in that directory is needed, too"
            )
    generations = {each.node: each.lives[-1].generation for each in there}
    upto = now if clocks == {clock()} else _EVER  # elsewhere nothing of it runs here
    return Inside(
        voters=len(voters),
        removed=tuple(missing),
        generations=generations,
        _directories=there,
        _upto=upto,
    )


def _counted_at_last(there: Iterable[_Directory]) -> dict[int, set[int]]:
    """Return by which voters each node counted when it recorded last."""
    found: dict[int, set[int]] = {}
    for each in there:
        found[each.node] = {int_of(one) for one in list_of(each.about["voters"])}
        for record in each.lives[-1].records():
            if record[0] == What.CONFIGURED:
                found[each.node] = {int_of(list_of(pair)[0]) for pair in list_of(record[4])}
    return found


def _of_others(there: Iterable[_Directory]) -> str:
    """Return whose events are in the directory of another node, if any are."""
    found = [
        f"events in the directory of node {each.node} are of node {table_of(first[2])['me']}"
        for each in there
        for first in each.firsts
        if table_of(first[2]).get("me", each.node) != each.node
    ]
    return "; ".join(dict.fromkeys(found))


def _copied(there: Iterable[_Directory], places: Mapping[int, Path]) -> str:
    """Return which directories are copies, if others are not.

    Somebody has put them back, and their events may be as old as they are. Evidence that was
    copied as a whole is as good as its originals.
    """
    nodes = [each.node for each in there]
    copies = [node for node in nodes if _is_copy(places[node])]
    named = ", ".join(f"node {node}" for node in copies)
    told = f"the directory of {named} is a copy, and may be an old one"
    return told if 0 < len(copies) < len(nodes) else ""


def _is_copy(place: Path) -> bool:
    from qsync.life import DirectoryCopied  # noqa: PLC0415 - LMDB is slow to import
    from qsync.store.lives import LivesFile  # noqa: PLC0415 - the same

    try:
        LivesFile(place)
    except DirectoryCopied:
        return True
    except StoreError:
        pass  # nobody knows
    return False


def _open(node: int, place: Path) -> _Directory:
    """Open the lives; one without a complete beginning has sent nothing to anybody."""
    begun = [(life, next(life.records(), None)) for life in lives(place)]
    known = [(life, first) for life, first in begun if first is not None]
    begun_by = [(life, each) for life, each in known if each[0] == What.STARTED]
    _tell_apart([(life, table_of(each[2])) for life, each in begun_by])
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


def _unseen(rows: Iterable[Row]) -> Iterator[Row]:
    """Return rows of what was confirmed as those of which nobody can count the disks."""
    for row in rows:
        yield row | {"name": UNSEEN}
