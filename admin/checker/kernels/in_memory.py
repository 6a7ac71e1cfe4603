"""Kernels in this process: the columns of a run that is in memory, and what the kernels find."""

from collections.abc import Callable
from functools import partial

from admin.checker.kernels.columns import Digests, Events, LogEntries, Samples
from admin.checker.kernels.kernel import EventReach, Evidence, Kernel
from admin.checker.kernels.registry import EVENTS, KERNELS
from admin.checker.rules.rule import Rule, RuleFinding
from admin.checker.rules.run import PROMOTE, RunTables


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
    return {each.id: partial(_found, each, evidence) for each in KERNELS}


def _found(kernel: Kernel, evidence: Evidence, _: RunTables) -> RuleFinding:
    return kernel.find(evidence)


def _alone(kernel: Kernel, run: RunTables) -> RuleFinding:
    return kernel.find(evidence_of(run))


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
