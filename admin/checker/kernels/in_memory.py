"""Kernels in this process: the columns of a run that is in memory, and what the kernels find."""

import functools
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial

from admin.checker.exhibit import EvidenceRow
from admin.checker.kernels import proofs
from admin.checker.kernels.columns import Digests, Events, LogEntries, Samples
from admin.checker.kernels.kernel import EventReach, Evidence, Kernel, LogKernel
from admin.checker.kernels.logs.findings import LogFindings
from admin.checker.kernels.logs.neighbours import neighbours
from admin.checker.kernels.logs.registry import KERNELS as LOG_KERNELS
from admin.checker.kernels.logs.slices import whole
from admin.checker.kernels.logs.status_samples import limbo_samples
from admin.checker.kernels.logs.walk import LogWalk
from admin.checker.kernels.proofs import EntryPlace
from admin.checker.kernels.registry import EVENTS, KERNELS
from admin.checker.rules.rule import Rule, RuleFinding
from admin.checker.rules.run import PROMOTE, LogTable, RunTables, Whose


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
    )


def finders(run: RunTables) -> dict[str, Callable[[RunTables], RuleFinding]]:
    """By id of each kernel what it finds in this run, of which the columns are made once."""
    evidence = evidence_of(run)
    of_logs = functools.cache(lambda: followed(run))
    found: dict[str, Callable[[RunTables], RuleFinding]] = {}
    found |= {each.id: partial(_found, each, evidence) for each in KERNELS}
    return found | {each.id: partial(_of_logs, each, of_logs) for each in LOG_KERNELS}


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
    proofs.complete(found.values(), partial(entries_of, run.logs))
    return found


def entries_of(
    logs: Mapping[Whose, LogTable], places: set[EntryPlace]
) -> dict[EntryPlace, list[EvidenceRow]]:
    """Entries of logs, for proofs."""
    wanted: dict[Whose, set[int]] = defaultdict(set)
    for node, generation, index in places:
        wanted[node, generation].add(index)
    found: dict[EntryPlace, list[EvidenceRow]] = defaultdict(list)
    for whose, log in logs.items():
        log.sort()
        own = wanted[whose]
        for at, index in enumerate(log.index if own else ()):
            if index in own:
                found[*whose, index] += log.shows(at)
    return found


def _found(kernel: Kernel, evidence: Evidence, _: RunTables) -> RuleFinding:
    return kernel.find(evidence)


def _of_logs(
    kernel: LogKernel, found: Callable[[], dict[str, RuleFinding]], _: RunTables
) -> RuleFinding:
    return found()[kernel.id]


def _alone(kernel: Kernel, run: RunTables) -> RuleFinding:
    return kernel.find(evidence_of(run))


def _log_alone(kernel: LogKernel, run: RunTables) -> RuleFinding:
    return followed(run)[kernel.id]


LOG_RULES = tuple(
    Rule(
        each.id,
        each.title,
        each.needs,
        partial(_log_alone, each),
        counts=each.counts,
        idle=each.idle,
    )
    for each in LOG_KERNELS
)
"""Kernels of logs among the invariants that one process looks for."""
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
