"""Writes that time out on real nodes: rolled back in order, never seen, and told as evidence."""

import pytest

from admin.checker.rules.run import RunTables, build
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
    bundle = real.drilled("sync-timeout-rollback", tmp_path_factory.mktemp("rollbacks") / "run")
    return build(bundle.manifest, {name: list(bundle.rows(name)) for name in TABLES})


@pytest.mark.parametrize("name", JUDGED)
def test_what_timed_out_is_rolled_back_and_never_seen(run: RunTables, name: str) -> None:
    real.assert_passes(run, name)
