"""Commands that change the cluster: Ctrl-C leaves what may be made, and one time limit."""

import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from admin.cluster import ask, settling
from admin.lab.lab import Lab
from qsync.status import decode
from qsync.status.record import NodeStatus
from tests import typed
from tests.live import real

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    slow = {"election__fencing": "off", "replication__synchro_timeout": "60s"}
    with real.running(tmp_path_factory.mktemp("interrupted") / "lab", nodes=3, **slow) as found:
        yield found


@pytest.fixture
def alone(three: Lab) -> Iterator[NodeStatus]:
    """The leader as it was before both followers were paused; they go on after the test."""
    real.until(lambda: real.healthy(three), "all nodes go on after the test before")
    leader = settling.wait_writable(three.addresses, timeout=30).leader
    assert leader is not None
    for node in three.nodes:
        if node.name != leader.name:
            three.pause(node)
    yield leader
    for node in three.nodes:
        three.resume(node)


def interrupted(three: Lab, before: NodeStatus, *words: str) -> dict[str, object]:
    """What the command says that is interrupted when the leader has begun to carry it out."""

    def begun() -> bool:
        now = decode.status(ask.status(before.address))
        return now.last > before.last or now.ro

    command = [sys.executable, "-m", "qsync", *words, "--target", str(three.dir), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as asked:
        real.until(begun, f"the leader carries out {words}")
        asked.send_signal(signal.SIGINT)
        told: dict[str, object] = json.loads(asked.communicate(timeout=60)[0])
    assert (asked.returncode, told["code"], told["exit"]) == (5, "INTERRUPTED_UNKNOWN", 5)
    return told


def shown(three: Lab, told: dict[str, object]) -> typed.Done:
    """The command that it names, when the followers are back."""
    for node in three.nodes:
        three.resume(node)
    real.until(lambda: real.healthy(three), "all nodes go on")
    program, *words = shlex.split(str(told["show"]))
    assert program == "qsync"
    return typed.run(*words)


def test_an_interrupted_setting_may_be_set(three: Lab, alone: NodeStatus) -> None:
    words = ("config", "set", "replication.synchro_timeout=61s", "--yes")
    done = shown(three, interrupted(three, alone, *words))
    assert "61s  # shared by the cluster" in done.stdout, done.stderr


def test_an_interrupted_change_of_members_may_be_made(three: Lab, alone: NodeStatus) -> None:
    name = next(name for id, name, _ in alone.nodes if id != alone.id)
    done = shown(three, interrupted(three, alone, "member", "set-role", name, "learner", "--force"))
    assert f"{name} " in done.stdout
    back = typed.run("member", "set-role", name, "voter", "--target", str(three.dir))
    assert back.code == 0, back.stderr


def test_an_interrupted_demotion_may_be_made(three: Lab, alone: NodeStatus) -> None:
    done = shown(three, interrupted(three, alone, "demote"))
    assert "leads term" in done.stderr + done.stdout


def test_a_time_limit_counts_the_look_at_silent_nodes_too(three: Lab, alone: NodeStatus) -> None:
    """A look waits two seconds for them, as long as nothing limits it."""
    name = next(name for id, name, _ in alone.nodes if id != alone.id)
    began = time.monotonic()
    done = typed.run(
        "member", "move", name, "127.0.0.1:1", "--timeout", "1s", "--target", str(three.dir)
    )
    assert (done.code, time.monotonic() - began < 2) == (3, True), done.stderr
