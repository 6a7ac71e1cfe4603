"""Rolling upgrades of real processes under load: of former releases, and to a later one."""

import os
import shutil
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import pytest

import qsync
from admin.cluster import ask, settling, surveys
from admin.lab import lab, processes
from qsync.status.record import NodeStatus
from qsync.wire.verbs import PromoteRequest
from tests.disk import releases
from tests.live.real import FORMAT, Writer, healthy, running, until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FEATURE, RELEASE = "later", "99.0.0"


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


ALONE = """
import sys
from contextlib import nullcontext
from pathlib import Path

from qsync.config import NodeConfig
from qsync.node.run import run

sys.exit(run(NodeConfig.load(Path(sys.argv[1])), lambda _: nullcontext()))
"""
"""A node without the command: of a former release only what a node needs is kept."""


def start(node: lab.LabNode, code: Path) -> processes.OsProcess:
    """The node's process, of the release that stands in that folder."""
    command = [sys.executable, "-c", ALONE, str(node.config)]
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
    leader = settling.wait_writable(found.addresses, timeout=20).leader
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
        assert {each.version for each in statuses(found).values()} == {RELEASE, qsync.__version__}
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


@pytest.fixture(params=releases.CODES, ids=lambda path: path.parent.name)
def former(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The code of each release that is kept."""
    with tarfile.open(request.param) as packed:
        packed.extractall(tmp_path / "former", filter="data")
    return tmp_path / "former"


def test_a_cluster_of_a_kept_release_becomes_one_of_this_one_node_by_node_and_may_go_back(
    tmp_path: Path, former: Path
) -> None:
    options = {"election.timeout": "1s", "replication.timeout": "100ms"}
    found = lab.create(tmp_path / "three", name="three", nodes=3, options=options, links=False)
    done = threading.Event()
    writers = [Writer(found, number, done) for number in (1, 2)]
    try:
        for node in found.nodes:
            start(node, former)
        first = leader_of(found).name
        with qsync.connect(found.addresses, timeout=20) as db:
            db.schema.create_space("things", is_sync=True, format=FORMAT)
        for writer in writers:
            writer.start()
        one, other, leads = sorted(found.nodes, key=lambda each: each.name == first)
        _become(found, one, ROOT)  # it follows a leader of the former release
        _lead(one)  # and leads followers of it
        _become(found, other, ROOT)
        _become(found, leads, ROOT)
        _become(found, one, former)  # no feature is in use that it does not know
        _lead(one)
        _become(found, one, ROOT)
        assert healthy(found)
    finally:
        done.set()
        for writer in writers:
            if writer.is_alive():
                writer.join(timeout=60)
        found.stop_all()
    for writer in writers:
        assert writer.error is None
        assert writer.unknown == []
        assert writer.acked


def _become(found: lab.Lab, node: lab.LabNode, code: Path) -> None:
    """The node runs that release."""
    stop(node)
    start(node, code)
    until(lambda: healthy(found), f"{node.name} is back")


def _lead(node: lab.LabNode) -> None:
    ask.value(node.address, PromoteRequest(1, 20.0), timeout=20)


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
