"""Kernels in this process: the columns of a run in memory, and the kernels' findings."""

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from admin.checker.exhibit import EvidenceRow, exhibit
from admin.checker.kernels import (
    clocks,
    feeds,
    log_ends,
    proofs,
    receipts,
    rolled_back_reads,
    stops,
)
from admin.checker.kernels.columns import Digests, Events, LogEntries, Samples
from admin.checker.kernels.disks import KERNELS as DISK_KERNELS
from admin.checker.kernels.disks import QUORUM, DiskEvents, DiskWalk
from admin.checker.kernels.kernel import EventReach, Evidence, Kernel, PartKernel
from admin.checker.kernels.logs import between
from admin.checker.kernels.logs.findings import LogFindings
from admin.checker.kernels.logs.neighbours import neighbours
from admin.checker.kernels.logs.outlines import LogOutline, Request
from admin.checker.kernels.logs.requests import AskedRequests
from admin.checker.kernels.logs.slices import Slice, whole
from admin.checker.kernels.logs.status_samples import limbo_samples
from admin.checker.kernels.logs.walk import LogWalk
from admin.checker.kernels.proofs import RowPlace
from admin.checker.kernels.questions import TableQuestion, answered
from admin.checker.kernels.quorums import by_logs, confirmed_last
from admin.checker.kernels.registry import EVENTS, KERNELS, LOG_KERNELS
from admin.checker.kernels.rolled_back_reads import HIDDEN, hidden
from admin.checker.kernels.stops import RolledBackStretches
from admin.checker.kernels.tables import MemoryTable
from admin.checker.rules.rule import Rule, RuleFinding
from admin.checker.rules.run import PROMOTE, LogTable, NodeEvent, RunTables, Status, Whose, number
from admin.evidence.tables import Row


def evidence_of(run: RunTables) -> Evidence:
    """The columns of a run."""
    logs = [log for _, log in sorted(run.logs.items())]
    promotes = [
        log.shows(at)[0].row for log in logs for at, kind in enumerate(log.kind) if kind == PROMOTE
    ]
    newest = max((each.term for each in run.events), default=0)
    durable = max((each.index for each in run.events if each.name == "durable"), default=0)
    return Evidence(
        manifest=run.manifest,
        status=Samples.of_records(run.status),
        events=Events.of_records(each for each in run.events if each.name in EVENTS),
        digests=Digests.of_records(run.digests),
        promotes=LogEntries.of_rows(promotes),
        ends=LogEntries.of_rows(log.shows(len(log.index) - 1)[0].row for log in logs),
        reach=EventReach(newest, durable),
        acked=Counter(str(row["f"]) for row in run.ops if row["type"] == "ok" and _appends(row)),
        strikes=run.strikes,
    )


def _appends(row: Row) -> bool:
    """It is not a read-only transaction."""
    if row["f"] != "txn":
        return True
    steps = row.get("value")
    return isinstance(steps, list) and any(step[0] == "append" for step in steps)


class MemoryKernels:
    """A run in memory, as input for kernels: every log is one slice.

    Inputs that several kernels need are computed once.
    """

    def __init__(self, run: RunTables) -> None:
        self.run = run
        self._families: dict[str, Callable[[], dict[str, RuleFinding]]] = {}
        for kernels, family in FAMILIES:
            once = functools.cache(partial(family, self))
            self._families |= dict.fromkeys((each.id for each in kernels), once)

    @functools.cached_property
    def evidence(self) -> Evidence:
        """The columns of small tables."""
        return evidence_of(self.run)

    @functools.cached_property
    def slices(self) -> list[Slice]:
        """All logs."""
        return [whole(self.run.manifest.run_id, log) for _, log in sorted(self.run.logs.items())]

    @functools.cached_property
    def walked(self) -> list[tuple[LogWalk, LogOutline]]:
        """All logs, followed, and their outlines for comparison."""
        status = Samples.of_records(self.run.status)
        samples, confirmed = limbo_samples(status), self.run.confirmed
        asked = AskedRequests.of(failed_requests(self.run.ops))
        found = []
        for here in self.slices:
            _, *whose = here.whose
            log = (whose[0], whose[1])
            upto = confirmed.get(log, 0)
            walk = LogWalk(*log, status, samples.get(log, []), upto=upto, asked=asked)
            walk.next_slice(here)
            if walk.suspects:
                walk.look_again(here)
            found.append((walk, walk.outline()))
        return found

    @property
    def outlines(self) -> list[LogOutline]:
        """The outlines of logs, for comparison."""
        return [outline for _, outline in self.walked]

    def lines(self, names: Iterable[str]) -> MemoryTable:
        """Columns of the history."""
        return MemoryTable.of_rows(self.run.ops, names)

    def find(self, id_: str) -> RuleFinding:
        """The findings of a kernel in this run."""
        return self._families[id_]()[id_]

    def proven(self, found: Mapping[str, RuleFinding]) -> dict[str, RuleFinding]:
        """With full rows as proof."""
        proofs.complete(found.values(), partial(_look_up, self.run))
        return dict(found)


