"""Every fault planted in a clean run is noticed by exactly the invariants that it breaks."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from admin.checker.kernels.fencing import SLACK_S, fence
from admin.checker.quick import TITLES
from admin.checker.rules.catalogue import BY_ID, RULES, verdict_of
from admin.checker.rules.run import RunTables
from admin.checker.verdict import Result, Verdict
from admin.evidence.manifest import Manifest
from admin.evidence.tables import TABLES
from cli.main import run
from tests.spark.planted import (
    CLEAN_SEEDS,
    FAULTS,
    built,
    clean_run,
    page,
    planted,
    save,
    verdicts,
)
from tests.spark.spoiling import PLANTED, Case, Fault, num

PAGE = Path(__file__).parents[2] / "docs/reference/planted-faults.md"
NAMES = [each.name for each in FAULTS]


def named(found: list[Verdict], result: Result) -> set[str]:
    return {each.invariant for each in found if each.result is result}


@pytest.mark.parametrize("fault", FAULTS, ids=NAMES)
def test_a_planted_fault_breaks_exactly_what_it_should(fault: Fault) -> None:
    found = verdicts(built(planted(fault)))
    assert named(found, Result.FAIL) == fault.fails
    assert fault.doubts <= named(found, Result.UNKNOWN)


@pytest.mark.parametrize("number", range(len(CLEAN_SEEDS)))
def test_a_clean_run_breaks_nothing(number: int) -> None:
    assert not named(verdicts(built(clean_run(number))), Result.FAIL)


@pytest.mark.parametrize("number", range(len(CLEAN_SEEDS)))
def test_a_clean_run_of_which_the_logs_were_trimmed_breaks_nothing(number: int) -> None:
    """Every log elsewhere, one not at all: what is there is judged, and what is not is named."""
    case = trimmed(clean_run(number))
    found = verdicts(built(case))
    assert not named(found, Result.FAIL)
    note = next(each.note for each in found if each.invariant == "log-terms")
    assert note.startswith("logs were trimmed and begin later: n2 at ")


def test_a_new_directory_whose_only_configuration_was_rolled_back_breaks_nothing() -> None:
    """It was not founded, so it knows none: no leader made the step from the one to none."""
    case = clean_run(0)
    case = Case(case.manifest, {name: [*rows] for name, rows in case.tables.items()})
    led = {row["node"] for row in case.events("leads")}
    never = next(node for node in case.nodes if node not in led)
    case.event("configured", never, index=0, term=0, floor=0)
    assert not named(verdicts(built(case)), Result.FAIL)


def test_a_fault_behind_the_beginning_of_trimmed_logs_is_noticed() -> None:
    case = trimmed(clean_run(0))
    case.log(2)[-1]["crc"] = 77
    found = named(verdicts(built(case)), Result.FAIL)
    assert {"log-chain", "log-matching"} <= found


def trimmed(clean: Case) -> Case:
    """All logs but the first begin behind entries that are confirmed and not rolled back."""
    tables = {name: [dict(row) for row in rows] for name, rows in clean.tables.items()}
    case = Case(clean.manifest, tables)
    gone = {index for node in case.nodes for index in case.rolled_back(node)}
    begins: dict[object, int] = {}
    for node in case.nodes[1:]:
        places = [num(row, "index") for row in case.log(node)]
        start = len(places) * node // (2 + len(case.nodes))
        begins[node] = next(at for at in places[start:] if at - 1 not in gone)
    case.drop("wal", lambda row: num(row, "index") < begins.get(row["node"], 0))
    nodes = [replace(e, first=begins.get(e.node, 1)) for e in case.manifest.nodes]
    return Case(replace(case.manifest, nodes=tuple(nodes)), case.tables)


@pytest.mark.parametrize("fault", FAULTS, ids=NAMES)
def test_every_breach_shows_the_rows_that_prove_it(fault: Fault) -> None:
    spoiled = built(planted(fault))
    for rule in (BY_ID[id_] for id_ in fault.fails & BY_ID.keys()):
        for each in rule.find(spoiled).breaches:
            assert each.witness, each.message
            assert {row.table for row in each.witness} <= TABLES.keys()


def test_every_invariant_of_evidence_has_a_fault_that_it_notices() -> None:
    assert len(PLANTED) == len(FAULTS) > 50
    noticed = frozenset().union(*(fault.fails | fault.doubts for fault in FAULTS))
    assert BY_ID.keys() <= noticed <= BY_ID.keys() | TITLES.keys()


def test_the_page_about_planted_faults_is_the_matrix() -> None:
    text = PAGE.read_text(encoding="utf-8").split("## Rules switched off")[0]
    assert [line for line in text.splitlines() if line.startswith("| `")] == page()


def test_nothing_to_look_at_is_no_pass() -> None:
    empty = RunTables(Manifest(run_id="empty", source="nodes"))
    assert {verdict_of(rule, rule.find(empty)).result for rule in RULES} == {Result.SKIPPED}


def test_a_run_in_which_nothing_broke_is_inconclusive() -> None:
    op = {"index": 1, "time": 1, "process": 1, "type": "ok", "f": "write", "key": 1, "value": 1}
    calm = RunTables(Manifest(run_id="calm", source="drill", faults=True), ops=[op])
    verdict = verdict_of(BY_ID["eventful"], BY_ID["eventful"].find(calm))
    assert (verdict.result, verdict.note) == (Result.UNKNOWN, "no fault happened")


def test_the_fence_of_real_nodes_follows_from_their_settings() -> None:
    settings: dict[str, object] = {"replication": {"timeout": "250ms"}}
    assert fence(Manifest(run_id="real", source="drill", settings=settings)) == 4 * 0.25 + SLACK_S
    assert fence(Manifest(run_id="odd", source="drill", settings={"replication": {}})) is None
    odd: dict[str, object] = {"replication": {"timeout": "soon"}}
    assert fence(Manifest(run_id="odd", source="drill", settings=odd)) is None


def test_transactions_that_append_are_work() -> None:
    op = {"index": 1, "time": 1, "process": 1, "type": "ok", "f": "txn", "key": "lists"}
    for value, acked in (([["append", 1, 7]], 1), ([["r", 1, [7]]], 0), (None, 0)):
        seen = RunTables(
            Manifest(run_id="lists", source="drill", faults=True), ops=[op | {"value": value}]
        )
        assert BY_ID["eventful"].find(seen).facts == acked


def test_the_command_judges_a_bundle_and_names_what_is_broken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clean = save(clean_run(len(CLEAN_SEEDS) - 1), tmp_path).path
    assert run(["check", "--quick", str(clean), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["invariants"]
    assert {each["id"]: each["title"] for each in listed}.items() >= {
        rule.id: rule.title for rule in RULES
    }.items()
    spoiled = str(save(planted(PLANTED["voted_twice"]), tmp_path).path)
    assert run(["check", "--quick", spoiled]) == 6
    shown = capsys.readouterr().out
    assert "FAIL  one-vote" in shown
    assert "events: node=" in shown
    assert run(["check", "--quick", spoiled, "--json"]) == 6
    (file,) = json.loads(capsys.readouterr().out)["files"]
    (vote,) = [each for each in file["invariants"] if each["id"] == "one-vote"]
    rows = vote["examples"][0]["rows"]
    assert [each["table"] for each in rows] == ["events", "events"]
    assert rows[0]["row"]["peer"] != rows[1]["row"]["peer"]
    assert run(["check", "--engine", "spark", str(clean / "ops.jsonl")]) == 2
    assert "is a history" in capsys.readouterr().err
