"""What Spark finds comes with the rows that prove it."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from admin.checker.rules.catalogue import BY_ID, load
from admin.checker.rules.rule import RuleFinding
from admin.checker.spark import proofs
from admin.checker.spark.judge import judge
from tests.spark.planted import planted, save
from tests.spark.spoiling import PLANTED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


FEEDS = ("feed_skips", "feed_repeats", "feed_out_of_order", "feed_gives_what_was_rolled_back")
NAMES = ("voted_twice", "row_missing", *FEEDS)
Judged = dict[str, dict[str, RuleFinding]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("proofs")


@pytest.fixture(scope="module")
def found(session: "SparkSession", folder: Path) -> Judged:
    """What is wrong with planted bundles, with proofs, in two jobs for all of them."""
    paths = [save(planted(PLANTED[name]), folder).path for name in NAMES]
    judged = judge(session, paths)
    (vote,) = judged["voted_twice"]["one-vote"].breaches
    assert vote.witness, "kernels prove what they find where they find it"
    proofs.prove(paths, judged)
    return judged


def test_breaches_found_on_spark_show_the_rows_that_prove_them(folder: Path, found: Judged) -> None:
    for name, id_ in (("voted_twice", "one-vote"), ("row_missing", "log-dense")):
        here = BY_ID[id_].find(load(folder / name)).breaches
        assert [e.witness for e in found[name][id_].breaches] == [e.witness for e in here]


def test_both_tiers_say_at_which_entry_a_feed_went_wrong_and_show_it(
    folder: Path, found: Judged
) -> None:
    for path in (folder / name for name in FEEDS):
        here = BY_ID["feed-complete"].find(load(path)).breaches
        there = found[path.name]["feed-complete"].breaches
        assert here
        assert {each.where: each.witness for each in there} == {e.where: e.witness for e in here}
        upto = max(each.last for each in load(path).logs.values())
        assert all(0 < each.index <= upto for each in here)
        assert all(each.witness for each in here)
