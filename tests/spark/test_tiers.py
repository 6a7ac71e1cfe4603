"""One process and Spark judge alike: every planted fault, every clean run, in one job."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from admin.checker.parquet import to_parquet
from admin.checker.rules.catalogue import BY_ID, RULES, load, verdict_of
from admin.checker.rules.catalogue import judge as in_process
from admin.checker.rules.rule import RuleFinding
from admin.checker.spark import proofs
from admin.checker.spark.bounds import Bounds
from admin.checker.spark.judge import judge, verdicts
from admin.checker.verdict import Result
from admin.evidence.bundle import Bundle, BundlePart
from tests.spark.planted import cases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Bundle, frozenset[str]]]:
    """Every second one as Parquet, so that both are read."""
    folder = tmp_path_factory.mktemp("planted")
    found = {}
    for number, (name, bundle, ids) in enumerate(cases(folder)):
        kept = to_parquet(bundle, folder / f"{name}-parquet") if number % 2 else bundle
        found[name] = (kept, ids)
    return found


@pytest.fixture(scope="module")
def judged(
    session: "SparkSession", planted: dict[str, tuple[Bundle, frozenset[str]]]
) -> dict[str, dict[str, RuleFinding]]:
    paths = [bundle.path for bundle, _ in planted.values()]
    found = judge(session, paths)
    proofs.prove(paths, found)
    return found


@pytest.fixture(scope="module")
def in_one_process(
    planted: dict[str, tuple[Bundle, frozenset[str]]],
) -> dict[str, dict[str, RuleFinding]]:
    """What each rule finds in each run without Spark."""
    found = {}
    for name, (bundle, _) in planted.items():
        run = load(bundle.path)
        found[name] = {rule.id: rule.find(run) for rule in RULES}
    return found


def test_spark_raises_exactly_what_was_planted(
    judged: dict[str, dict[str, RuleFinding]], planted: dict[str, tuple[Bundle, frozenset[str]]]
) -> None:
    raised = {
        run: {each.invariant for each in verdicts(found) if each.result is Result.FAIL}
        for run, found in judged.items()
    }
    assert raised == {name: set(ids & BY_ID.keys()) for name, (_, ids) in planted.items()}


def test_both_tiers_find_the_same_breaches_at_the_same_places(
    judged: dict[str, dict[str, RuleFinding]], in_one_process: dict[str, dict[str, RuleFinding]]
) -> None:
    for name, here in in_one_process.items():
        places = {id_: {each.where for each in found.breaches} for id_, found in here.items()}
        there = {
            id_: {each.where for each in found.breaches} for id_, found in judged[name].items()
        }
        assert there == places, name
        results = {rule.id: verdict_of(rule, here[rule.id]).result for rule in RULES}
        assert {each.invariant: each.result for each in verdicts(judged[name])} == results, name


def test_both_tiers_examine_as_many_facts_and_say_the_same_of_what_is_broken(
    judged: dict[str, dict[str, RuleFinding]], in_one_process: dict[str, dict[str, RuleFinding]]
) -> None:
    facts: dict[tuple[str, str], tuple[int, int]] = {}
    for name, found in in_one_process.items():
        for id_, here in found.items():
            there = judged[name][id_]
            if here.facts != there.facts:
                facts[name, id_] = (here.facts, there.facts)
            said = {each.where: (each.message, each.witness) for each in here.breaches}
            assert {e.where: (e.message, e.witness) for e in there.breaches} == said, name
    assert not facts


def test_both_tiers_say_the_same_of_what_was_not_examined(
    judged: dict[str, dict[str, RuleFinding]], planted: dict[str, tuple[Bundle, frozenset[str]]]
) -> None:
    for name, (bundle, _) in planted.items():
        here = {each.verdict.invariant: each.verdict for each in in_process(load(bundle.path))}
        for each in verdicts(judged[name]):
            if each.result is Result.SKIPPED:
                assert each.note == here[each.invariant].note, (name, each.invariant)


def test_pushed_filters_leave_whole_files_out(tmp_path: Path) -> None:
    bounds = Bounds(node=2, first=100)
    part = BundlePart("wal", tmp_path, node=2, generation=1, first=1, last=99)
    assert not bounds.admit("r", part)
    assert bounds.admit("r", BundlePart("wal", tmp_path, 2, 1, 100, 199))
    assert not bounds.admit("r", BundlePart("wal", tmp_path, 1, 1, 100, 199))
