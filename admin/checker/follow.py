"""Follows a running cluster and judges it continuously: prints events, reports violations.

It needs no Spark: `take` gets the statuses and confirmed entries since the last call. It keeps only
the newest entries (`follow_window`), one status per node, and the newest terms.
"""

import statistics
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np

from admin.checker.follow_events import FollowEventKind, FollowNote, StatusEvents
from admin.checker.follow_window import WINDOW, Entries, Ints, Window
from admin.checker.kernels import leaders, samples
from admin.checker.kernels.columns import LogEntries, Samples
from admin.checker.kernels.kernel import Evidence
from admin.checker.rules.catalogue import BY_ID
from admin.checker.rules.rule import Breach
from admin.checker.verdict import Result
from admin.evidence.manifest import Manifest
from admin.evidence.tables import Row

TERMS_MAX: Final = 1024
"""How many terms to remember, with their leader and their writable node."""
VIOLATIONS_MAX: Final = 1000
"""How many are reported; the others are only counted."""
DELAYS_MAX: Final = 4096
OF_STATUS: Final = {
    samples.MONOTONE: samples.monotone,
    samples.ONE_WRITABLE: samples.one_writable,
    samples.COHERENT: samples.coherent,
}
"""Kernels that need only a sample and the one before it."""
FOLLOWED: Final = Manifest(run_id="follow", source="nodes")

_PROMOTE: Final = ("node", "generation", "index", "term", "origin", "lsn", "crc")
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


class FirstOfTerms:
    """The first row of each of the newest terms, to compare later rows with."""

    def __init__(self) -> None:
        self._rows: OrderedDict[int, Row] = OrderedDict()

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def add(self, row: Row) -> None:
        """Keep it, if it is the first of its term."""
        self._rows.setdefault(_int(row["term"]), row)
        while len(self._rows) > TERMS_MAX:
            self._rows.popitem(last=False)


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
        self._leading, self._promoted = FirstOfTerms(), FirstOfTerms()
        self._writable = FirstOfTerms()
        self._raised: set[tuple[str, int, int, int]] = set()

    def poll(self, status: Sequence[Row], log: Log) -> list[FollowNote]:
        """The events since the last call, and their lines of output."""
        self.batches += 1
        self.samples += len(status)
        before = self.events.rows
        told = list(self.events.update(status))
        told += self._raise(self._of_status(before, status))
        told += self._raise(self._of_leaders(status, log))
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
        """Check samples with kernels: the new rows, and the old rows that they need."""
        rows = sorted([*self._writable, *before, *status], key=lambda row: _int(row["sample"]))
        evidence = Evidence(manifest=FOLLOWED, status=Samples.of_rows(rows))
        for id_, find in OF_STATUS.items():
            self.facts[id_] += len(status)
            yield from find(evidence).breaches
        for row in status:
            if row["ro"] is False:
                self._writable.add(row)

    def _of_leaders(self, status: Sequence[Row], log: Log) -> Iterator[Breach]:
        """Check leaders with kernels: the leaders that nodes report, and the PROMOTEs in logs."""
        at = np.flatnonzero(log["promote"])
        columns = [log[name][at].tolist() for name in _PROMOTE]
        rows = zip(*columns, strict=True)
        promotes: list[Row] = [dict(zip(_PROMOTE, row, strict=True)) for row in rows]
        kept, first = _claims(self._promoted, self._leading), self._leading
        evidence = _claims([*self._promoted, *promotes], [*first, *status])
        finding = leaders.one_leader(evidence)
        self.facts[leaders.ONE_LEADER] += finding.facts - leaders.one_leader(kept).facts
        for each in finding.breaches:
            yield replace(each, message=f"{each.message} ({_how(each)})")
        for row in promotes:
            self._promoted.add(row)
        for row in status:
            if row["role"] == "leader" or row["leader"]:
                self._leading.add(row)

    def _of_logs(self, log: Log) -> Iterator[Breach]:
        """Node by node, in order of the index; a row that a node sent twice is used once."""
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
        for id_ in (*OF_STATUS, leaders.ONE_LEADER, *self.window.facts):
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
        """Fails if any invariant fails; a pass needs facts, and two compared logs."""
        results = {each.result for each in self.judged}
        if Result.FAIL in results:
            return Result.FAIL
        return Result.UNKNOWN if Result.UNKNOWN in results else Result.PASS

    @property
    def behind(self) -> tuple[float, float] | None:
        """Seconds from a sample to its verdict: the median and the maximum."""
        return (statistics.median(self.delays), max(self.delays)) if self.delays else None


def _claims(promotes: Iterable[Row], status: Iterable[Row]) -> Evidence:
    return Evidence(
        manifest=FOLLOWED, promotes=LogEntries.of_rows(promotes), status=Samples.of_rows(status)
    )


def _how(breach: Breach) -> str:
    """Return the evidence that the second of two leaders leads."""
    last = breach.witness[-1]
    node = last.row["node"]
    if last.table == LogEntries.table:
        return f"a PROMOTE in the log of node {node}"
    return f"node {node} says so"


def _int(value: object) -> int:
    assert isinstance(value, int), value
    return value
