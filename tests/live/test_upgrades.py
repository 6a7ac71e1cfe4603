"""A rolling upgrade of real processes under load, to a release that knows a feature more."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from admin.cluster import ask, surveys
from admin.lab import lab, processes
from qsync.status.record import NodeStatus
from qsync.wire.verbs import PromoteRequest
from tests.live.real import Writer, healthy, running, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

ROOT = Path(__file__).parents[2]
FEATURE, RELEASE = "later", "0.2.0"


def next_release(folder: Path) -> Path:
    """This tree as another release, which knows one feature of the log more."""
    for package in ("election", "qsync", "admin", "cli"):
        ignored = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(ROOT / package, folder / package, ignore=ignored)
    for path, line in {
        "qsync/version.py": f'__version__ = "{RELEASE}"',
        "qsync/features.py": f'KNOWN: Final[frozenset[str]] = frozenset({{"{FEATURE}"}})',
    }.items():
        name = line.partition("=")[0].strip()
        lines = (folder / path).read_text().splitlines()
        changed = [line if each.startswith(f"{name} =") else each for each in lines]
        assert changed != lines
        (folder / path).write_text("\n".join(changed) + "\n")
    return folder


def start(node: lab.LabNode, code: Path) -> processes.OsProcess:
    """The node's process, of the release that stands in that folder."""
    command = [sys.executable, "-m", "qsync", "node", "--config", str(node.config)]
    env = {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": str(code)}
    started = processes.start(command, log=node.log, env=env)
    processes.write_pid_file(node.dir / lab.PID_FILE, started)
    return started


def stop(node: lab.LabNode) -> None:
    """As an operator does."""
    process = node.process
    assert process is not None
    process.end(grace=20)


def statuses(found: lab.Lab) -> dict[str, NodeStatus]:
    """What the nodes say, by name."""
    return {each.name: each for each in surveys.survey(found.addresses).samples}


def leader_of(found: lab.Lab) -> NodeStatus:
    """Who leads and takes writes."""
    leader = surveys.wait_writable(found.addresses, timeout=20).leader
    assert leader is not None
    return leader


def test_a_rolling_upgrade_fails_no_write_and_uses_a_feature_at_its_end_only(
    tmp_path: Path,
) -> None:
    newer = next_release(tmp_path / "newer")
    options = {"election__timeout": "1s", "replication__timeout": "100ms"}
    with running(tmp_path / "three", nodes=3, **options) as found:
        done = threading.Event()
        writers = [Writer(found, number, done) for number in (1, 2)]
        for writer in writers:
            writer.start()
        first = leader_of(found).name
        others = [each for each in found.nodes if each.name != first]
        for node in others:
            stop(node)
            start(node, newer)
            until(lambda: healthy(found), f"{node.name} is back")
        # A leader of the former release, followers of the new one; then the other way round.
        assert {each.version for each in statuses(found).values()} == {RELEASE, "0.1.0"}
        assert leader_of(found).name == first
        ask.value(others[0].address, PromoteRequest(1, 20.0), timeout=20)
        leader = leader_of(found)
        assert leader.version == RELEASE
        assert leader.upgrade.features == ()
        last = found.node(first)
        assert leader.upgrade.waits == (f"node {last.id} does not know feature {FEATURE}",)
        stop(last)
        start(last, newer)
        until(
            lambda: (
                [each.upgrade.features for each in statuses(found).values()] == [(FEATURE,)] * 3
            ),
            "all nodes use the feature",
        )
        done.set()
        for writer in writers:
            writer.join(timeout=60)
            assert writer.error is None
            assert writer.unknown == []
            assert writer.acked
        _no_way_back(found, others[1], newer)


def _no_way_back(found: lab.Lab, node: lab.LabNode, newer: Path) -> None:
    """The former release does not start on the log any more, and says why."""
    stop(node)
    said = subprocess.run(
        [sys.executable, "-m", "qsync", "node", "--config", str(node.config)],
        env={**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        check=False,
        timeout=60,
    )
    assert said.returncode != 0
    assert f"uses feature {FEATURE}, which this release does not know" in said.stderr + said.stdout
    start(node, newer)
    until(lambda: healthy(found), f"{node.name} is back")
