"""Writes that time out on real nodes: rolled back in order, never seen, and told as evidence."""

import subprocess
import sys

import pytest

from admin.checker.rules import catalogue
from admin.checker.rules.run import RunTables, build
from admin.checker.verdict import Result
from admin.evidence.bundle import Bundle
from admin.evidence.tables import TABLES
from tests.live import real

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

JUDGED = (
    "fates-shared",
    "stretches-whole",
    "rollback-legal",
    "rolled-back-hidden",
    "failures-gone",
    "receipts-kept",
    "confirmed-agree",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunTables:
    where = tmp_path_factory.mktemp("rollbacks") / "run"
    words = ["-m", "qsync", "drill", "run", "sync-timeout-rollback", "--out", str(where)]
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        timeout=150,
        cwd=real.ROOT,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    bundle = Bundle.open(where)
    return build(bundle.manifest, {name: list(bundle.rows(name)) for name in TABLES})


@pytest.mark.parametrize("name", JUDGED)
def test_what_timed_out_is_rolled_back_and_never_seen(run: RunTables, name: str) -> None:
    """It passes by facts: a rule that has nothing to look at is skipped, not passed."""
    rule = catalogue.BY_ID[name]
    verdict = catalogue.verdict_of(rule, rule.find(run))
    assert verdict.result is Result.PASS, verdict.describe()
    assert verdict.facts > 0
