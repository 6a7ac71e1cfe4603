"""Kernels in this process: the columns of a run that is in memory, and what the kernels find."""

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from admin.checker.exhibit import EvidenceRow
from admin.checker.kernels import proofs, stops
from admin.checker.kernels.columns import Digests, Events, LogEntries, Samples
from admin.checker.kernels.disks import KERNELS as DISK_KERNELS
from admin.checker.kernels.disks import QUORUM, DiskEvents, DiskWalk, by_logs, confirmed_last
from admin.checker.kernels.kernel import EventReach, Evidence, Kernel, PartKernel
from admin.checker.kernels.logs.findings import LogFindings
from admin.checker.kernels.logs.neighbours import neighbours
from admin.checker.kernels.logs.registry import KERNELS as LOG_KERNELS
from admin.checker.kernels.logs.slices import whole
from admin.checker.kernels.logs.status_samples import limbo_samples
from admin.checker.kernels.logs.walk import LogWalk
from admin.checker.kernels.proofs import RowPlace
from admin.checker.kernels.registry import EVENTS, KERNELS
from admin.checker.kernels.stops import RolledBackStretches
from admin.checker.rules.fates import replay
from admin.checker.rules.rule import Rule, RuleFinding
from admin.checker.rules.run import PROMOTE, LogTable, NodeEvent, RunTables, Status, Whose
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
    """It is no transaction that only reads."""
    if row["f"] != "txn":
        return True
    steps = row.get("value")
    return isinstance(steps, list) and any(step[0] == "append" for step in steps)


def finders(run: RunTables) -> dict[str, Callable[[RunTables], RuleFinding]]:
    """By id of each kernel what it finds in this run, of which the columns are made once."""
    evidence = evidence_of(run)
    found: dict[str, Callable[[RunTables], RuleFinding]] = {}
    found |= {each.id: partial(_found, each, evidence) for each in KERNELS}
    for kernels, family in FAMILIES:
        once = functools.cache(partial(family, run))
        found |= {each.id: partial(_of_family, each, once) for each in kernels}
    return found


def followed(run: RunTables) -> dict[str, RuleFinding]:
    """By id what is found in all logs of a run, each of which is one slice."""
    status = Samples.of_records(run.status)
    samples = limbo_samples(status)
    found: dict[str, RuleFinding] = {each.id: RuleFinding() for each in LOG_KERNELS}
    for whose, log in run.logs.items():
        walk = LogWalk(*whose, status, samples.get(whose, []))
        slice_ = whole(run.manifest.run_id, log)
        walk.next_slice(slice_)
        shape = LogFindings(*whose)
        neighbours(slice_, shape)
        for id_, own in (walk.end() | shape.by_id).items():
            found[id_].facts += own.facts
            found[id_].breaches += own.breaches
    proofs.complete(found.values(), partial(_look_up, run))
    return found


def disks(run: RunTables) -> dict[str, RuleFinding]:
    """By id what is found of disks: all events are one part."""
    walk = DiskWalk(run.manifest.quorum)
    walk.next_part(DiskEvents.of_records(run.events))
    found = walk.end()
    if not walk.durable:
        ahead = confirmed_last(run.manifest)
        upto = 0 if ahead is None else ahead.confirmed
        ends = [row.row for log in run.logs.values() for row in log.shows(*log.places(upto))]
        found[QUORUM] = by_logs(run.manifest, LogEntries.of_rows(ends), len(run.logs))
    proofs.complete(found.values(), partial(_look_up, run))
    return found


def stops_of(run: RunTables) -> dict[str, RuleFinding]:
    """What samples and events say to be confirmed, beside what is rolled back."""
    confirmed = run.confirmed
    stretches = RolledBackStretches.of(
        (*whose, index, by)
        for whose, log in run.logs.items()
        if log.first == 1
        for index, by in replay(log, confirmed.get(whose, 0)).rolled_back_by.items()
    )
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
    found = stops.joined(found, len(stretches))
    proofs.complete([found], partial(_look_up, run))
    return {stops.STOPS: found}


def _shown(claims: Sequence[Status | NodeEvent], at: int) -> EvidenceRow:
    return claims[at].shows()


FAMILIES = ((LOG_KERNELS, followed), (DISK_KERNELS, disks), (stops.KERNELS, stops_of))
"""Kernels of tables that come in parts, and what they find in a run that is in memory."""


def _look_up(run: RunTables, places: set[RowPlace]) -> dict[RowPlace, list[EvidenceRow]]:
    events = {each.number for each in places if each.table == proofs.EVENTS}
    known = {each.number: each for each in run.events if each.number in events}
    found = entries_of(run.logs, places)
    for number, each in known.items():
        found[RowPlace(proofs.EVENTS, number)] = [each.shows()]
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


def _found(kernel: Kernel, evidence: Evidence, _: RunTables) -> RuleFinding:
    return kernel.find(evidence)


def _of_family(
    kernel: PartKernel, found: Callable[[], dict[str, RuleFinding]], _: RunTables
) -> RuleFinding:
    return found()[kernel.id]


def _alone(kernel: Kernel, run: RunTables) -> RuleFinding:
    return kernel.find(evidence_of(run))


def _part_alone(
    kernel: PartKernel, family: Callable[[RunTables], dict[str, RuleFinding]], run: RunTables
) -> RuleFinding:
    return family(run)[kernel.id]


PART_RULES = {
    each.id: Rule(
        each.id,
        each.title,
        each.needs,
        partial(_part_alone, each, family),
        counts=each.counts,
        idle=each.idle,
    )
    for kernels, family in FAMILIES
    for each in kernels
}
"""Those among the invariants that one process looks for."""
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
"""Kernels among the invariants that one process looks for."""
