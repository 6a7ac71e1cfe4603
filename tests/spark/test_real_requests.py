"""What a real demo leaves names every request: it is examined, and one wrong number is noticed."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from admin.checker.bundles import check_bundle
from admin.checker.verdict import Result
from admin.evidence.bundle import Bundle, write
from admin.evidence.tables import RUN, TABLES, Row
from tests.live import real

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from admin.checker.quick import HistoryReport

EXAMINED = (
    "once",
    "receipts-kept",
    "receipt-own",
    "stored-replayed",
    "monotonic-reads",
    "linearizable",
    "bank-total",
)
OWN = "receipt-own"
Lines = list[Row]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    kept = tmp_path_factory.mktemp("demo") / "kept"
    words = ["-m", "qsync", "demo", "--seconds", "4", "--keep", str(kept)]
    subprocess.run([sys.executable, *words], check=True, timeout=150, cwd=real.ROOT)
    return Bundle.open(kept)


def another_number(line: Row, _: Lines) -> None:
    line["seq"] = 1_000_000


def another_session(line: Row, _: Lines) -> None:
    line["session"] = "00" * 16


def anothers_receipt(line: Row, others: Lines) -> None:
    line.update({name: others[-1][name] for name in ("term", "lsn", "log_index")})


PLANTED: tuple[Callable[[Row, Lines], None], ...] = (
    another_number,
    another_session,
    anothers_receipt,
)


def spoiled(demo: Bundle, folder: Path, spoil: Callable[[Row, Lines], None]) -> Path:
    """The same, with one line changed: of a transfer, whose place says nothing of registers."""
    tables: dict[str, Lines] = {
        name: [{**row, RUN: None} for row in demo.rows(name)] for name in TABLES
    }
    done = [each for each in tables["ops"] if each["type"] == "ok" and each["f"] == "transfer"]
    spoil(done[len(done) // 2], done)
    name = spoil.__name__
    return write(folder / name, replace(demo.manifest, run_id=name), dict(tables)).path


def broken(report: "HistoryReport") -> set[str]:
    return {each.verdict.invariant for each in report.checked if each.verdict.count}


def places(report: "HistoryReport") -> set[tuple[str, int, int]]:
    """Of what is broken."""
    return {
        (found.invariant, found.node, found.index)
        for each in report.checked
        for found in each.verdict.violations
    }


def test_both_tiers_examine_what_clients_of_a_real_cluster_were_told(
    session: "SparkSession", demo: Bundle, tmp_path: Path
) -> None:
    from admin.checker.spark.reports import check_bundles  # noqa: PLC0415 - needs the extra

    assert session.version
    paths = [demo.path, *(spoiled(demo, tmp_path, each) for each in PLANTED)]
    clean, *others = check_bundles(paths)
    facts: list[dict[str, int]] = []
    for report in (check_bundle(demo.path), clean):
        known = {each.verdict.invariant: each.verdict for each in report.checked}
        assert broken(report) == set()
        assert {known[name].result for name in EXAMINED} == {Result.PASS}
        facts.append({name: known[name].facts for name in EXAMINED})
    assert facts[0] == facts[1]
    assert facts[0][OWN] == facts[0]["receipts-kept"]
    for path, there in zip(paths[1:], others, strict=True):
        report = check_bundle(path)
        assert broken(report) == broken(there) == {OWN}, path.name
        assert places(report) == places(there), path.name
