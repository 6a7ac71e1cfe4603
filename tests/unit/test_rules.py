"""Every fault planted in a clean run is noticed by exactly the invariants that it breaks."""

import json
from pathlib import Path

import pytest

from admin.checker.rules.catalogue import BY_ID, RULES, judge, load, verdict_of
from admin.checker.rules.run import Run
from admin.checker.verdict import Result
from admin.evidence.bundle import write
from admin.evidence.manifest import Manifest
from admin.evidence.tables import TABLES
from cli.main import run
from tests.spark.planted import PLANTED, cases


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, frozenset[str]]]:
    folder = tmp_path_factory.mktemp("planted")
    return {name: (bundle.path, ids) for name, bundle, ids in cases(folder)}


def test_planted_faults_break_exactly_what_they_should(
    bundles: dict[str, tuple[Path, frozenset[str]]],
) -> None:
    assert len(bundles) > len(PLANTED) > 15
    raised = {}
    for name, (path, _) in bundles.items():
        verdicts = [each.verdict for each in judge(load(path))]
        raised[name] = {each.invariant for each in verdicts if each.result is Result.FAIL}
    assert raised == {name: set(ids) for name, (_, ids) in bundles.items()}


def test_every_breach_shows_the_rows_that_prove_it(
    bundles: dict[str, tuple[Path, frozenset[str]]],
) -> None:
    for path, ids in bundles.values():
        run_ = load(path)
        shown = [each for rule in RULES if rule.id in ids for each in rule.find(run_).breaches]
        bare = [each.message for each in shown if not each.witness]
        assert not bare
        tables = {row.table for each in shown for row in each.witness}
        assert tables <= TABLES.keys()


def test_every_planted_fault_names_invariants_that_exist() -> None:
    named = set().union(*(ids for _, ids in PLANTED.values()))
    assert named <= BY_ID.keys()


def test_nothing_to_look_at_is_no_pass(tmp_path: Path) -> None:
    empty = load(write(tmp_path, Manifest(run_id="empty", source="nodes"), {}).path)
    assert {verdict_of(rule, rule.find(empty)).result for rule in RULES} == {Result.SKIPPED}


def test_a_run_in_which_nothing_broke_is_inconclusive() -> None:
    op = {"index": 1, "time": 1, "process": 1, "type": "ok", "f": "write", "key": 1, "value": 1}
    calm = Run(Manifest(run_id="calm", source="drill", faults=True), ops=[op])
    verdict = verdict_of(BY_ID["eventful"], BY_ID["eventful"].find(calm))
    assert (verdict.result, verdict.note) == (Result.UNKNOWN, "no fault happened")


def test_the_command_judges_a_bundle_and_names_what_is_broken(
    bundles: dict[str, tuple[Path, frozenset[str]]], capsys: pytest.CaptureFixture[str]
) -> None:
    clean = [path for path, ids in bundles.values() if not ids][-1]
    assert run(["check", "--quick", str(clean), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["invariants"]
    assert {each["id"]: each["title"] for each in listed}.items() >= {
        rule.id: rule.title for rule in RULES
    }.items()
    assert run(["check", "--quick", str(bundles["voted_twice"][0])]) == 6
    shown = capsys.readouterr().out
    assert "FAIL  one-vote" in shown
    assert "events: node=" in shown
    assert run(["check", "--quick", str(bundles["voted_twice"][0]), "--json"]) == 6
    (file,) = json.loads(capsys.readouterr().out)["files"]
    (vote,) = [each for each in file["invariants"] if each["id"] == "one-vote"]
    rows = vote["examples"][0]["rows"]
    assert [each["table"] for each in rows] == ["events", "events"]
    assert rows[0]["row"]["peer"] != rows[1]["row"]["peer"]
    assert run(["check", str(clean / "wal.jsonl")]) == 2
    assert "add --quick" in capsys.readouterr().err
