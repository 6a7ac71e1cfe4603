"""What Spark finds comes with the rows that prove it."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from admin.checker.rules.catalogue import BY_ID, load
from admin.checker.spark import proofs
from admin.checker.spark.judge import judge
from tests.spark.planted import planted, save
from tests.spark.spoiling import PLANTED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_breaches_found_on_spark_show_the_rows_that_prove_them(
    session: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [save(planted(PLANTED[name]), tmp_path).path for name in ("voted_twice", "row_missing")]
    found = judge(session, paths)
    proofs.prove(session, paths, found)
    for path, id_ in zip(paths, ("one-vote", "log-dense"), strict=True):
        here = BY_ID[id_].find(load(path)).breaches
        assert [e.witness for e in found[path.name][id_].breaches] == [e.witness for e in here]

    monkeypatch.setattr(proofs, "ROWS_MAX", 0)
    proofs.prove(session, paths, found)
    (hole,) = found["row_missing"]["log-dense"].breaches
    assert [each.row["index"] for each in hole.witness] == [hole.index]
    assert {each.row["node"] for each in hole.witness} == {2}
