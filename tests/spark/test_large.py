"""What is looked at in columns, for large bundles, gives what one process finds row by row."""

import functools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("pyarrow", reason="needs the [spark] extra")

from admin.checker.rules import feeds as feed_rule
from admin.checker.rules import hidden as hidden_rule
from admin.checker.rules import receipts as receipt_rule
from admin.checker.rules.catalogue import RULES, load, verdict_of
from admin.checker.rules.fates import replay
from admin.checker.rules.rule import Finding
from admin.checker.rules.run import Run
from admin.checker.spark.found import BREACH, FACTS, Found
from admin.checker.spark.invariants import owned
from admin.checker.spark.invariants.feeds import SPAN, longest
from admin.checker.spark.invariants.feeds import look as look_at_feeds
from admin.checker.spark.invariants.feeds import plan as plan_feeds
from admin.checker.spark.invariants.hidden import Look, places, shown, values
from admin.checker.spark.reading import chunks
from admin.checker.verdict import Result
from tests.bench.big_bundle import make
from tests.spark import dice

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SEEDS = range(150)
SEEN_MIN = 7
"""Runs that break an invariant, and that do not: dice that never show it prove nothing."""
Where = tuple[str, int, int, int]


def test_receipts_are_judged_as_row_by_row(tmp_path: Path) -> None:
    seen = Counter[bool]()
    for seed, path, run in _runs(tmp_path):
        wanted = receipt_rule.RULE.find(run)
        for span in (7, owned.SPAN):
            found = [row for each in owned.plan(path, span) for row in owned.look(each)]
            assert _of(found) == _whole(wanted), (seed, span)
        seen[bool(wanted.breaches)] += 1
    assert min(seen[True], seen[False]) > SEEN_MIN


def test_feeds_are_judged_as_row_by_row(tmp_path: Path) -> None:
    seen = Counter[bool]()
    for seed, path, run in _runs(tmp_path):
        wanted = feed_rule.RULE.find(run)
        logs = longest(_known(run), _rolled(run))
        for span in (4, SPAN):
            found = [row for each in plan_feeds(path, logs, span) for row in look_at_feeds(each)]
            assert _of(found) == _whole(wanted), (seed, span)
        seen[bool(wanted.breaches)] += bool(wanted.facts)
    assert min(seen[True], seen[False]) > SEEN_MIN


def test_hidden_values_are_found_as_row_by_row(tmp_path: Path) -> None:
    seen = Counter[bool]()
    for seed, path, run in _runs(tmp_path):

        def ask(
            table: str, look: Look, asked: Collection[str], path: Path = path
        ) -> Iterator[Found]:
            for chunk in chunks(path, table, "index") if dice.RUN in asked else ():
                yield from look(chunk)

        wanted = hidden_rule.RULE.find(run)
        lost = values(ask, places(_rolled(run), _known(run)))
        found = ask("ops", functools.partial(shown, lost=lost), lost)
        assert _of(found) == _whole(wanted), seed
        seen[bool(wanted.breaches)] += bool(wanted.facts)
    assert min(seen[True], seen[False]) > SEEN_MIN


def test_the_large_bundle_of_the_bench_is_clean(tmp_path: Path) -> None:
    """With an election and rollbacks in it, of everything there is."""
    run = load(make(tmp_path / "whole", 3 * 45_000, whole=True))
    judged = {rule.id: verdict_of(rule, rule.find(run)).result for rule in RULES}
    assert set(judged.values()) == {Result.PASS, Result.SKIPPED}, judged
    skipped = {id_ for id_, result in judged.items() if result is Result.SKIPPED}
    assert skipped == {"fates-shared", "leader-complete", "fenced"}


def _runs(folder: Path) -> Iterator[tuple[int, Path, Run]]:
    for seed in SEEDS:
        path = dice.run(Random(seed), folder / str(seed))
        yield seed, path, load(path)


def _of(found: Iterable[Found]) -> tuple[int, set[Where]]:
    """Facts and places of breaches, as `conclude` counts them."""
    facts, places = 0, set[Where]()
    for each in found:
        facts += each.amount if each.what == FACTS else 0
        if each.what == BREACH:
            places.add((each.invariant, each.node, each.index, each.term))
    return facts, places


def _whole(finding: Finding) -> tuple[int, set[Where]]:
    return finding.facts, {each.where for each in finding.breaches}


def _known(run: Run) -> list[dict[str, object]]:
    confirmed = run.confirmed
    return [
        {
            "run_id": dice.RUN,
            "node": log.node,
            "generation": log.generation,
            "first": log.first,
            "last": log.last,
            "confirmed": confirmed.get(whose, 0),
        }
        for whose, log in run.logs.items()
    ]


def _rolled(run: Run) -> list[dict[str, object]]:
    confirmed = run.confirmed
    return [
        {"run_id": dice.RUN, "node": log.node, "generation": log.generation, "index": index}
        for whose, log in run.logs.items()
        if log.first == 1
        for index in replay(log, confirmed.get(whose, 0)).rolled_back_by
    ]
