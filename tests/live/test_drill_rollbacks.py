"""Writes that time out on real nodes: rolled back in order, never visible, in the evidence."""

import pytest

from admin.checker.rules.run import RunTables, build
from admin.evidence.tables import TABLES
from tests.live import real

pytestmark = pytest.mark.slow

JUDGED = (
    "fates-shared",
    "stretches-whole",
    "rollback-legal",
    "rolled-back-hidden",
    "failures-gone",
    "receipts-kept",
    "confirmed-agree",
)


DRILL = real.ROOT / "admin/drills/catalogue/sync-timeout-rollback.yaml"
SHORTER = {
    "replication.timeout: 500ms": "replication.timeout: 1s",
    "election.timeout: 1500ms": "election.timeout: 6s",
    "{wait: 5s}": "{wait: 1500ms}",
}
"""The followers are back before anybody may take over. Otherwise two of them may elect one that has
never had what was rolled back, and then it is cut: gone as well, but not rolled back for good."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunTables:
    folder = tmp_path_factory.mktemp("rollbacks")
    text = DRILL.read_text(encoding="utf-8")
    for former, now in SHORTER.items():
        assert former in text
        text = text.replace(former, now)
    drill = folder / "drill.yaml"
    drill.write_text(text, encoding="utf-8")
    bundle = real.drilled(drill, folder / "run")
    return build(bundle.manifest, {name: list(bundle.rows(name)) for name in TABLES})


@pytest.mark.parametrize("name", JUDGED)
def test_what_timed_out_is_rolled_back_and_never_seen(run: RunTables, name: str) -> None:
    real.assert_passes(run, name)
