"""Histories judged on Spark: of bundles as in one process, and those with published verdicts."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from admin.checker import labels
from admin.checker.bundles import history_of
from admin.checker.elle import IsolationLevel
from admin.checker.kinds import Hints
from admin.checker.linear import STEPS_MAX
from admin.checker.parquet import to_parquet
from admin.checker.quick import check_operations
from admin.checker.rules.catalogue import load
from admin.checker.spark.clients.histories import ResolvedRequests
from admin.checker.spark.clients.jobs import judge_histories, outlines
from admin.checker.spark.clients.keys import Terms
from admin.checker.spark.clients.published import compare_all
from admin.evidence.simulated import record
from qsync.sim.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEEDS = (2, 9, 14, 31)
LIST = Path(__file__).parents[3] / "shared" / "corpora" / "labels.csv"


def test_histories_of_many_bundles_get_the_verdicts_of_one_process(
    session: "SparkSession", tmp_path: Path
) -> None:
    """Without their logs, which other tests are about."""
    bundles = [record(Plan(seed=n, events=1500), tmp_path / f"seed-{n}")[1] for n in SEEDS]
    bundles[1:2] = [to_parquet(bundles[1], tmp_path / "parquet")]
    paths = [bundle.path for bundle in bundles]
    known = outlines(session, paths)
    fates = {
        run: ResolvedRequests(frozenset(each.unknown), frozenset(), False)
        for run, each in known.items()
    }
    told = judge_histories(session, paths, known, fates, Terms())
    for path in paths:
        run = load(path)
        run.logs.clear()
        history = history_of(replace(run, manifest=replace(run.manifest, whole=False)))
        kinds, checked = check_operations(
            history, Hints(), IsolationLevel.STRICT_SERIALIZABLE, STEPS_MAX
        )
        found = told[run.manifest.run_id]
        here = [each.verdict for each in checked]
        results = {each.invariant: (each.result, each.facts, each.note) for each in here}
        there = {each.invariant: (each.result, each.facts, each.note) for each in found.verdicts}
        assert there == results
        assert set(found.kinds) == set(kinds)
        assert known[run.manifest.run_id].count == len(history)


def test_published_verdicts_are_agreed_with_in_one_job(session: "SparkSession") -> None:
    if not LIST.exists():
        pytest.skip("the labelled histories are not here")
    assert session.version
    listed = labels.load(LIST)
    compared = compare_all(listed)
    assert [each.file for each in compared] == [str(each.file) for each in listed]
    assert [(each.file, each.why) for each in compared if not each.agrees] == []


@pytest.mark.usefixtures("session")
def test_a_file_that_is_no_history_does_not_end_the_job(tmp_path: Path) -> None:
    (tmp_path / "odd.edn").write_text("nothing of the kind")
    line = '{"index": %d, "time": 0, "process": 1, "type": "%s", "f": "write", "value": 1}\n'
    (tmp_path / "good.jsonl").write_text(line % (0, "invoke") + line % (1, "ok"))
    table = tmp_path / "labels.csv"
    table.write_text(
        "file,format,label,source\nodd.edn,,linearizable,\ngood.jsonl,,linearizable,\n"
    )
    odd, good = compare_all(labels.load(table))
    assert odd.found == "unreadable"
    assert good.agrees
