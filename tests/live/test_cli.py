"""The commands against real nodes of a lab."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from admin.cluster import ask, settling, surveys
from admin.lab import lab, ports, processes
from admin.lab import names as lab_names
from qsync.client.blocking import connect
from qsync.client.numbering import born
from qsync.wire.verbs import WriteRequest
from tests import typed
from tests.live import real

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def started(*args: str | Path) -> str:
    """Start a command as a process, as a user does; its stdout."""
    command = [sys.executable, "-m", "qsync", *map(str, args)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=50, cwd=ROOT, check=False
    )
    assert done.returncode == 0, f"{args}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def qsync(*args: str | Path, code: int = 0) -> str:
    """Run a command; its stdout."""
    done = typed.run(*args)
    assert done.code == code, f"{args}: {done}"
    return done.stdout


def answer(*args: str | Path, code: int = 0) -> dict[str, object]:
    found = json.loads(qsync(*args, "--json", code=code))
    assert isinstance(found, dict)
    assert str(found["schema"]).startswith("qsync/")
    return found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A running lab of three."""
    path = tmp_path_factory.mktemp("lab") / "three"
    try:
        started("lab", "up", "--nodes", "3", "--dir", path)
        real.until(lambda: real.caught_up(lab.load(path)), "every node has the log")
        yield path
    finally:
        if lab_names.exists(path):
            lab.load(path).remove()


@pytest.fixture(scope="module")
def accounts(home: Path) -> str:
    """A space with one tuple."""
    with connect(lab.load(home).addresses, timeout=10) as db:
        db.schema.create_space(
            "accounts",
            is_sync=True,
            format=[("id", "unsigned"), ("owner", "string"), ("balance", "integer")],
        )
        db.space("accounts").replace([1, "ann", 100])
    return "accounts"


def test_status_names_the_leader_and_what_would_break_it(home: Path) -> None:
    found = answer("status", home)
    assert (found["verdict"], found["can_commit"], found["margin"]) == ("healthy", True, 1)
    nodes = found["nodes"]
    assert isinstance(nodes, list)
    assert [node["name"] for node in nodes] == ["n1", "n2", "n3"]
    assert {"name", "id", "uuid", "address", "role", "ro", "ro_reason", "term", "vclock"} <= set(
        nodes[0]
    )
    limbo = found["limbo"]
    assert isinstance(limbo, dict)
    assert (limbo["len"], limbo["quorum"], limbo["missing"]) == (0, 2, [])
    assert "Healthy" in started("status", home)


def test_one_seed_address_is_enough(home: Path) -> None:
    nodes = answer("status", lab.load(home).addresses[2])["nodes"]
    assert isinstance(nodes, list)
    assert len(nodes) == 3


def test_info_gives_the_part_at_a_path(home: Path) -> None:
    assert json.loads(qsync("info", "synchro.quorum", "--target", home)) == 2
    assert json.loads(qsync("info", "settings.election.timeout", "--target", home)) == "1s"
    assert "started" in {each["event"] for each in json.loads(qsync("info", "events", "-t", home))}
    refused = typed.run("info", "nothing", "--target", home)
    assert refused.code == 1
    assert "there is no 'nothing' in the status (there are address, " in refused.stderr
    refused = typed.run("info", "election.nothing", "--target", home)
    assert "there is no 'nothing' in 'election' (there are fenced, " in refused.stderr
    assert json.loads(qsync("info", home, "synchro.quorum")) == 2
    assert json.loads(qsync("info", home))["synchro"]["quorum"] == 2
    qsync("info", home, "synchro.quorum", "--target", home, code=2)
    qsync("info", home, "synchro", "quorum", code=2)


def test_data_verbs_do_what_they_say(home: Path, accounts: str) -> None:
    at = ("--target", home)
    started("insert", accounts, '[2, "bob", 50]', *at)
    qsync("insert", accounts, '[2, "bob", 50]', *at, code=1)
    qsync("replace", accounts, '[2, "bob", 60]', *at)
    qsync("update", accounts, "2", '[["+", "balance", 5]]', *at)
    assert json.loads(qsync("get", accounts, "2", *at)) == [2, "bob", 65]
    qsync("upsert", accounts, '[3, "cid", 1]', '[["+", "balance", 1]]', *at)
    assert json.loads(qsync("count", accounts, *at)) == 3
    rows = qsync("select", accounts, "--limit", "2", *at).splitlines()
    assert [json.loads(row)[0] for row in rows] == [1, 2]
    qsync("delete", accounts, "3", *at)
    assert json.loads(qsync("get", accounts, "3", *at)) is None
    receipt = answer("replace", accounts, '[4, "dan", 7]', *at)
    assert {"term", "index", "lsn"} <= set(receipt)


