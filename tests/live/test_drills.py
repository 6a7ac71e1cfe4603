"""Drills on real processes: verdict, evidence, and what is left when the runner dies."""

import json
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from admin.cluster import settling, surveys
from admin.drills.undo_log import UndoLog
from admin.evidence.manifest import Manifest
from admin.lab import lab
from tests.live import real

pytestmark = pytest.mark.slow

KILL = """\
drill: short
title: Kill the leader
hypothesis: Nothing that was acknowledged is lost.
targets:
  victim: {role: leader}
guards: {max_nodes_down: 1, time_limit: 90s}
workload: {clients: 3}
method:
  - {wait: 500ms}
  - {kill: victim}
  - {until: {probe: writable, not: victim}, within: 30s, as: writable}
  - {until: {probe: acked_again}, within: 30s}
  - {start: victim}
  - {until: {probe: caught_up, node: victim}, within: 60s}
expect:
  writable: {below: 30s}
  rpo_lost_acked: 0
"""
HANG = """\
drill: hang
title: Break much, and never end
hypothesis: It is mended by somebody else.
targets:
  dead: {role: follower}
  asleep: {role: leader}
workload: {kind: append, clients: 2}
method:
  - {stall_fsync: asleep, delay: 1s}
  - {fill: asleep}
  - {cut: asleep, way: out}
  - {kill: dead}
  - {pause: asleep}
  - {wait: 1h}
"""
STOPPED = """\
drill: stopped
title: A stop condition that holds
hypothesis: It stops and heals.
targets:
  victim: {role: follower}
workload: {clients: 2}
stop_when:
  - {probe: nodes_reachable, below: 3}
method:
  - {kill: victim}
  - {wait: 60s}
"""


def words(*args: str | Path) -> list[str]:
    return [sys.executable, "-m", "qsync", *map(str, args)]


def qsync(*args: str | Path, code: int = 0) -> str:
    done = subprocess.run(
        words(*args), capture_output=True, text=True, timeout=150, cwd=real.ROOT, check=False
    )
    assert done.returncode == code, f"{args}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def drill(*args: str | Path, code: int = 0) -> str:
    return qsync("drill", *args, code=code)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Lab]:
    """A lab that may be broken, and that every test leaves whole."""
    options = {"cluster.tag": "drills-allowed"}
    where = tmp_path_factory.mktemp("home") / "lab"
    made = lab.create(where, name="l", nodes=3, options=options, links=True)
    try:
        made.start_all()
        settling.wait_writable(made.addresses, timeout=30)
        yield made
    finally:
        made.remove()


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "drill.yaml"
    path.write_text(text)
    return path


def test_a_killed_leader_is_replaced_and_the_evidence_is_there(tmp_path: Path) -> None:
    out = tmp_path / "run"
    junit = tmp_path / "junit.xml"
    file = write(tmp_path, KILL)
    told = drill("run", file, "--out", out, "--junit", junit, "--json")
    assert json.loads(told)["verdicts"] == ["passed"]
    report = json.loads((out / "report.json").read_text())
    assert report["lost"] == []
    assert report["outcomes"]["acknowledged"] > 0
    assert len(report["terms"]) >= 2
    assert 'failures="0"' in junit.read_text()
    for name in ("report.md", "report.html", "status.jsonl", "nemesis.jsonl", "digests.jsonl"):
        assert (out / name).stat().st_size > 0, name
    manifest = Manifest.load(out)
    assert (manifest.source, manifest.whole, manifest.faults) == ("drill", True, True)
    assert manifest.command == f"qsync drill run {file} --nodes 3 --seed 1"
    assert all(each.last > 0 for each in manifest.nodes)
    checked = json.loads(qsync("check", "--quick", out, "--json"))
    examined = {each["id"] for each in checked["invariants"] if each["status"] == "pass"}
    assert checked["verdict"] == "pass"
    assert {"receipts-kept", "confirmed-agree", "one-leader", "lives-forward"} <= examined
    assert not (out / "lab").exists()
    drill("compare", out, out)


def test_a_cluster_that_was_destroyed_is_restored_and_what_is_lost_is_counted(
    tmp_path: Path,
) -> None:
    out = tmp_path / "run"
    waits = ("method.1.wait=200ms", "method.4.wait=800ms", "method.11.wait=300ms")
    shorter = [word for each in (*waits, "workload.clients=3") for word in ("--set", each)]
    drill("run", "destroy-and-restore", "--out", out, *shorter)
    report = json.loads((out / "report.json").read_text())
    assert report["measures"]["rpo_lost_acked"] == 0
    assert report["measures"]["left_behind"] > 0
    assert 0 < report["measures"]["paused"] < report["measures"]["gap"]
    (point,) = report["restored"]
    whole, told = ((out / f"history{name}.jsonl").read_text() for name in ("-whole", ""))
    behind = [each for each in map(json.loads, whole.splitlines()) if _is_behind(each, point)]
    assert len(behind) == report["measures"]["left_behind"]
    assert not any(_is_behind(each, point) for each in map(json.loads, told.splitlines()))
    checked = json.loads(qsync("check", "--quick", out, "--json"))
    assert checked["verdict"] == "pass"


