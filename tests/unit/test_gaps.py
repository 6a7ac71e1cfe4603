"""Where the manifest says that a table is not whole, no verdict passes by it, on either tier."""

from dataclasses import replace
from pathlib import Path

import pytest

from admin.checker.rules import catalogue
from admin.checker.rules.gaps import weigh
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import build
from admin.checker.verdict import Result
from admin.evidence.manifest import Manifest, NodeFacts

WHY = "events of node 2 end early"
FENCE: dict[str, object] = {"fence_seconds": 1.0}
EVENTS = (
    "one-vote",
    "ballot-kept",
    "vote-durable",
    "votes-suffice",
    "ack-durable",
    "reads-fresh",
    "quorum-before-confirm",
)


def manifest(**rows: int) -> Manifest:
    return Manifest(run_id="r", source="drill", quorum=2, voters=3, rows=rows, gaps={"events": WHY})


@pytest.mark.parametrize("name", EVENTS)
def test_a_pass_by_a_table_that_ends_early_is_unknown_and_a_violation_stays_one(name: str) -> None:
    rule = catalogue.BY_ID[name]
    found = weigh(rule, RuleFinding(facts=3), manifest(events=9))
    verdict = catalogue.verdict_of(rule, found)
    assert (verdict.result, verdict.note) == (Result.UNKNOWN, WHY)
    found.broken(name, "it is wrong", ())
    assert catalogue.verdict_of(rule, found).result is Result.FAIL


def test_what_is_judged_by_other_tables_still_passes() -> None:
    for name in ("log-chain", "lives-forward", "feed-complete"):
        rule = catalogue.BY_ID[name]
        found = weigh(rule, RuleFinding(facts=3), manifest(events=9))
        assert catalogue.verdict_of(rule, found).result is Result.PASS


def test_without_any_events_a_quorum_is_looked_for_in_the_logs() -> None:
    rule = catalogue.BY_ID["quorum-before-confirm"]
    found = weigh(rule, RuleFinding(facts=1), manifest())
    assert catalogue.verdict_of(rule, found).result is Result.PASS


def test_what_is_skipped_says_why_there_is_no_table() -> None:
    (verdict,) = [
        each.verdict
        for each in catalogue.judge(build(manifest(), {}))
        if each.verdict.invariant == "one-vote"
    ]
    assert (verdict.result, verdict.note) == (Result.SKIPPED, WHY)


def test_what_is_skipped_for_want_of_a_removed_member_says_so() -> None:
    known = replace(manifest(events=9), gaps={}, left_out="elections are left out")
    for name, words in (
        ("votes-suffice", "no event `leads`; elections are left out"),
        ("log-chain", "nothing in wal"),
    ):
        rule = catalogue.BY_ID[name]
        assert catalogue.verdict_of(rule, weigh(rule, RuleFinding(), known)).note == words
    rule = catalogue.BY_ID["one-vote"]
    found = catalogue.verdict_of(rule, weigh(rule, RuleFinding(facts=3), known))
    assert found.result is Result.PASS


def test_what_is_skipped_says_in_words_what_did_not_happen() -> None:
    whole = Manifest(run_id="r", source="drill", whole=True, rows={"wal": 9, "ops": 9})
    for rule in catalogue.RULES:
        verdict = catalogue.verdict_of(rule, weigh(rule, RuleFinding(), whole))
        assert verdict.result is Result.SKIPPED
        absent = [name for name in rule.needs if name not in {"wal", "ops"}]
        excuse = rule.excuse(whole)
        wanted = f"nothing in {' and '.join(absent)}" if absent else excuse or rule.idle
        assert verdict.note == wanted, rule.id
        assert len(rule.idle) > len("nobody"), rule.id


@pytest.mark.parametrize(
    ("name", "known", "words"),
    [
        ("fenced", manifest(status=9), "the fence is not known"),
        ("fenced", replace(manifest(status=9), settings=FENCE), "no leader was replaced"),
        ("fenced", replace(manifest(status=9), settings=FENCE, clock="own"), "be compared"),
        ("comes-to-rest", manifest(status=9), "did not wait"),
        ("quorums-meet", replace(manifest(status=9), voters=0), "number of voters"),
    ],
)
def test_a_run_that_is_not_to_be_examined_says_why(name: str, known: Manifest, words: str) -> None:
    rule = catalogue.BY_ID[name]
    assert words in catalogue.verdict_of(rule, weigh(rule, RuleFinding(), known)).note


def test_the_other_tier_weighs_it_the_same(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the [spark] extra")
    from admin.checker.spark.findings import JobOutputs, conclude  # noqa: PLC0415 - needs it
    from admin.checker.spark.job_schema import FACTS, FindingRow  # noqa: PLC0415 - the same

    own = JobOutputs()
    own.add(FindingRow("r", FACTS, name, amount=3) for name in (*EVENTS, "log-chain"))
    own.add([FindingRow("r", "events", "durable", amount=3)])
    found = conclude(manifest(events=9), own, ())
    assert {name for name in EVENTS if found[name].doubt == WHY} == set(EVENTS)
    assert found["log-chain"].doubt == ""


@pytest.mark.parametrize(
    ("problem", "wanted"), [("", Result.FAIL), ("it is rotten", Result.SKIPPED)]
)
def test_what_a_damaged_log_has_lost_is_no_violation(problem: str, wanted: Result) -> None:
    """A former dump of the running node has what it had confirmed."""
    entry = {"index": 1, "term": 1, "kind": "PROMOTE", "origin": 1, "lsn": 1, "flags": 0, "crc": 7}
    sample = {"life": 1, "sample": 0, "time_mono": 1, "role": "leader", "term": 1}
    whose = {"run_id": "r", "node": 1, "generation": 1}
    tables = {
        "wal": [whose | entry],
        "status": [whose | sample | {"last": 9, "written": 9, "confirmed": 9}],
    }
    facts = NodeFacts(node=1, name="n1", confirmed=1, last=1, problem=problem)
    run = build(replace(manifest(wal=1, status=1), nodes=(facts,), gaps={}), tables)
    (verdict,) = [
        each.verdict for each in catalogue.judge(run) if each.verdict.invariant == "confirmed-kept"
    ]
    assert verdict.result is wanted