def test_a_token_makes_a_repeated_write_happen_once(home: Path, accounts: str) -> None:
    at = ("--target", home)
    leader = surveys.leader_address(surveys.survey(lab.load(home).addresses))
    assert leader is not None
    session = born(ask.value(leader, WriteRequest(1, b"", 0, 0, 0, [[30, b"seed"]])))
    token = f"{session.hex()}:1"
    for _ in range(2):
        qsync("update", accounts, "1", '[["+", "balance", 1]]', "--token", token, *at)
    assert json.loads(qsync("get", accounts, "1", *at)) == [1, "ann", 101]


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("delete", "accounts", "5", "--json", "--target"), 5),
        (("get", "accounts", "5", "--target"), 1),
        (("shell", "-e", "return 1, box.space.accounts:delete(5)"), 5),
        (("shell", "-e", "return box.space.accounts:get(1)"), 1),
        (("promote", "n1", "--json", "--target"), 5),
    ],
)
@pytest.mark.usefixtures("accounts")
def test_a_change_that_cannot_be_told_is_no_failure(
    home: Path, args: tuple[str, ...], code: int
) -> None:
    """Exit code 1 says that nothing was applied, and a script would do it again."""
    program = [sys.executable, "-m", "qsync", *args, str(home)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, cwd=ROOT, check=False)
    assert done.returncode == code
    assert (b"what was changed stays" in done.stderr) == (code == 5)


def test_a_log_is_followed_while_somebody_reads_it(home: Path) -> None:
    """An idle cluster writes nothing, so that nobody would notice by writing on."""
    program = [sys.executable, "-m", "qsync", "log", "tail", "--follow", "--count", "1", str(home)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, cwd=ROOT) as following:
        assert following.stdout is not None
        assert following.stdout.readline()
        following.stdout.close()
        assert following.wait(timeout=60) == 0


def test_the_log_is_whole_online_and_decoded(home: Path, accounts: str) -> None:
    found = answer("log", "verify", lab.load(home).addresses[0])
    assert found["whole"]
    first = json.loads(qsync("log", "cat", home, "--count", "1", "--json"))
    assert (first["index"], first["kind"]) == (1, "PROMOTE")


def test_a_running_node_is_asked_for_its_log_by_the_socket_in_its_directory(home: Path) -> None:
    """Without that the directory is not read, and it says how else."""
    assert "PROMOTE" in qsync("log", "cat", home / "n1", "--count", "1")
    sock, aside = home / "n1/qsync.sock", home / "n1/aside"
    sock.rename(aside)
    try:
        refused = answer("log", "cat", home / "n1", code=1)
    finally:
        aside.rename(sock)
    assert refused["code"] == "DIRECTORY_LOCKED"
    assert "name the running node by its address" in str(refused["hint"])


def test_the_doctor_finds_nothing_wrong_with_a_healthy_cluster(home: Path) -> None:
    real.need_room(home)
    found = answer("doctor", home)
    assert found["healthy"]
    assert "1 checks: 1 fine" in qsync("doctor", home, "--check", "leader-writes")


def test_promote_says_in_numbers_what_it_would_do_and_does_it(home: Path) -> None:
    before = answer("status", home)
    other = "n1" if before["leader"] != "n1" else "n2"
    plan = answer("promote", other, "--dry-run", "--target", home)["would"]
    assert isinstance(plan, dict)
    assert plan["rolls_back"] == 0
    assert answer("promote", other, "--wait", "--target", home)["leader"] == other
    third = next(name for name in ("n1", "n2", "n3") if name not in {other, before["leader"]})
    assert answer("promote", third, "--no-wait", "--target", home)["leader"] == third


def test_demote_goes_to_the_heir_and_ends_when_that_one_writes(home: Path) -> None:
    before = answer("status", home)["leader"]
    ids = {"n1": 1, "n2": 2, "n3": 3}
    for heir in [name for name in ids if name != before]:
        plan = answer("demote", "--to", heir, "--dry-run", "--target", home)["would"]
        assert isinstance(plan, dict)
        assert (plan["hands_over_to"], plan["refused"]) == (ids[heir], None)
    done = answer("demote", "--to", heir, "--target", home)
    assert (done["leader"], done["can_commit"]) == (heir, True)


def test_a_killed_node_shows_and_its_directory_can_be_verified(home: Path) -> None:
    leader = answer("status", home)["leader"]
    victim = "n3" if leader != "n3" else "n2"
    qsync("lab", "kill", victim, "--dir", home)
    found = answer("status", home, "--fail-on", "down")
    assert found["verdict"] == "degraded"
    qsync("status", home, "--fail-on", "degraded", code=6)
    qsync("status", home, "--watch", "10ms", "--fail-on", "degraded", code=6)
    assert f"critical {victim}: " in qsync("doctor", home, code=6)
    verified = answer("log", "verify", home / victim)
    assert verified["whole"]
    assert verified["entries"]
    qsync("lab", "start", victim, "--dir", home)
    qsync("lab", "kill", victim, "--dir", home)
    qsync("lab", "kill", victim, "--dir", home, code=4)
    qsync("lab", "start", victim, "--dir", home)