def _is_behind(line: dict[str, object], point: dict[str, int]) -> bool:
    """It was acknowledged by the cluster that is gone, and the backup did not have it."""
    term, index = line["term"], line.get("log_index")
    if line["type"] != "ok" or line["f"] == "read":
        return False
    if not isinstance(term, int) or not isinstance(index, int):
        return False
    return term < point["term"] and index > point["index"]


def test_a_cluster_that_a_dead_runner_left_broken_is_brought_back(
    tmp_path: Path, home: lab.Lab
) -> None:
    file = write(tmp_path, HANG)
    with (tmp_path / "said").open("w") as said:
        runner = subprocess.Popen(
            words("drill", "run", file, "--target", home.dir, "--out", tmp_path / "run"),
            cwd=real.ROOT,
            stdout=said,
            stderr=said,
        )
    try:
        real.until(lambda: _debts(home) == 5 and _is_paused(home), "everything is broken")
        drill("heal", home.dir, code=4)  # it runs, so it will heal by itself
        runner.send_signal(signal.SIGKILL)
    finally:
        runner.kill()
        runner.wait()
    assert not real.healthy(home)
    drill("heal", home.dir)
    assert real.healthy(home)
    assert UndoLog.read(home.dir) is None
    assert all(each.rule.whole for each in home.control.show())
    assert not any(each.faults for each in surveys.survey(home.addresses).samples)
    assert not any(_is_limited(node) for node in home.nodes)


def test_a_stop_condition_ends_a_drill_healed_and_a_guard_keeps_it_from_beginning(
    tmp_path: Path, home: lab.Lab
) -> None:
    file = write(tmp_path, STOPPED)
    drill("run", file, "--target", home.dir, "--out", tmp_path / "run", code=7)
    assert "nodes_reachable" in json.loads((tmp_path / "run/report.json").read_text())["stopped"]
    assert real.healthy(home)
    strict = file.read_text() + "guards: {never_touch: [n1, n2, n3]}\n"
    pids = _pids(home)
    drill("run", write(tmp_path, strict), "--target", home.dir, "--out", tmp_path / "no", code=7)
    assert _pids(home) == pids
    assert not (tmp_path / "no").exists()
    later = write(tmp_path, strict.replace("kill: victim", "kill: leader"))
    drill("run", later, "--target", home.dir, "--out", tmp_path / "later", code=7)
    report = json.loads((tmp_path / "later/report.json").read_text())
    assert report["stopped"].startswith("kill leader: never_touch names n")
    assert _pids(home) == pids


def test_a_fault_point_is_armed_by_hand_seen_in_status_and_disarmed(home: lab.Lab) -> None:
    where = ("--dir", home.dir)
    qsync("lab", "fault", "n1", "slow_fsync", "--seconds", "1ms", *where)
    armed = json.loads(qsync("lab", "fault", "n1", "--json", *where))["armed"]
    assert [each["point"] for each in armed] == ["slow_fsync"]
    status = json.loads(qsync("status", home.dir, "--json"))
    assert status["verdict"] == "degraded"
    assert "n1 is broken on purpose (slow_fsync)" in status["sentence"]
    qsync("lab", "fault", "n1", "--clear", *where)
    real.until(lambda: real.healthy(home), "it is whole again")


def _debts(home: lab.Lab) -> int:
    found = UndoLog.read(home.dir)
    return 0 if found is None else len(found.pending)


def _is_paused(home: lab.Lab) -> bool:
    return any(node.process is not None and node.process.paused for node in home.nodes)


def _is_limited(node: lab.LabNode) -> bool:
    assert node.process is not None
    soft, hard = resource.prlimit(node.process.pid, resource.RLIMIT_FSIZE)
    return soft != hard


def _pids(home: lab.Lab) -> list[int]:
    return [node.process.pid for node in home.nodes if node.process is not None]


def test_who_waits_for_a_whole_cluster_hears_of_it_when_the_last_node_is_there(
    tmp_path: Path,
) -> None:
    with real.running(tmp_path / "three", nodes=3) as found, ThreadPoolExecutor() as threads:
        leader = settling.wait_writable(found.addresses, timeout=30).leader
        last = next(each for each in found.nodes if leader and each.name != leader.name)
        found.kill(last)
        whole = threads.submit(settling.wait_writable, found.addresses, timeout=60, settle=60)
        enough = settling.wait_writable(found.addresses, timeout=60)
        assert surveys.judge(enough).health is surveys.ClusterHealth.DEGRADED
        assert not whole.done()
        found.start(last)
        assert surveys.judge(whole.result()).health is surveys.ClusterHealth.HEALTHY
