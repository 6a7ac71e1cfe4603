"""Writes without a quorum, as commands and the shell tell them: unknown, with what resolves it."""

import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

import qsync
from admin.cluster import settling, surveys
from admin.lab.lab import Lab, LabNode
from qsync.errors import GivenUp
from tests import typed
from tests.live import real

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    # Nothing is rolled back before a client requests its outcome.
    slow = {"election__fencing": "off", "replication__synchro_timeout": "60s"}
    with real.running(tmp_path_factory.mktemp("unknown") / "lab", nodes=3, **slow) as found:
        yield found


@pytest.fixture
def here(three: Lab) -> Iterator[Lab]:
    """The same cluster for every test, which has keys of its own; no node stays paused."""
    real.until(lambda: real.healthy(three), "all nodes go on after the test before")
    yield three
    for node in three.nodes:
        three.resume(node)


def followers(here: Lab) -> list[LabNode]:
    leader = settling.wait_writable(here.addresses, timeout=30).leader
    assert leader is not None
    return [node for node in here.nodes if node.name != leader.name]


def test_an_unknown_write_is_resolved_by_the_command_that_the_error_says(here: Lab) -> None:
    paused = followers(here)
    for node in paused:
        here.pause(node)
    target = ["--target", ",".join(here.addresses)]
    done = typed.run("insert", "things", '[10, "once"]', *target, "--timeout", "1500ms", "--json")
    for node in paused:
        here.resume(node)
    assert done.code == 5, done.stderr
    told = json.loads(done.stdout)
    assert told["details"]["token"] in done.stderr
    program, *again = shlex.split(told["resolve"])
    assert program == "qsync"
    again[again.index("1500ms")] = "30s"
    resolved = typed.run(*again)
    assert resolved.code == 0, resolved.stderr
    with qsync.connect(here.addresses, timeout=20) as db:
        assert db.space("things").get(10) == [10, "once"]


def test_a_write_that_nobody_waits_for_any_more_is_left_with_its_token(here: Lab) -> None:
    """Ctrl-C does not take back what was sent."""
    paused = followers(here)
    for node in paused:
        here.pause(node)
    command = [sys.executable, "-m", "qsync", "insert", "things", '[40, "left"]', "--json"]
    command += ["--target", str(here.dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as asked:
        real.until(lambda: pending(here) == 1, "the write waits for its quorum")
        asked.send_signal(signal.SIGINT)
        told = json.loads(asked.communicate(timeout=60)[0])
    for node in paused:
        here.resume(node)
    assert (asked.returncode, told["code"], told["exit"]) == (5, "OUTCOME_UNKNOWN", 5)
    resolved = typed.run(*shlex.split(told["give_up"])[1:])
    assert "committed: term" in resolved.stderr
    assert json.loads(resolved.stdout) == [40, "left"]


def pending(here: Lab) -> int:
    """Transactions that wait for a quorum."""
    found = surveys.survey(here.addresses).leader
    return 0 if found is None else found.synchro.queue.len


def test_a_token_alone_tells_the_outcome_and_what_was_not_done_never_is(here: Lab) -> None:
    with qsync.connect(here.addresses, timeout=20) as db:
        db.space("things").replace([20, "before"])
        session, paused = db.session, followers(here)
        for node in paused:
            here.pause(node)
        with pytest.raises(qsync.OutcomeUnknown) as caught:
            db.space("things").replace([20, "pending"], timeout=1.0)
        for node in paused:
            here.resume(node)
        done = typed.run("resolve", caught.value.token, "--target", str(here.dir), "--json")
        told = json.loads(done.stdout)
        assert (done.code, told["outcome"], told["row"]) == (0, "committed", [20, "pending"])
        never = f"{session}:99"  # nobody has sent it yet
        gone = typed.run("resolve", never, "--target", str(here.dir), "--json")
        told = json.loads(gone.stdout)
        assert (gone.code, told["outcome"], told["code"]) == (1, "rolled_back", "GIVEN_UP")
        with pytest.raises(GivenUp):
            db.space("things").replace([20, "late"], token=never)
        shell = typed.run("shell", str(here.dir), "-e", f"\\resolve {caught.value.token}")
        assert "it took effect: term" in shell.stdout, shell.stderr
        assert db.space("things").get(20) == [20, "pending"]
    nobody = typed.run("resolve", "ab:1", "--target", str(here.dir))
    assert nobody.code == 5, nobody.stderr


def test_the_shell_keeps_the_token_and_asks_again(here: Lab) -> None:
    paused = followers(here)
    for node in paused:
        here.pause(node)
    write = "local s = box.space.things; pcall(s.insert, s, {2, 'x'})"
    script = ["-e", "box.space.things.name", "-e", write, "-e", "\\tx", "-e", "\\retry"]
    command = [sys.executable, "-m", "qsync", "shell", str(here.dir), *script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as asked:
        assert asked.stdout is not None
        said = [asked.stdout.readline() for _ in range(2)]
        for node in paused:
            here.resume(node)
        said += asked.stdout.readlines()
    assert said[0] == "things\n"
    assert said[1].startswith("unknown: the write of token ")
    assert "it took effect: term" in said[-1]


def test_a_new_client_reads_and_writes_asynchronously_without_a_quorum(here: Lab) -> None:
    with qsync.connect(here.addresses, timeout=20) as db:
        db.schema.create_space("notes", is_sync=False, format=real.FORMAT)
    paused = followers(here)
    for node in paused:
        here.pause(node)
    try:
        with qsync.connect(here.addresses, timeout=10) as db:
            db.space("notes").replace([1, "new"])
            assert db.space("notes").get(1, consistency="local") == [1, "new"]
        lines = ["-e", "\\set consistency local", "-e", "box.space.notes:get(1)[2]"]
        done = typed.run("shell", str(here.dir), *lines)
        assert done.stdout == "new\n", done.stderr
        one = typed.run(
            "shell", str(here.dir), "-e", "box.space.notes:get(1, {consistency='local'})[2]"
        )
        assert one.stdout == "new\n", one.stderr
    finally:
        for node in paused:
            here.resume(node)
