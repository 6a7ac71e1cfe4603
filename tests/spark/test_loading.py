"""Large tables, read by Spark itself, are what the data source gives."""

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


def test_large_tables_hold_the_rows_that_small_ones_hold(
    session: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, bundle = record(Plan(seed=9, events=1500), tmp_path / "seed")
    path = to_parquet(bundle, tmp_path / "parquet").path
    session.dataSource.register(QsyncSource)
    assert not loading.is_large(path, "wal")
    small = {tuple(row) for row in loading.load(session, "wal", [path]).collect()}
    monkeypatch.setattr(loading, "LARGE_BYTES", 1)
    assert loading.is_large(path, "wal")
    assert not loading.is_large(bundle.path, "wal"), "JSON lines need Python"
    rows = loading.load(session, "wal", [path, bundle.path]).collect()
    assert {tuple(row) for row in rows} == small
    assert len(rows) == 2 * bundle.manifest.rows["wal"]
