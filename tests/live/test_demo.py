"""The demo: real processes, a leader killed under load, and nothing lost."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
WANTED = (
    "log-chain",
    "log-owner",
    "log-matching",
    "promote-fits",
    "confirmed-agree",
    "confirmed-kept",
    "leader-complete",
    "status-monotone",
    "once",
    "receipts-kept",
    "reads-fresh",
    "stored-replayed",
    "comes-to-rest",
    "eventful",
    "linearizable",
)


def demo(*args: str) -> dict[str, object]:
    command = [sys.executable, "-m", "qsync", "demo", "--json", *args]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=55, cwd=ROOT, check=False
    )
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def test_a_leader_killed_under_load_costs_no_acknowledged_write(tmp_path: Path) -> None:
    found = demo("--seconds", "4", "--keep", str(tmp_path / "kept"))
    acked = found["acked"]
    assert isinstance(acked, int)
    assert acked > 100
    assert (found["lost"], found["rolled_back_visible"]) == (0, 0)
    assert found["unknown"] == found["unknown_resolved"]
    assert found["linearizable"]
    assert found["total_conserved"]
    assert found["replicas_identical"]
    terms = found["terms"]
    assert isinstance(terms, list)
    assert len(terms) >= 2, "the leader was killed, so a second term must have acknowledged writes"
    assert (tmp_path / "kept" / "history.jsonl").stat().st_size > 0


def test_what_a_demo_keeps_is_a_bundle_that_holds(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    demo("--seconds", "4", "--keep", str(kept))
    command = [sys.executable, "-m", "qsync", "check", "--quick", "--json", str(kept)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = json.loads(done.stdout)["files"]
    facts = {each["id"]: each["facts"] for each in file["invariants"]}
    assert all(facts[each] for each in WANTED), facts