def finders(run: RunTables) -> dict[str, Callable[[RunTables], RuleFinding]]:
    """Return, by id of each kernel, its findings in this run; columns are made once."""
    memory = MemoryKernels(run)
    found: dict[str, Callable[[RunTables], RuleFinding]] = {}
    found |= {each.id: partial(_found, each, memory) for each in KERNELS}
    for kernels, _ in FAMILIES:
        found |= {each.id: partial(_of_family, each, memory) for each in kernels}
    return found


def failed_requests(lines: Iterable[Row]) -> dict[Request, int]:
    """Numbered requests that failed for certain, and the history line of each."""
    found: dict[str, dict[Request, int]] = {"ok": {}, "fail": {}}
    for line in lines:
        if line["type"] in found and line.get("session") and line.get("seq"):
            request = (str(line["session"]), number(line, "seq"))
            found[str(line["type"])][request] = number(line, "index")
    return {each: line for each, line in found["fail"].items() if each not in found["ok"]}


def followed(memory: MemoryKernels) -> dict[str, RuleFinding]:
    """Return, by id, the findings in each log alone."""
    found: dict[str, RuleFinding] = {each.id: RuleFinding() for each in LOG_KERNELS}
    for here, (walk, _) in zip(memory.slices, memory.walked, strict=True):
        shape = LogFindings(*here.whose[1:])
        neighbours(here, shape)
        for id_, own in (walk.end() | shape.by_id).items():
            found[id_].facts += own.facts
            found[id_].breaches += own.breaches
    return memory.proven(found)


def compared(memory: MemoryKernels) -> dict[str, RuleFinding]:
    """Return, by id, the findings of comparing all logs."""
    entries = sum(map(len, memory.slices))
    parted = between.compare(memory.slices) if entries else ()
    return memory.proven(between.judged(memory.outlines, entries, parted))


def receipts_of(memory: MemoryKernels) -> dict[str, RuleFinding]:
    """Return, by id, the findings about receipts."""
    lines = memory.lines(receipts.LINES)
    logs = [receipts.ConfirmedTerms.of(log) for log in memory.outlines]
    kept = receipts.first_lines(receipts.kept(logs, lines))
    last = max((log.last for log in memory.outlines), default=0)
    told, own = receipts.Receipts([lines], 0, last), RuleFinding()
    for log in memory.run.logs.values():
        found = told.look(entries_table(log))
        own.facts += found.facts
        own.breaches += found.breaches
    return memory.proven({receipts.KEPT: kept, receipts.OWN: own})


def feeds_of(memory: MemoryKernels) -> dict[str, RuleFinding]:
    """The answers of change feeds, compared with the longest log."""
    log = feeds.longest(memory.outlines)
    answers = MemoryTable.of_rows(memory.run.feeds, feeds.PLACES)
    found = feeds.order([answers])
    if log is not None:
        entries = entries_table(memory.run.logs[log.whose])
        given = partial(feeds.ConfirmedTransactions.of, log, [entries])
        found.breaches += feeds.wrong(answers, log, given, feeds.before([answers])).breaches
    return memory.proven({feeds.FEED: feeds.joined(found, log)})


def asked_of(memory: MemoryKernels) -> dict[str, RuleFinding]:
    """The findings of kernels that ask questions one after another."""

    def ask(question: TableQuestion) -> Iterator[list[Any]]:
        logs = memory.run.logs.values()
        of_history = question.table == proofs.OPS
        tables = [memory.lines(question.columns)] if of_history else map(entries_table, logs)
        for table in tables:
            yield from question.look(table)

    return memory.proven({HIDDEN: answered(hidden(memory.outlines), ask)})


def clocks_of(memory: MemoryKernels) -> dict[str, RuleFinding]:
    """Clocks of clients and of nodes."""
    replay = clocks.ClockReplay()
    lines = sorted(memory.run.ops, key=lambda line: number(line, "index"))
    replay.lines(number(line, "time") for line in lines)
    replay.samples(Samples.of_records(memory.run.status))
    return {clocks.TIMES: replay.finding()}


def disks(memory: MemoryKernels) -> dict[str, RuleFinding]:
    """Return, by id, the findings about disks: all events are one part."""
    run = memory.run
    walk = DiskWalk(run.manifest.quorum)
    walk.next_part(DiskEvents.of_records(run.events))
    found = walk.end()
    if not walk.durable:
        ahead = confirmed_last(run.manifest)
        upto = 0 if ahead is None else ahead.confirmed
        ends = [row.row for log in run.logs.values() for row in log.shows(*log.places(upto))]
        found[QUORUM] = by_logs(run.manifest, LogEntries.of_rows(ends), run.logs)
    found[log_ends.KEPT] = log_ends.kept(run.manifest, walk.disks, memory.evidence.ends)
    return memory.proven(found)


