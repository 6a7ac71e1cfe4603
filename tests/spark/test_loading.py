"""Tables are the same whoever reads them: the data source, our tasks, or Spark itself."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from admin.checker.parquet import to_parquet
from admin.checker.spark import loading
from admin.checker.spark.source import QsyncSource
from admin.evidence.simulated import record
from qsync.sim.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_all_ways_to_read_a_table_give_the_same_rows(
    session: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, bundle = record(Plan(seed=9, events=1500), tmp_path / "seed")
    path = to_parquet(bundle, tmp_path / "parquet").path
    session.dataSource.register(QsyncSource)
    assert not loading.is_large(path, "wal")
    source = session.read.format("qsync").option("path", str(path)).option("table", "wal").load()
    given = {tuple(row) for row in source.collect()}
    small = {tuple(row) for row in loading.load(session, "wal", [path]).collect()}
    assert small == given
    monkeypatch.setattr(loading, "LARGE_BYTES", 1)
    assert loading.is_large(path, "wal")
    assert not loading.is_large(bundle.path, "wal"), "JSON lines need Python"
    rows = loading.load(session, "wal", [path, bundle.path]).collect()
    assert {tuple(row) for row in rows} == small
    assert len(rows) == 2 * bundle.manifest.rows["wal"]


def test_a_table_that_no_bundle_has_is_empty(session: "SparkSession", tmp_path: Path) -> None:
    _, bundle = record(Plan(seed=9, events=200), tmp_path / "seed")
    (bundle.path / "digests.jsonl").unlink()
    found = loading.load(session, "digests", [bundle.path])
    assert found.collect() == []
    assert found.columns[:3] == ["run_id", "node", "generation"]
