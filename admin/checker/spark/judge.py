"""All invariants of any number of runs in a few Spark jobs: the same verdicts as in one process."""

import functools
import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from admin.checker.kernels.logs.outlines import LogOutline, Request
from admin.checker.kernels.logs.requests import AskedRequests
from admin.checker.kernels.logs.slices import Whose
from admin.checker.rules.catalogue import RULES, verdict_of
from admin.checker.rules.rule import RuleFinding
from admin.checker.spark.chunks import TASKS_MAX, collected
from admin.checker.spark.findings import JobOutputs, conclude, outlines, whose
from admin.checker.spark.invariants import receipts
from admin.checker.spark.invariants.feeds import feeds
from admin.checker.spark.invariants.nodes import clocks, disks, stretches
from admin.checker.spark.invariants.questions import rolled_back_reads
from admin.checker.spark.job_schema import CONFIRMED, DDL, FAILED
from admin.checker.spark.kernels import kernels
from admin.checker.spark.outcomes import answered
from admin.checker.spark.overview import beforehand
from admin.checker.spark.scan import scan
from admin.checker.spark.scan_context import ScanContext
from admin.checker.spark.trails import follow, trails
from admin.checker.spark.units import plan
from admin.checker.verdict import Verdict
from admin.evidence.manifest import Manifest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def judge(
    session: "SparkSession",
    paths: Sequence[Path],
    *,
    span: int | None = None,
    unknown: Mapping[str, Collection[tuple[str, int]]] | None = None,
    keep: dict[Whose, LogOutline] | None = None,
) -> dict[str, dict[str, RuleFinding]]:
    """Return the verdicts by run and invariant. Manifests name the runs.

    `span`: how many entries of each log a task compares; by default as many as files have.
    `unknown`: by run the requests without an answer; `keep` gets the logs, which have the outcomes.
    """
    manifests = {each.run_id: each for each in map(Manifest.load, paths)}
    assert len(manifests) == len(paths), "two bundles have one name"
    brought = JobOutputs()
    brought.add(collected(beforehand(session, paths)))
    brought.add(answered(session, paths))
    given = _given(brought, manifests, unknown or {})
    units = plan(paths, span)
    if units:
        walked = trails({Manifest.load(path).run_id: path for path in paths}, units)
        scanned = _over(session, units).mapInArrow(scan(units, given), DDL)
        followed = _over(session, walked).mapInArrow(follow(walked, given), DDL)
        brought.add(collected(_union(scanned, followed)))
    logs = outlines(brought)
    if keep is not None:
        keep.update(logs)
    by_run: dict[str, list[LogOutline]] = defaultdict(list)
    for (run, *_), log in sorted(logs.items()):
        by_run[run].append(log)
    last = functools.reduce(_union, _last(session, paths, by_run, brought))
    brought.add(collected(last))
    brought.add(rolled_back_reads(session, paths, by_run))
    apart = brought.by_run()
    return {run: conclude(each, apart[run], by_run[run]) for run, each in manifests.items()}


def _last(
    session: "SparkSession",
    paths: Sequence[Path],
    logs: Mapping[str, Sequence[LogOutline]],
    brought: JobOutputs,
) -> "Iterator[DataFrame]":
    """The last job: all checks that need facts about the logs."""
    yield kernels(session, paths, brought.rows, logs)
    yield disks(session, paths, logs)
    yield feeds(session, paths, logs)
    yield stretches(session, paths, logs)
    yield clocks(session, paths)
    yield receipts.kept(session, paths, logs)
    yield receipts.owned(session, paths)


def verdicts(found: dict[str, RuleFinding]) -> list[Verdict]:
    """Return the verdicts of one run, in the order of the catalogue."""
    return [verdict_of(rule, found[rule.id]) for rule in RULES]


def _over(session: "SparkSession", units: Sequence[object]) -> "DataFrame":
    """Numbers of units, a few per task."""
    return session.range(0, len(units), 1, min(len(units), TASKS_MAX))


def _union(one: "DataFrame", other: "DataFrame") -> "DataFrame":
    return one.unionByName(other)


def _given(
    brought: JobOutputs,
    manifests: dict[str, Manifest],
    unknown: Mapping[str, Collection[tuple[str, int]]],
) -> ScanContext:
    confirmed = {
        (run, *node.whose): node.confirmed
        for run, manifest in manifests.items()
        for node in manifest.nodes
    }
    for each in brought.rows[CONFIRMED]:
        log = whose(each)
        confirmed[log] = max(confirmed.get(log, 0), each.index)
    failed: dict[str, dict[Request, int]] = defaultdict(dict)
    for each in brought.rows[FAILED]:
        # A session is JSON in the table.
        failed[each.run_id][str(json.loads(each.message)), each.amount] = each.index
    ahead = {
        run: max((node.confirmed for node in each.nodes), default=0)
        for run, each in manifests.items()
    }
    asked = {run: AskedRequests.of(failed[run], unknown.get(run, ())) for run in manifests}
    return ScanContext(confirmed=confirmed, wanted=ahead, requests=asked)
