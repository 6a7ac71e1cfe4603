"""`make bench-peers` on real processes: qsync alone, since the others are rarely there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def command_lines() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue
    return found


@pytest.mark.slow
def test_what_is_there_is_measured_and_what_is_missing_is_named(tmp_path: Path) -> None:
    drawn = tmp_path / "ratios.svg"
    options = {
        "peers": "qsync,nobody",
        "workloads": "put 1x1,get 64x1",
        "rounds": "1",
        "seconds": "0.2",
        "failovers": "1",
        "keys": "100",
        "svg": str(drawn),
    }
    command = [sys.executable, "-m", "tests.bench.peers", "--json"]
    for option, value in options.items():
        command += [f"--{option}", value]
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (ours,) = found["contestants"]
    assert list(found["missing"]) == ["nobody"]
    assert set(ours["runs"]) == {"put 1x1", "get 64x1"}
    for runs in ours["runs"].values():
        assert runs[0]["ops_per_second"] > 0
        assert runs[0]["p50_ms"] > 0
    assert not ours["refused"]
    assert len(ours["failover_s"]) == len(ours["restart_s"]) == 1
    assert ours["full_mib"] >= ours["idle_mib"] > 0
    assert "nobody takes no part" in done.stderr
    assert drawn.exists()
    assert not [line for line in command_lines() if str(tmp_path) in line]