def stops_of(memory: MemoryKernels) -> dict[str, RuleFinding]:
    """The confirmed indexes of samples and events, compared with the rolled-back ranges."""
    run = memory.run
    stretches = RolledBackStretches.of(memory.outlines)
    samples = [each for each in run.status if each.confirmed]
    events = [each for each in run.events if each.name == "confirmed"]
    found = RuleFinding()
    for claims, index in (
        (samples, [each.confirmed for each in samples]),
        (events, [each.index for each in events]),
    ):
        nodes = np.array([each.node for each in claims], dtype=np.int64)
        places = np.array(index, dtype=np.int64)
        own = stops.stopped(stretches, nodes, places, partial(_shown, claims))
        found.facts += own.facts
        found.breaches += own.breaches
    return memory.proven({stops.STOPS: stops.joined(found, len(stretches))})


def _shown(claims: Sequence[Status | NodeEvent], at: int) -> EvidenceRow:
    return claims[at].shows()


FAMILIES: tuple[
    tuple[Sequence[PartKernel], Callable[[MemoryKernels], dict[str, RuleFinding]]], ...
] = (
    (LOG_KERNELS, followed),
    (between.KERNELS, compared),
    ((*DISK_KERNELS, *log_ends.KERNELS), disks),
    (stops.KERNELS, stops_of),
    (receipts.KERNELS, receipts_of),
    (rolled_back_reads.KERNELS, asked_of),
    (feeds.KERNELS, feeds_of),
    (clocks.KERNELS, clocks_of),
)
"""Kernels of tables that come in parts, and their findings in a run in memory."""


def entries_table(log: LogTable) -> MemoryTable:
    """The entries of a log, with the columns that slices lack."""
    size = len(log.index)
    columns: dict[str, Sequence[object]] = {
        "node": [log.node] * size,
        "generation": [log.generation] * size,
        "index": log.index,
        "term": log.term,
        "kind": log.kind,
        "session": [None if each is None else each[0] for each in log.request],
        "seq": [None if each is None else each[1] for each in log.request],
        "space": log.space,
        "key_hash": log.key,
    }
    return MemoryTable(columns, size)


def _look_up(run: RunTables, places: set[RowPlace]) -> dict[RowPlace, list[EvidenceRow]]:
    events = {each.number for each in places if each.table == proofs.EVENTS}
    known = {each.number: each for each in run.events if each.number in events}
    found = entries_of(run.logs, places)
    for place, each in known.items():
        found[RowPlace(proofs.EVENTS, place)] = [each.shows()]
    for table, rows in ((proofs.OPS, run.ops), (proofs.FEEDS, run.feeds)):
        names = proofs.PLACES[table]
        for row in rows if any(each.table == table for each in places) else ():
            at = RowPlace(table, *(number(row, name) for name in names))
            if at in places:
                found[at] = [exhibit(table, row)]
    return found


def entries_of(
    logs: Mapping[Whose, LogTable], places: set[RowPlace]
) -> dict[RowPlace, list[EvidenceRow]]:
    """Entries of logs, for proofs."""
    found: dict[RowPlace, list[EvidenceRow]] = defaultdict(list)
    asked = {(each.node, each.generation) for each in places}
    for whose, log in logs.items():
        log.sort()
        for at, index in enumerate(log.index if whose in asked else ()):
            place = RowPlace(proofs.WAL, index, *whose)
            if place in places:
                found[place] += log.shows(at)
    return found


def _found(kernel: Kernel, memory: MemoryKernels, _: RunTables) -> RuleFinding:
    return kernel.find(memory.evidence)


def _of_family(kernel: PartKernel, memory: MemoryKernels, _: RunTables) -> RuleFinding:
    return memory.find(kernel.id)


def _alone(kernel: Kernel, run: RunTables) -> RuleFinding:
    return kernel.find(evidence_of(run))


def _part_alone(kernel: PartKernel, run: RunTables) -> RuleFinding:
    return MemoryKernels(run).find(kernel.id)


PART_RULES = {
    each.id: Rule(
        each.id,
        each.title,
        each.needs,
        partial(_part_alone, each),
        counts=each.counts,
        idle=each.idle,
    )
    for kernels, _ in FAMILIES
    for each in kernels
}
"""The kernels that one process runs, as invariants."""
RULES = tuple(
    Rule(
        each.id,
        each.title,
        each.needs,
        partial(_alone, each),
        counts=each.counts,
        excuse=each.excuse,
        idle=each.idle,
    )
    for each in KERNELS
)
"""The kernels that one process runs."""
