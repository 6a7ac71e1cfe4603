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


def test_both_tiers_say_at_which_entry_a_feed_went_wrong_and_show_it(
    session: "SparkSession", tmp_path: Path
) -> None:
    names = ("feed_skips", "feed_repeats", "feed_out_of_order", "feed_gives_what_was_rolled_back")
    paths = [save(planted(PLANTED[name]), tmp_path).path for name in names]
    found = judge(session, paths)
    proofs.prove(session, paths, found)
    for path in paths:
        here = BY_ID["feed-complete"].find(load(path)).breaches
        there = found[path.name]["feed-complete"].breaches
        assert here
        assert {each.where: each.witness for each in there} == {e.where: e.witness for e in here}
        upto = max(each.last for each in load(path).logs.values())
        assert all(0 < each.index <= upto for each in here)
        assert all(each.witness for each in here)
