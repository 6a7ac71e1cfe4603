"""`qsync config set` against real nodes: a diff, one change for all, also for what is pending."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import qsync
from admin.cluster import ask, settling, surveys
from admin.lab import lab
from qsync.wire.verbs import InfoRequest, OptionsRequest
from tests.live.real import ROOT, running, until

pytestmark = pytest.mark.slow
QUORUM, TIMEOUT = "replication.synchro_quorum", "replication.synchro_timeout"


def config(*args: str | Path, code: int = 0) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "qsync", "config", *map(str, args), "--json"],
        capture_output=True,
        text=True,
        timeout=50,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == code, f"{args}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Lab]:
    with running(tmp_path_factory.mktemp("shared") / "three", nodes=3) as found:
        yield found


@pytest.fixture(autouse=True)
def as_made(three: lab.Lab) -> None:
    """Every test begins with all nodes there and nothing shared."""
    three.start_all()
    settling.wait_writable(three.addresses, timeout=30)
    config("unset", QUORUM, TIMEOUT, "--target", three.dir)
    until(lambda: {followed(node) for node in three.nodes} == {(2, 5.0)}, "their own")


def followed(node: lab.LabNode) -> tuple[object, object]:
    """Quorum and timeout as a node follows them; nothing while it does not answer."""
    try:
        told = ask.status(node.address)["synchro"]
    except qsync.Unavailable:
        return None, None
    assert isinstance(told, dict)
    return told["quorum"], told["timeout"]


def test_one_command_sets_what_all_nodes_follow_and_a_wrong_one_nothing(three: lab.Lab) -> None:
    at = ("--target", three.dir)
    planned = config("set", f"{QUORUM}=3", "replication_synchro_timeout=33s", "--dry-run", *at)
    assert planned["changed"] is False
    assert planned["changes"] == [
        {"option": QUORUM, "now": "N / 2 + 1", "shared": False, "then": "3"},
        {"option": TIMEOUT, "now": "5s", "shared": False, "then": "33s"},
    ]
    assert {followed(node) for node in three.nodes} == {(2, 5.0)}
    assert config("set", f"{QUORUM}=3", f"{TIMEOUT}=33s", *at)["changed"]
    until(lambda: {followed(node) for node in three.nodes} == {(3, 33.0)}, "all follow")
    assert config("set", f"{QUORUM}=3", *at)["changed"] is False
    for wrong in ([f"{TIMEOUT}=7s", f"{QUORUM}=9"], [f"{TIMEOUT}=7s", "what=1"], [f"{TIMEOUT}=7"]):
        config("set", *wrong, *at, code=2)
    assert {followed(node) for node in three.nodes} == {(3, 33.0)}
    found = config("cluster", three.dir)
    assert found["shared"] == {QUORUM: "3", TIMEOUT: "33s"}


def test_what_is_shared_cannot_be_set_on_one_node(three: lab.Lab) -> None:
    node = three.nodes[0]
    config("set", f"{QUORUM}=3", f"{TIMEOUT}=33s", "--target", three.dir)
    until(lambda: followed(node) == (3, 33.0), "it follows")
    with pytest.raises(qsync.ConfigError, match="set for the whole cluster"):
        ask.value(node.address, OptionsRequest(1, {"replication_synchro_timeout": 1}))
    (told,) = ask.value(node.address, InfoRequest(1, "settings.shared"))
    assert told == {QUORUM: "3", TIMEOUT: "33s"}


def test_a_lowered_quorum_lets_what_is_pending_through_and_outlives_every_leader(
    three: lab.Lab,
) -> None:
    config("set", f"{QUORUM}=3", f"{TIMEOUT}=33s", "--target", three.dir)
    until(lambda: {followed(node) for node in three.nodes} == {(3, 33.0)}, "all follow")
    leader = surveys.judge(settling.wait_writable(three.addresses, timeout=30)).leader
    victim = next(node for node in three.nodes if node.name != leader)
    with qsync.connect(three.addresses, timeout=60) as db:
        things = db.space("things")
        things.replace([1, "before"])
        three.kill(victim)
        done = threading.Event()

        def write() -> None:
            things.replace([2, "pending"])
            done.set()

        writer = threading.Thread(target=write)
        writer.start()
        # All three must have it, and one is gone: it waits.
        until(lambda: pending(three) > 0, "it is in the limbo")
        assert not done.is_set()
        assert config("set", f"{QUORUM}=N / 2 + 1", "--target", three.dir)["changed"]
        writer.join(30)
        assert done.is_set()
    three.start(victim)
    until(lambda: followed(victim) == (2, 33.0), "the one that was away follows, too")
    assert leader is not None
    three.kill(three.node(leader))
    settling.wait_writable([n.address for n in three.nodes if n.name != leader], timeout=30)
    three.start(three.node(leader))
    until(lambda: {followed(node) for node in three.nodes} == {(2, 33.0)}, "all follow")
    assert config("unset", QUORUM, TIMEOUT, "--target", three.dir)["changed"]
    until(lambda: {followed(node) for node in three.nodes} == {(2, 5.0)}, "their own again")


def pending(found: lab.Lab) -> int:
    leader = surveys.survey(found.addresses).leader
    return leader.synchro.queue.len if leader is not None else 0
