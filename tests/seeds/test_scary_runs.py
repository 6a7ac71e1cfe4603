"""Clean but frightening runs raise no alarm: leaders fall, disks are lost, answers never come."""

from collections import Counter
from pathlib import Path

import pytest

from admin.checker.bundles import check_bundle
from admin.checker.verdict import Result
from admin.evidence.simulated import Wipe, record
from qsync.sim.plan import Plan
from qsync.sim.variety import COMMON

EVENTS = 1500
SHORT = (*range(451, 471), 1036)
"""The last one comes to rest, and elects again while its disks come to rest, too."""
LONG = range(1001, 1201)


def frightening(seed: int, folder: Path) -> Counter[str]:
    """Play it, judge it, and say what happened in it. Every second run loses a directory."""
    wipe = Wipe(node=1 + seed % 3, after=1.5) if seed % 2 else None
    # A cluster of one or two cannot bear it that a directory is lost by order.
    without = COMMON if wipe else ()
    report, bundle = record(Plan(seed=seed, events=EVENTS, without=without), folder, wipe=wipe)
    assert report.held, report.describe()
    checked = check_bundle(bundle.path).checked
    failed = [each.verdict for each in checked if each.verdict.result is Result.FAIL]
    assert not failed, f"seed {seed}: {[line for each in failed for line in each.describe()]}"
    seen = Counter(str(row["f"]) for row in bundle.rows("nemesis"))
    seen["terms"] = report.counts["terms led"] - 1
    seen["rolled back"] = report.counts["rolled back"]
    seen["unknown"] = sum(row["type"] == "info" for row in bundle.rows("ops"))
    seen["facts"] = sum(each.verdict.facts for each in checked)
    return seen


@pytest.mark.timeout(300)
def test_frightening_runs_raise_no_alarm(tmp_path: Path) -> None:
    seen: Counter[str] = sum((frightening(seed, tmp_path) for seed in SHORT), Counter())
    wanted = ("wipe", "kill", "isolate", "terms", "rolled back", "unknown")
    assert all(seen[each] for each in wanted), seen


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_hundred_frightening_runs_raise_no_alarm(tmp_path: Path) -> None:
    seen: Counter[str] = sum((frightening(seed, tmp_path) for seed in LONG), Counter())
    assert seen["wipe"] > len(LONG) // 4, seen
    assert seen["facts"] > 100_000, seen
