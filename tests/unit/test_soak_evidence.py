"""`qsync soak --evidence` judges every run a second time, from what it leaves to be checked."""

from collections.abc import Callable, Iterable

import pytest

from admin.evidence import simulated
from admin.evidence.tables import Row
from admin.soak import corpus, evidence, judge
from admin.soak.judge import JudgedSeed, SeedConclusion
from admin.soak.ledger import SeedSetup
from qsync.sim.plan import Plan
from qsync.sim.world import World

PLAN = Plan(seed=25, events=1500)


def spoiled(each: Row) -> Row:
    return each | {"crc": 1} if each["index"] == 3 else each


def logs_spoiled(world: World) -> Iterable[Row]:
    return map(spoiled, whole(world))


whole, said = simulated._logs, simulated._ops


def ends_as_another(world: World) -> Iterable[Row]:
    """Every read that ended is said to have been a write."""
    for each in said(world):
        yield each | {"f": "write"} if each["type"] == "ok" and each["f"] == "read" else each


def without_kinds(world: World) -> Iterable[Row]:
    yield from ({name: each[name] for name in each if name != "type"} for each in said(world))


def spoil(patch: pytest.MonkeyPatch, name: str, by: Callable[[World], Iterable[Row]]) -> None:
    patch.setattr(simulated, name, by)


def test_a_run_that_holds_holds_by_its_evidence_too() -> None:
    found = evidence.judge(PLAN)
    assert found.conclusion is SeedConclusion.HELD
    assert found.report.digest == judge.judge(PLAN).report.digest
    assert found.reached == frozenset()
    assert found.command == PLAN.command()


def test_with_a_corpus_the_states_that_a_run_reached_are_noted() -> None:
    assert evidence.judge(PLAN, covers=True).reached == corpus.judge(PLAN).reached != frozenset()


def broken(found: JudgedSeed) -> judge.SeedFinding:
    assert found.conclusion is SeedConclusion.BROKEN
    assert found.finding is not None
    shown = f"{PLAN.command()} --bundle evidence && qsync check evidence/seed-25"
    assert found.command == shown
    return found.finding


def test_what_only_evidence_shows_breaks_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, "_logs", logs_spoiled)
    assert judge.judge(PLAN).finding is None
    finding = broken(evidence.judge(PLAN))
    assert (finding.check, finding.number) == ("log-chain", None)
    assert finding.text.startswith("evidence shows, log-chain: ")
    assert finding.evidence


@pytest.mark.parametrize("spoiled_ops", [ends_as_another, without_kinds])
def test_evidence_that_cannot_be_checked_breaks_the_seed(
    monkeypatch: pytest.MonkeyPatch, spoiled_ops: Callable[[World], Iterable[Row]]
) -> None:
    spoil(monkeypatch, "_ops", spoiled_ops)
    finding = broken(evidence.judge(PLAN))
    assert finding.check == "evidence"
    assert finding.text.startswith("its evidence cannot be checked: ")


def test_results_without_evidence_are_none_with_it() -> None:
    plan = Plan(seed=1, nodes=3)
    assert SeedSetup.of("abc", plan).how == "--nodes 3"
    assert SeedSetup.of("abc", plan, evidence=True).how == "--nodes 3 --evidence"
    assert SeedSetup.of("abc", Plan(seed=1), evidence=True).how == "--evidence"
