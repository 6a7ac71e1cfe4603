"""What is looked at in columns, for large bundles, gives what one process finds row by row."""

import functools
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("pyarrow", reason="needs the [spark] extra")

from admin.checker.kernels import receipts
from admin.checker.kernels.disks import ACKS, QUORUM, ROWS
from admin.checker.kernels.feeds import FEED, SPAN, longest
from admin.checker.kernels.feeds import joined as joined_feeds
from admin.checker.kernels.in_memory import MemoryKernels, evidence_of, failed_requests
from admin.checker.kernels.proofs import complete
from admin.checker.kernels.registry import KERNELS
from admin.checker.kernels.rolled_back_reads import HIDDEN, hidden
from admin.checker.kernels.stops import STOPS, RolledBackStretches, joined
from admin.checker.parquet import to_parquet
from admin.checker.rules.catalogue import BY_ID, RULES, load, verdict_of
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import RunTables
from admin.checker.spark.arrays import ArrowTable, numbers
from admin.checker.spark.chunks import Chunk, chunks, in_order, read
from admin.checker.spark.invariants import feeds as feed_tasks
from admin.checker.spark.invariants import receipts as receipt_tasks
from admin.checker.spark.invariants.feeds import look as look_at_feeds
from admin.checker.spark.invariants.nodes import DiskJob, clocks_of, disks_of, stops_in
from admin.checker.spark.invariants.questions import Job, together
from admin.checker.spark.invariants.questions import look as look_at_part
from admin.checker.spark.job_schema import (
    ACKED,
    DOUBT,
    FACTS,
    FAILED,
    LACKS,
    PROVEN,
    FindingRow,
)
from admin.checker.spark.kernels import RunJob, finding_rows, proven
from admin.checker.spark.kernels import look as look_at_run
from admin.checker.spark.outcomes import failures_and_successes
from admin.checker.spark.proofs import look_up
from admin.checker.verdict import Result
from admin.evidence.bundle import Bundle, write_part
from admin.evidence.manifest import Manifest
from tests.bench.big_bundle import make
from tests.oracle import acks, eventful, log_ends, quorum, stops
from tests.oracle import times as time_oracle
from tests.oracle.table import RUN_ORACLE
from tests.spark import dice

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SEEDS = range(150)
SEEN_MIN = 7
"""Runs that break an invariant, and that do not: dice that never show it prove nothing."""
Runs = list[tuple[int, Path, RunTables]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("dice")
    paths = [(seed, dice.run(Random(seed), folder / str(seed))) for seed in SEEDS]
    return [(seed, path, load(path)) for seed, path in paths]


@pytest.mark.parametrize("id_", [receipts.OWN, receipts.KEPT])
def test_receipts_are_judged_as_row_by_row(runs: Runs, id_: str) -> None:
    """Facts, texts and proofs, however many entries are looked at together."""
    seen = Counter[bool]()
    for seed, path, run in runs:
        wanted = RUN_ORACLE[id_](run)
        assert _said(BY_ID[id_].find(run)) == _said(wanted), seed
        for span in (7, receipt_tasks.SPAN) if id_ == receipts.OWN else (0,):
            rows = list(_receipts(path, run, span))
            found = receipts.first_lines(_finding(rows)) if not span else _finding(rows)
            complete([found], functools.partial(look_up, path))
            assert _said(found) == _said(wanted), (seed, span)
        seen[bool(wanted.breaches)] += bool(wanted.facts)
    assert min(seen[True], seen[False]) > SEEN_MIN


def _receipts(path: Path, run: RunTables, span: int) -> Iterator[FindingRow]:
    """What tasks find: in ranges of the logs, or if these have no width in files of lines."""
    for each in receipt_tasks.plan(path, span) if span else ():
        yield from receipt_tasks.look(each)
    logs = [receipts.ConfirmedTerms.of(log) for log in MemoryKernels(run).outlines]
    for chunk in () if span else chunks(path, "ops", "log_index"):
        lines = ArrowTable(read(chunk, receipts.LINES), "ops")
        yield from finding_rows(dice.RUN, receipts.KEPT, receipts.kept(logs, lines))


def _said(finding: RuleFinding) -> tuple[int, list[str]]:
    return finding.facts, sorted(map(repr, finding.breaches))


def test_feeds_are_judged_as_row_by_row(runs: Runs) -> None:
    """Facts, texts and proofs, however many entries are looked at together."""
    seen = Counter[bool]()
    for seed, path, run in runs:
        wanted, logs = RUN_ORACLE[FEED](run), MemoryKernels(run).outlines
        assert _said(BY_ID[FEED].find(run)) == _said(wanted), seed
        for span in (4, SPAN):
            rows = [
                row for each in feed_tasks.plan(path, logs, span) for row in look_at_feeds(each)
            ]
            found = joined_feeds(_finding(rows), longest(logs))
            complete([found], functools.partial(look_up, path))
            assert _said(found) == _said(wanted), (seed, span)
        seen[bool(wanted.breaches)] += bool(wanted.facts)
    assert min(seen[True], seen[False]) > SEEN_MIN


def test_hidden_values_are_found_as_row_by_row(runs: Runs) -> None:
    """Facts, texts and proofs."""
    seen = Counter[bool]()
    for seed, path, run in runs:
        wanted, logs = RUN_ORACLE[HIDDEN](run), MemoryKernels(run).outlines
        assert _said(BY_ID[HIDDEN].find(run)) == _said(wanted), seed

        def ask(jobs: Sequence[Job]) -> Iterator[FindingRow]:
            return (row for each in jobs for row in look_at_part(each))

        found = together({dice.RUN: hidden(logs)}, {dice.RUN: path}, ask)[dice.RUN]
        complete([found], functools.partial(look_up, path))
        assert _said(found) == _said(wanted), seed
        seen[bool(wanted.breaches)] += bool(wanted.facts)
    assert min(seen[True], seen[False]) > SEEN_MIN


@pytest.mark.parametrize("id_", [ACKS, QUORUM, log_ends.KEPT])
def test_disks_are_followed_as_event_by_event(runs: Runs, id_: str) -> None:
    """Facts, texts and proofs, however many events are looked at together."""
    seen = Counter[bool]()
    for seed, path, run in runs:
        oracles = {ACKS: acks.find, QUORUM: quorum.quorums, log_ends.KEPT: log_ends.find}
        wanted = oracles[id_](run)
        assert BY_ID[id_].find(run) == wanted, seed
        if id_ == QUORUM and not any(each.name == "durable" for each in run.events):
            continue
        for size in (1, 5, ROWS):
            job = DiskJob(path, evidence_of(run).ends)
            rows = [each for each in disks_of(job, size) if each.invariant == id_]
            found = _finding(rows)
            complete([found], functools.partial(look_up, path))
            assert found == wanted, (seed, size)
        seen[bool(wanted.breaches)] += bool(wanted.facts)
    assert min(seen[True], seen[False]) > SEEN_MIN


def test_a_task_makes_of_files_what_one_process_makes_of_rows(runs: Runs) -> None:
    """The columns of kernels: facts, texts and proofs are the same."""
    seen = Counter[bool]()
    for seed, path, run in runs:
        evidence = evidence_of(run)
        known = (evidence.promotes, evidence.ends, evidence.acked, evidence.strikes)
        rows = list(look_at_run(RunJob(path, *known)))
        for kernel in KERNELS:
            own = [each for each in rows if each.invariant == kernel.id]
            wanted = kernel.find(evidence)
            assert _finding(own) == wanted, (seed, kernel.id)
            seen[bool(wanted.breaches)] += bool(wanted.facts)
    assert min(seen[True], seen[False]) > SEEN_MIN


def test_stops_are_found_as_claim_by_claim(runs: Runs) -> None:
    """Facts, texts and proofs."""
    seen = Counter[bool]()
    for seed, path, run in runs:
        wanted = stops.find(run)
        assert BY_ID[STOPS].find(run) == wanted, seed
        stretches = RolledBackStretches.of(MemoryKernels(run).outlines)
        claims = [*chunks(path, "events", "number"), *chunks(path, "status", "sample")]
        given = {dice.RUN: stretches} if len(stretches) else {}
        rows = [row for each in claims if given for row in stops_in(each, given)]
        found = joined(_finding(rows), len(stretches))
        complete([found], functools.partial(look_up, path))
        assert found == wanted, seed
        seen[bool(wanted.breaches)] += bool(wanted.facts)
    assert min(seen[True], seen[False]) > SEEN_MIN


def test_clocks_are_doubted_as_step_by_step(runs: Runs) -> None:
    seen = Counter[bool]()
    for seed, path, run in runs:
        found = list(clocks_of(path))
        wanted = time_oracle.find(run)
        assert BY_ID[time_oracle.TIMES].find(run) == wanted, seed
        assert _said(_finding(found)) == _said(wanted), seed
        doubts = [each.message for each in found if each.what == DOUBT]
        assert doubts == [wanted.doubt] * bool(wanted.doubt), seed
        seen[bool(wanted.doubt)] += bool(wanted.facts)
    assert min(seen[True], seen[False]) > SEEN_MIN


def test_what_clients_were_told_is_counted_as_line_by_line(runs: Runs) -> None:
    seen = Counter[str]()
    for seed, path, run in runs:

        def ask(
            look: Callable[[Chunk], Iterator[FindingRow]],
            asked: Collection[str] | None,
            path: Path = path,
        ) -> Iterator[FindingRow]:
            for chunk in chunks(path, "ops", "index"):
                yield from look(chunk)

        found = list(failures_and_successes(ask))
        acked = Counter[str]()
        for each in found:
            acked[each.invariant] += each.amount if each.what == ACKED else 0
        given = replace(run, manifest=replace(run.manifest, faults=True))
        evidence = evidence_of(given)
        assert +acked == evidence.acked, seed
        assert BY_ID[eventful.EVENTFUL].find(given) == eventful.eventful(given), seed
        told = {(json.loads(e.message), e.amount): e.index for e in found if e.what == FAILED}
        failed = list(told)
        assert told == failed_requests(run.ops), seed
        lines = [line for line in run.ops if line.get("session") and line.get("seq")]
        by_type = {
            type_: {(line["session"], line["seq"]) for line in lines if line["type"] == type_}
            for type_ in ("ok", "fail")
        }
        assert sorted(failed) == sorted(by_type["fail"] - by_type["ok"]), seed
        seen["failed"] += len(failed)
        seen["both"] += len(by_type["fail"] & by_type["ok"])
    assert min(seen["failed"], seen["both"]) > SEEN_MIN


def test_chunks_out_of_order_are_put_in_order(tmp_path: Path) -> None:
    """Rows of a file, files that overlap, and files of which nobody knows what they hold."""
    numbered = list(range(40))
    Random(1).shuffle(numbered)
    rows = [{"node": 1, "generation": 1, "life": 1, "name": "cut"} for _ in numbered]
    for count, part in enumerate((numbered[:15], numbered[15:20], numbered[20:])):
        some = [rows[n] | {"number": n, "time_mono": n} for n in part]
        write_part(tmp_path / "lines" / "events" / f"{count}.jsonl", some)
    Manifest(run_id="r", source="dice").save(tmp_path / "lines")
    to_parquet(Bundle.open(tmp_path / "lines"), tmp_path / "parquet")
    for path in (tmp_path / "lines", tmp_path / "parquet"):
        parts = chunks(path, "events", "number")
        tables = list(in_order(parts, "number", ("number", "name")))
        found = [number for table in tables for number in numbers(table, "number").tolist()]
        assert len(parts) == 3
        assert found == sorted(numbered)


def test_the_large_bundle_of_the_bench_is_clean(tmp_path: Path) -> None:
    """With an election and rollbacks in it, of everything there is."""
    run = load(make(tmp_path / "whole", 3 * 45_000, whole=True))
    judged = {rule.id: verdict_of(rule, rule.find(run)).result for rule in RULES}
    assert set(judged.values()) == {Result.PASS, Result.SKIPPED}, judged
    skipped = {id_ for id_, result in judged.items() if result is Result.SKIPPED}
    assert skipped == {
        "fates-shared",
        "configuration-steps",
        "configuration-quorums",
        "removed-count-nowhere",
        "leader-complete",
        "fenced",
        "promise-kept",
        "reads-by-place",
        "same-directory",
    }


def _finding(rows: Collection[FindingRow]) -> RuleFinding:
    return RuleFinding(
        facts=sum(each.amount for each in rows if each.what == FACTS),
        lacks="".join(each.message for each in rows if each.what == LACKS),
        breaches=[proven(each) for each in rows if each.what == PROVEN],
    )