def test_a_node_that_has_not_ended_is_not_started(home: Path) -> None:
    assert answer("lab", "start", "n3", "--dir", home)["did"] == "ran already"
    qsync("lab", "pause", "n3", "--dir", home)
    refused = typed.run("lab", "start", "n3", "--dir", home)
    qsync("lab", "resume", "n3", "--dir", home)
    assert refused.code == 4
    assert refused.stderr == "qsync: NOT_RUNNING: n3 is paused (`qsync lab resume n3`)\n"


@pytest.mark.parametrize("workload", ["put", "get", "txn10", "ycsb-a", "ycsb-e", "ycsb-f"])
def test_the_benchmark_counts_what_was_answered(home: Path, workload: str) -> None:
    args = ("--seconds", "0.5", "--clients", "4", "--keys", "100", "--workload", workload)
    found = answer("bench", *args, "--target", home)
    assert found["errors"] == found["unknown"] == 0
    rate, latency = found["ops_per_second"], found["latency_us"]
    assert isinstance(rate, float)
    assert rate > 50
    assert isinstance(latency, dict)
    assert 0 < latency["p50"] <= latency["p99"] <= latency["max"]


def test_the_benchmark_names_the_stalls_of_an_open_loop(home: Path) -> None:
    """A node that is stopped for a moment says itself what it was at."""
    led = surveys.survey(lab.load(home).addresses).leader
    assert led is not None
    options = ("--seconds", "3", "--clients", "2", "--open-loop", "200", "--stalls")
    command = [sys.executable, "-m", "qsync", "bench", *options, "--target", str(home), "--json"]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True) as program:
        while program.poll() is None:  # whenever the load begins
            os.kill(led.pid, signal.SIGSTOP)
            time.sleep(0.15)
            os.kill(led.pid, signal.SIGCONT)
            time.sleep(0.5)
        said, complaint = program.communicate(timeout=60)
    assert program.returncode == 0, complaint
    found = json.loads(said)
    assert found["latency_us"]["p99.9"] >= found["latency_us"]["p99"]
    worst = max(found["stalls"], key=lambda each: each["ms"])
    assert worst["ms"] >= 100
    # It may have been in the middle of a commit, which then took that long.
    assert any(each.startswith(f"{led.name} ") for each in worst["causes"]), worst
    qsync("bench", "--stalls", "--target", home, code=2)


def test_the_benchmark_follows_to_another_leader_and_says_how_far_it_fills(home: Path) -> None:
    led = surveys.survey(lab.load(home).addresses).leader
    assert led is not None
    options = ("--seconds", "6", "--clients", "4", "--keys", "30000", "--workload", "get")
    command = [sys.executable, "-m", "qsync", "bench", *options, "--target", str(home), "--json"]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True) as program:
        assert program.stderr is not None
        told = ""
        while "30,000 of 30,000" not in told:
            told = program.stderr.readline()
            assert told
        time.sleep(1)
        qsync("lab", "kill", led.name, "--dir", home)
        out, complaint = program.communicate(timeout=40)
    qsync("lab", "start", led.name, "--dir", home)
    assert program.returncode == 0, complaint
    found = json.loads(out)
    assert found["leader_changes"] == 1
    assert found["operations"] > found["errors"] + found["unknown"]
    assert "does not lead any more; on to" in complaint


def test_a_node_of_its_own_from_init(tmp_path: Path) -> None:
    qsync("init", tmp_path / "n", "--set", "listen=127.0.0.1:0")
    qsync("init", tmp_path / "n", code=2)
    assert answer("config", "check", tmp_path / "n" / "node.yaml")["node"] == "n1"
    assert "default" in qsync("config", "show", tmp_path / "n" / "node.yaml", "--origin")


def test_the_members_that_init_lays_out_find_each_other_from_copied_directories(
    tmp_path: Path,
) -> None:
    hosts = [f"127.0.0.1:{port}" for port in ports.free_ports(3)]
    qsync("init", "--cluster", tmp_path / "laid-out", *hosts)
    shutil.copytree(tmp_path / "laid-out", tmp_path / "hosts")
    started = [
        processes.start(
            [sys.executable, "-m", "qsync", "start", str(tmp_path / "hosts" / name)],
            log=tmp_path / f"{name}.log",
            env=dict(os.environ),
        )
        for name in ("n1", "n2", "n3")
    ]
    try:
        found = settling.wait_writable(hosts, timeout=40)
        assert [each.name for each in found.samples] == ["n1", "n2", "n3"]
        assert not any(each.recruit for each in found.samples)
    finally:
        for each in started:
            each.end(grace=3)
