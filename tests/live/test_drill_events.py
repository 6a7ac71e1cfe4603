"""What happened inside of nodes, in the bundle of a real drill: judged, and noticed if changed."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from admin.checker.rules import catalogue
from admin.checker.rules.run import RunTables, build
from admin.checker.verdict import Result
from admin.evidence.bundle import Bundle
from admin.evidence.tables import EVENT_NAMES, SNAPSHOT, TABLES, UNSEEN, Row
from qsync.store.eventfile import FOLDER
from tests.live import real

pytestmark = pytest.mark.slow

DRILL = """\
drill: inside
title: Wipe a follower, and kill the leader
hypothesis: What happens inside of nodes is written down whatever happens to them.
targets:
  first: {role: leader}
  second: {role: follower}
guards: {max_nodes_down: 1, time_limit: 90s}
workload: {clients: 3}
method:
  - {wait: 500ms}
  - {kill: second}
  - {wipe: second}
  - {start: second}
  - {until: {probe: caught_up, node: second}, within: 60s}
  - {kill: first}
  - {until: {probe: writable, not: first}, within: 30s}
  - {start: first}
  - {until: {probe: caught_up, node: first}, within: 60s}
expect:
  rpo_lost_acked: 0
"""
Tables = Mapping[str, list[Row]]
JUDGED = (
    "one-vote",
    "ballot-kept",
    "quorum-before-confirm",
    "vote-durable",
    "votes-suffice",
    "ack-durable",
    "reads-fresh",
    "lives-forward",
    "feed-complete",
    "stored-replayed",
)
REPLAYED = ("confirm-by-acks", "reads-by-place", "same-directory")
"""Their faults are planted elsewhere, in smaller runs."""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    where = tmp_path_factory.mktemp("inside")
    (where / "drill.yaml").write_text(DRILL)
    return real.drilled(where / "drill.yaml", where / "run")


@pytest.fixture
def tables(bundle: Bundle) -> Tables:
    return {name: list(bundle.rows(name)) for name in TABLES}


def number(row: Row, name: str) -> int:
    found = row[name]
    assert isinstance(found, int)
    return found


def judged(bundle: Bundle, tables: Tables) -> RunTables:
    return build(bundle.manifest, tables)


def test_everything_that_can_happen_inside_is_in_the_bundle(bundle: Bundle, tables: Tables) -> None:
    assert {each["name"] for each in tables["events"]} >= EVENT_NAMES.keys() - {
        "begins",
        "cut",
        "promised",
        "released",
        UNSEEN,
    }
    assert {each["node"] for each in tables["events"]} == {1, 2, 3}
    assert bundle.manifest.rows["events"] == len(tables["events"])
    assert bundle.manifest.gaps == {}
    wiped = {(number(e, "node"), number(e, "generation")) for e in tables["events"]} - {
        (1, 1),
        (2, 1),
        (3, 1),
    }
    now = {(each.node, each.generation) for each in bundle.manifest.nodes}
    assert len(wiped) == 1
    assert wiped < now


@pytest.mark.parametrize("name", [*JUDGED, *REPLAYED])
def test_what_happens_inside_is_judged_on_real_processes(
    bundle: Bundle, tables: Tables, name: str
) -> None:
    real.assert_passes(judged(bundle, tables), name)


def last(rows: list[Row], name: str) -> Row:
    return [each for each in rows if each["name"] == name][-1]


def vote_twice(tables: Tables) -> None:
    vote = last(tables["events"], "vote")
    other = ({1, 2, 3} - {number(vote, "node"), number(vote, "peer")}).pop()
    tables["events"].append(vote | {"peer": other, "number": len(tables["events"]) + 1})


def forget_a_ballot(tables: Tables) -> None:
    events = tables["events"]
    ballot = last(events, "ballot")
    events.append(ballot | {"term": number(ballot, "term") - 1, "number": len(events) + 1})


def vote_before_the_disk(tables: Tables) -> None:
    events = tables["events"]
    vote = last(events, "vote")
    events[:] = [
        each
        for each in events
        if each["name"] != "ballot"
        or each["node"] != vote["node"]
        or number(each, "term") < number(vote, "term")
    ]


def lead_without_votes(tables: Tables) -> None:
    events = tables["events"]
    term = last(events, "leads")["term"]
    events[:] = [each for each in events if each["name"] != "vote" or each["term"] != term]


def ack_something_else(tables: Tables) -> None:
    ack = last(tables["events"], "ack")
    ack["crc"] = number(ack, "crc") ^ 1


def serve_what_is_old(tables: Tables) -> None:
    served = last(tables["events"], "served")
    served["index"] = number(served, "floor") - 1


def confirm_by_one_disk(tables: Tables) -> None:
    events = tables["events"]
    confirmed = last(events, "confirmed")
    first = min(
        number(each, "number")
        for each in events
        if each["name"] == "confirmed" and each["index"] == confirmed["index"]
    )
    events[:] = [
        each
        for each in events
        if each["name"] != "durable"
        or each["index"] != confirmed["index"]
        or each["node"] == confirmed["node"]
        or number(each, "number") > first
    ]


def say_an_older_term(tables: Tables) -> None:
    tables["status"][-1]["term"] = 0


def pass_over_changes(tables: Tables) -> None:
    for answer in tables["feeds"]:
        answer["places"] = []


def store_something_else(tables: Tables) -> None:
    stored = [each for each in tables["digests"] if each.get("made") == SNAPSHOT]
    stored[-1]["digest"] = "0" * 32


PLANTED: dict[str, Callable[[Tables], None]] = dict(
    zip(
        JUDGED,
        (
            vote_twice,
            forget_a_ballot,
            confirm_by_one_disk,
            vote_before_the_disk,
            lead_without_votes,
            ack_something_else,
            serve_what_is_old,
            say_an_older_term,
            pass_over_changes,
            store_something_else,
        ),
        strict=True,
    )
)


@pytest.mark.parametrize("name", JUDGED)
def test_what_is_changed_in_the_bundle_is_noticed(
    bundle: Bundle, tables: Tables, name: str
) -> None:
    PLANTED[name](tables)
    verdict = catalogue.verdict_of(
        catalogue.BY_ID[name], catalogue.BY_ID[name].find(judged(bundle, tables))
    )
    assert verdict.result is Result.FAIL, verdict.describe()


@pytest.mark.parametrize(
    "name", [each for each in JUDGED if each not in {"lives-forward", "stored-replayed"}]
)
def test_no_verdict_passes_by_a_table_that_is_not_whole(
    bundle: Bundle, tables: Tables, name: str
) -> None:
    gaps = {"events": "they end early", "feeds": "they do, too"}
    run = judged(bundle, tables)
    run.manifest = replace(bundle.manifest, gaps=gaps)
    (verdict,) = [each.verdict for each in catalogue.judge(run) if each.verdict.invariant == name]
    assert verdict.result is Result.UNKNOWN
    assert verdict.note in gaps.values()


def test_a_demo_that_is_kept_has_it_too_and_its_nodes_wrote_it(tmp_path: Path) -> None:
    words = ["-m", "qsync", "demo", "--seconds", "4", "--keep", str(tmp_path / "kept")]
    subprocess.run([sys.executable, *words], check=True, timeout=150, cwd=real.ROOT)
    assert len(list((tmp_path / "kept/lab").glob(f"n*/{FOLDER}/*.events"))) >= 3
    found = {
        each.verdict.invariant: each for each in catalogue.judge(catalogue.load(tmp_path / "kept"))
    }
    for name in JUDGED:
        assert found[name].verdict.result is Result.PASS, found[name].verdict.describe()
