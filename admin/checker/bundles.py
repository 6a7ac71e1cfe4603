"""A bundle of evidence judged in this process (tier 1): every invariant, and its history."""

import itertools
import json
from collections.abc import Collection
from pathlib import Path

from admin.checker import kinds as objects
from admin.checker.elle import IsolationLevel
from admin.checker.kernels.in_memory import MemoryKernels
from admin.checker.kinds import Hints
from admin.checker.linear import STEPS_MAX
from admin.checker.operation import CompletionType, Operation, operations
from admin.checker.quick import CheckedInvariant, HistoryReport, check_operations
from admin.checker.readers import HistoryFormat
from admin.checker.resolve import ResolvedLog, resolve
from admin.checker.rules.catalogue import BY_ID, judge, load
from admin.checker.rules.run import RunTables
from admin.evidence.tables import RUN
from admin.workload.history import parse


def check_bundle(
    path: Path,
    hints: Hints | None = None,
    *,
    level: IsolationLevel = IsolationLevel.STRICT_SERIALIZABLE,
    steps_max: int = STEPS_MAX,
) -> HistoryReport:
    """Raises NoEvidence if it is not a bundle, ValueError for an invalid history."""
    return check_run(load(path), hints, name=str(path), level=level, steps_max=steps_max)


def check_run(
    run: RunTables,
    hints: Hints | None = None,
    *,
    name: str,
    level: IsolationLevel = IsolationLevel.STRICT_SERIALIZABLE,
    steps_max: int = STEPS_MAX,
    only: Collection[str] | None = None,
) -> HistoryReport:
    """Check a run in memory; the report calls it `name`.

    `only`: the ids of the invariants to check. Raises ValueError for an invalid history.
    """
    found: list[Operation] = []
    kinds: tuple[objects.ObjectKind, ...] = ()
    checked: tuple[CheckedInvariant, ...] = ()
    if only is None or not BY_ID.keys() >= set(only):
        found = history_of(run)
    if found:
        kinds, checked = check_operations(found, hints or Hints(), level, steps_max)
    if only is not None:
        checked = tuple(each for each in checked if each.verdict.invariant in only)
    return HistoryReport(
        file=name,
        format=HistoryFormat.OURS,
        kinds=kinds,
        operations=found,
        checked=(*judge(run, only), *checked),
    )


def history_of(run: RunTables) -> list[Operation]:
    """What the clients did, with unknown outcomes as the logs resolve them."""
    lines = parse(json.dumps({k: v for k, v in row.items() if k != RUN}) for row in run.ops)
    found = operations(lines)
    unnamed = any(each.kind is CompletionType.INFO and each.seq is None for each in found)
    return resolve(found, _decided(run, complete=run.manifest.whole and not unnamed))


def _decided(run: RunTables, *, complete: bool) -> ResolvedLog:
    """Return the outcomes of requests, by the longest confirmed log that has its first entry."""
    whole = [log for log in MemoryKernels(run).outlines if log.first == 1]
    if not whole:
        return ResolvedLog(applied=frozenset(), complete=False)
    best = max(whole, key=lambda log: (log.confirmed, log.whose))
    log = run.logs[best.whose]
    entries = zip(log.index, log.request, strict=True)
    known = itertools.takewhile(lambda entry: entry[0] <= best.confirmed, entries)
    gone = {index for each in best.rolled for index in range(each.first, each.last + 1)}
    applied = {request for index, request in known if request is not None and index not in gone}
    return ResolvedLog(applied=frozenset(applied), complete=complete)
