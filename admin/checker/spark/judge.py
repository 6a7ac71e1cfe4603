"""All invariants of any number of runs in few Spark jobs: the same verdicts as in one process."""

import functools
import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from admin.checker.rules.catalogue import RULES, verdict_of
from admin.checker.rules.fenced import fence
from admin.checker.rules.rule import RuleFinding
from admin.checker.spark import frames, invariants
from admin.checker.spark.columns import Whose
from admin.checker.spark.concluding import JobOutputs, conclude, whose
from admin.checker.spark.job_schema import DDL, LOG, ROLLED, SLICE
from admin.checker.spark.joining import JoinedLog
from admin.checker.spark.loading import load
from admin.checker.spark.reading import TASKS_MAX, collected
from admin.checker.spark.receipts import receipts
from admin.checker.spark.scan import asks, scan
from admin.checker.spark.scanning import ScanContext, by_session
from admin.checker.spark.source import QsyncSource
from admin.checker.spark.summary import Summary
from admin.checker.spark.units import Unit, plan
from admin.checker.spark.walk.trails import follow, trails
from admin.checker.verdict import Verdict
from admin.evidence.manifest import Manifest
from admin.evidence.tables import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SMALL = ("status", "events", "digests", "nemesis")
"""Tables that queries look at; of the others tasks read the columns that they need."""
_KNOWN = (
    "run_id string, node bigint, generation bigint, first bigint, last bigint, confirmed bigint"
)
_ROLLED = "run_id string, node bigint, generation bigint, `index` bigint, by bigint"
_RUNS = (
    "run_id string, voters bigint, quorum bigint, nodes array<bigint>, whole boolean, "
    "one_clock boolean, fence double"
)


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
    session.dataSource.register(QsyncSource)
    tables = {name: load(session, name, paths) for name in TABLES if name != "wal"}
    # Small tables are looked at several times; decoding them once is cheaper.
    small = [tables[name].persist() for name in SMALL]
    brought = JobOutputs()
    brought.add(collected(frames.beforehand(tables)))
    given = _given(brought, manifests, unknown or {})
    units = plan(paths, span)
    first = [frames.elections(tables), frames.statuses(tables)]
    if units:
        first.append(_over(session, units).mapInArrow(scan(units, given), DDL))
    brought.add(collected(functools.reduce(_union, first)))
    logs = _join(session, units, given, brought)
    for each in logs.values():
        brought.add(each.out)
    if keep is not None:
        keep.update(logs)
    _tell(session, tables, brought, given)
    runs = [(run, *_facts(each)) for run, each in manifests.items()]
    tables["runs"] = session.createDataFrame(runs, _RUNS)
    last = [frames.digests(tables), *invariants.frames(tables), receipts(tables, logs, given)]
    if units:
        walked = trails(dict(zip(manifests, paths, strict=True)), units)
        last.append(_over(session, walked).mapInArrow(follow(walked), DDL))
    brought.add(collected(functools.reduce(_union, last)))
    for table in small:
        table.unpersist()
    apart = brought.by_run()
    places = {log: each.places for log, each in logs.items()}
    return {
        run: conclude(manifest, apart[run], given, places) for run, manifest in manifests.items()
    }


def verdicts(found: dict[str, RuleFinding]) -> list[Verdict]:
    """Of one run, in the order of the catalogue."""
    return [verdict_of(rule, found[rule.id]) for rule in RULES]


def _facts(manifest: Manifest) -> tuple[object, ...]:
    """What queries may know of a manifest."""
    nodes = sorted({each.node for each in manifest.nodes if each.voter})
    clock = manifest.clock == "one"
    whole = manifest.whole and not any(each.problem for each in manifest.nodes)
    return (manifest.voters, manifest.quorum, nodes, whole, clock, fence(manifest))


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


def _tell(
    session: "SparkSession", tables: dict[str, "DataFrame"], brought: JobOutputs, given: ScanContext
) -> None:
    """Small tables of what is known of logs by now."""
    known = [
        (*whose(each), each.term, each.index, given.confirmed.get(whose(each), 0))
        for each in brought.rows[LOG]
    ]
    tables["known"] = session.createDataFrame(known, _KNOWN)
    rolled = [(*whose(each), each.index, each.term) for each in brought.rows[ROLLED]]
    tables["rolled"] = session.createDataFrame(rolled, _ROLLED)


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
    for each in brought.rows["confirmed"]:
        log = whose(each)
        confirmed[log] = max(confirmed.get(log, 0), each.index)
    failed: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for each in brought.rows["failed"]:
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
