"""All invariants of any number of runs in few Spark jobs: the same verdicts as in one process."""

import functools
import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from admin.checker.kernels.logs.slices import Whose
from admin.checker.rules.catalogue import RULES, verdict_of
from admin.checker.rules.rule import RuleFinding
from admin.checker.spark.chunks import TASKS_MAX, collected
from admin.checker.spark.findings import JobOutputs, conclude, whose
from admin.checker.spark.invariants import receipt_owner
from admin.checker.spark.invariants.acks import disks
from admin.checker.spark.invariants.clocks import clocks
from admin.checker.spark.invariants.feeds import feeds
from admin.checker.spark.invariants.rolled_back_reads import hidden
from admin.checker.spark.invariants.stretches import stretches
from admin.checker.spark.job_schema import (
    CONFIRMED,
    DDL,
    FAILED,
    LOG,
    ROLLED,
    SLICE,
    LogRow,
    RolledRow,
)
from admin.checker.spark.kernels import kernels
from admin.checker.spark.log_join import JoinedLog
from admin.checker.spark.outcomes import answered
from admin.checker.spark.overview import beforehand
from admin.checker.spark.receipts import receipts
from admin.checker.spark.scan import asks, scan
from admin.checker.spark.scan_context import ScanContext, by_session
from admin.checker.spark.summary import Summary
from admin.checker.spark.trails import follow, trails
from admin.checker.spark.units import Unit, plan
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
    keep: dict[Whose, JoinedLog] | None = None,
) -> dict[str, dict[str, RuleFinding]]:
    """By run and invariant. Runs are told apart by the names in their manifests.

    `span`: how many entries of each log a task sees beside one another; else what files hold.
    `unknown`: by run the requests that nobody heard the end of; `keep` takes the logs, which know.
    """
    manifests = {each.run_id: each for each in map(Manifest.load, paths)}
    assert len(manifests) == len(paths), "two bundles have one name"
    brought = JobOutputs()
    brought.add(collected(beforehand(session, paths)))
    brought.add(answered(session, paths))
    given = _given(brought, manifests, unknown or {})
    units = plan(paths, span)
    if units:
        brought.add(collected(_over(session, units).mapInArrow(scan(units, given), DDL)))
    logs = _join(session, units, given, brought)
    for each in logs.values():
        brought.add(each.out)
    if keep is not None:
        keep.update(logs)
    brought.add(
        collected(
            functools.reduce(
                _union, _last(session, paths, units, logs=logs, given=given, brought=brought)
            )
        )
    )
    apart = brought.by_run()
    places = {log: each.places for log, each in logs.items()}
    return {
        run: conclude(manifest, apart[run], given, places) for run, manifest in manifests.items()
    }


def _last(
    session: "SparkSession",
    paths: Sequence[Path],
    units: Sequence[Unit],
    *,
    logs: Mapping[Whose, JoinedLog],
    given: ScanContext,
    brought: JobOutputs,
) -> "Iterator[DataFrame]":
    """The last job: everything that needs what is known of the logs."""
    known = [
        LogRow(*whose(each), each.term, each.index, given.confirmed.get(whose(each), 0))
        for each in brought.rows[LOG]
    ]
    rolled = [RolledRow(*whose(each), each.index, each.term) for each in brought.rows[ROLLED]]
    yield kernels(session, paths, brought.rows)
    yield disks(session, paths)
    yield receipt_owner.receipts(session, paths)
    yield feeds(session, paths, known, rolled)
    yield hidden(session, paths, known, rolled)
    yield stretches(session, paths, rolled)
    yield clocks(session, paths)
    yield receipts(session, paths, logs, given)
    if units:
        walked = trails({Manifest.load(path).run_id: path for path in paths}, units)
        yield _over(session, walked).mapInArrow(follow(walked), DDL)


def verdicts(found: dict[str, RuleFinding]) -> list[Verdict]:
    """Of one run, in the order of the catalogue."""
    return [verdict_of(rule, found[rule.id]) for rule in RULES]


def _over(session: "SparkSession", units: Sequence[object]) -> "DataFrame":
    """Numbers of units, a task a few of them."""
    return session.range(0, len(units), 1, min(len(units), TASKS_MAX))


def _join(
    session: "SparkSession", units: Sequence[Unit], given: ScanContext, brought: JobOutputs
) -> dict[Whose, JoinedLog]:
    """All logs from their slices; what these leave open is asked once."""
    slices: dict[Whose, dict[int, Summary]] = defaultdict(dict)
    for each in brought.rows.pop(SLICE, ()):
        slices[whose(each)][each.index] = Summary.parse(each.message)
    logs = {log: JoinedLog(log, list(each.values()), given) for log, each in slices.items()}
    asked = {log: each.open for log, each in logs.items() if each.open.anything}
    if not asked:
        return logs
    runs = {run for run, _, _ in asked}
    concerned = [each for each in units if each.run_id in runs]
    answers = _over(session, concerned).mapInArrow(asks(concerned, given, asked), DDL)
    for each in collected(answers):
        slices[whose(each)][each.index] = Summary.parse(each.message)
    return logs | {log: JoinedLog(log, list(slices[log].values()), given) for log in asked}


def _union(one: "DataFrame", other: "DataFrame") -> "DataFrame":
    return one.unionByName(other)


def _given(
    brought: JobOutputs,
    manifests: dict[str, Manifest],
    unknown: Mapping[str, Collection[tuple[str, int]]],
) -> ScanContext:
    confirmed = {
        (run, node.node, node.generation): node.confirmed
        for run, manifest in manifests.items()
        for node in manifest.nodes
    }
    for each in brought.rows[CONFIRMED]:
        log = whose(each)
        confirmed[log] = max(confirmed.get(log, 0), each.index)
    failed: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for each in brought.rows[FAILED]:
        # A session is JSON in the table.
        failed[each.run_id].add((str(json.loads(each.message)), each.amount))
    ahead = {
        run: max((node.confirmed for node in each.nodes), default=0)
        for run, each in manifests.items()
    }
    return ScanContext(
        confirmed=confirmed,
        failed={run: frozenset(found) for run, found in failed.items()},
        quorum={run: manifest.quorum for run, manifest in manifests.items()},
        wanted=ahead,
        requests={run: by_session({*failed[run], *unknown.get(run, ())}) for run in manifests},
    )
