"""What happens in a running cluster, judged as it comes: events are told, violations raised.

No Spark here: `take` gets what nodes said and confirmed since the last call, from wherever. All
that is kept is the newest entries (`follow_window`), one status a node, and the newest terms.
"""

import statistics
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np

from admin.checker.follow_events import FollowEventKind, FollowNote, StatusEvents
from admin.checker.follow_window import WINDOW, Entries, Ints, Window
from admin.checker.rules.catalogue import BY_ID
from admin.checker.rules.rule import Breach
from admin.checker.rules.run import build
from admin.checker.verdict import Result
from admin.evidence.manifest import Manifest
from admin.evidence.tables import Row

TERMS_MAX: Final = 1024
"""Terms whose leader and whose writable node are remembered."""
VIOLATIONS_MAX: Final = 1000
"""So many are told; the others are only counted."""
DELAYS_MAX: Final = 4096
ONE_LEADER: Final = "one-leader"
OF_STATUS: Final = ("status-monotone", "one-writable", "status-coherent")
"""Invariants that are judged by the functions of the other tiers."""

Log: TypeAlias = Mapping[str, Ints]
"""Columns `node`, `generation`, `index`, `term`, `origin`, `lsn`, `crc`, `promote`: confirmed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowVerdict:
    """An invariant at the end."""

    id: str
    title: str
    result: Result
    facts: int
    violations: int


@dataclass(slots=True)
class _Terms:
    """Who did something in each of the newest terms."""

    known: OrderedDict[int, int] = field(default_factory=OrderedDict)

    def other(self, term: int, node: int) -> int:
        """Who did it before, if somebody else did; 0 if not."""
        before = self.known.setdefault(term, node)
        while len(self.known) > TERMS_MAX:
            self.known.popitem(last=False)
        return 0 if before == node else before


class Follow:
    """One cluster, from the first call of `take` on."""

    def __init__(self, *, window: int = WINDOW, now: Callable[[], float] = time.monotonic) -> None:
        self.window = Window(window)
        self.batches = 0
        self.samples = 0
        self.violations: Counter[str] = Counter()
        self.facts: Counter[str] = Counter()
        self.delays: deque[float] = deque(maxlen=DELAYS_MAX)
        self.events = StatusEvents(now)
        self._leaders = _Terms()
        self._writable: OrderedDict[int, Row] = OrderedDict()
        self._raised: set[tuple[str, int, int, int]] = set()

    def poll(self, status: Sequence[Row], log: Log) -> list[FollowNote]:
        """What came since the last call, and what is to be told of it."""
        self.batches += 1
        self.samples += len(status)
        before = self.events.rows
        told = list(self.events.update(status))
        told += self._raise(self._of_status(before, status))
        unseen = self.window.unseen
        told += self._raise(self._of_logs(log))
        if self.window.unseen > unseen:
            count = self.window.unseen - unseen
            told.append(
                self.events.record(f"{count} entries were not looked at: their node went away")
            )
        return told

    # -- what must not be

    def _of_status(self, before: Sequence[Row], status: Sequence[Row]) -> Iterator[Breach]:
        """By the rules of the other tiers: the new rows, and of the old ones what they need."""
        manifest = Manifest(run_id="follow", source="nodes")
        run = build(manifest, {"status": [*self._writable.values(), *before, *status]})
        for id_ in OF_STATUS:
            finding = BY_ID[id_].find(run)
            self.facts[id_] += len(status)
            yield from finding.breaches
        for row in status:
            if row["role"] == "leader":
                yield from self._claim(_int(row["term"]), _int(row["node"]), "it says so itself")
            if row["ro"] is False:
                self._writable.setdefault(_int(row["term"]), row)
        while len(self._writable) > TERMS_MAX:
            self._writable.popitem(last=False)

    def _of_logs(self, log: Log) -> Iterator[Breach]:
        """Node by node, in order of the index; rows that a node gave twice are one."""
        if not len(log["index"]):
            return
        whose = np.unique(np.stack((log["node"], log["generation"])), axis=1)
        for node, generation in whose.T.tolist():
            at = np.flatnonzero((log["node"] == node) & (log["generation"] == generation))
            _, once = np.unique(log["index"][at], return_index=True)
            at = at[once]
            for some in np.split(at, np.flatnonzero(np.diff(log["index"][at]) != 1) + 1):
                yield from self._entries((node, generation), log, some)

    def _entries(self, whose: tuple[int, int], log: Log, at: Ints) -> Iterator[Breach]:
        columns = (log[name][at] for name in ("term", "crc", "origin", "lsn"))
        yield from self.window.extend(whose, Entries(int(log["index"][at[0]]), *columns))
        for place in at[log["promote"][at] != 0]:
            term, origin = int(log["term"][place]), int(log["origin"][place])
            yield from self._claim(term, origin, f"a PROMOTE in the log of node {whose[0]}")

    def _claim(self, term: int, node: int, how: str) -> Iterator[Breach]:
        self.facts[ONE_LEADER] += 1
        other = self._leaders.other(term, node)
        if other:
            message = f"term {term} has two leaders, {other} and {node} ({how})"
            yield Breach(invariant=ONE_LEADER, message=message, term=term)

    def _raise(self, breaches: Iterator[Breach]) -> Iterator[FollowNote]:
        for each in breaches:
            if each.where in self._raised:
                continue
            self.violations[each.invariant] += 1
            if len(self._raised) >= VIOLATIONS_MAX:
                continue
            self._raised.add(each.where)
            yield FollowNote(
                what=FollowEventKind.VIOLATION,
                message=each.message,
                seconds=self.events.seconds,
                invariant=each.invariant,
                node=each.node,
                index=each.index,
                term=each.term,
            )

    # -- the end

    @property
    def judged(self) -> list[FollowVerdict]:
        """Every invariant that is followed."""
        facts = self.facts + Counter(self.window.facts)
        found = []
        for id_ in (*OF_STATUS, ONE_LEADER, *self.window.facts):
            count = self.violations[id_]
            result = Result.FAIL if count else Result.PASS if facts[id_] else Result.UNKNOWN
            found.append(
                FollowVerdict(
                    id=id_,
                    title=BY_ID[id_].title,
                    result=result,
                    facts=facts[id_],
                    violations=count,
                )
            )
        return found

    @property
    def result(self) -> Result:
        """Fails if anything does; a pass needs facts, and two logs that were compared."""
        results = {each.result for each in self.judged}
        if Result.FAIL in results:
            return Result.FAIL
        return Result.UNKNOWN if Result.UNKNOWN in results else Result.PASS

    @property
    def behind(self) -> tuple[float, float] | None:
        """Seconds from a sample to its judgement: the median, and the most."""
        return (statistics.median(self.delays), max(self.delays)) if self.delays else None


def _int(value: object) -> int:
    assert isinstance(value, int), value
    return value
