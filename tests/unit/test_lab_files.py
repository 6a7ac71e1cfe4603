"""What a lab leaves on disk, and that a reused pid is never touched."""

import errno
import json
import os
import shutil
import signal
import socket
import stat
import sys
from pathlib import Path, PosixPath
from typing import Self

import pytest
import yaml
from typing_extensions import override

from admin.lab import lab, ports, processes
from admin.lab import names as lab_names
from admin.lab.failures import DirectoryNotEmpty, LabExists, NoSuchLab
from admin.lab.node_file import config_text, options_of
from admin.lab.processes import OsProcess
from cli.main import run
from qsync._pytest import asked_by
from qsync.config import NodeConfig
from qsync.errors import ConfigError
from qsync.options.member_names import NAME_CHARS_MAX
from tests.live import real


def idle(tmp_path: Path) -> OsProcess:
    """A process that waits for a signal."""
    program = "import signal\nsignal.pause()"
    log = tmp_path / "idle.log"
    return processes.start([sys.executable, "-c", program], log=log, env=dict(os.environ))


def test_a_lab_is_laid_out_and_found_again(tmp_path: Path) -> None:
    made = lab.create(tmp_path / "x", name="x", nodes=3)
    assert lab.load(tmp_path / "x") == made
    assert [node.name for node in made.nodes] == ["n1", "n2", "n3"]
    assert len(set(made.addresses)) == 3
    assert [node.process for node in made.nodes] == [None, None, None]


def test_the_configuration_names_all_members_and_the_quick_timeouts(tmp_path: Path) -> None:
    made = lab.create(tmp_path / "x", name="x", nodes=3, options={"store.writer": "inline"})
    config = yaml.safe_load(made.node("n2").config.read_text())
    node = {"id": 2, "name": "n2", "dir": str(tmp_path / "x" / "n2")}
    assert config["node"] == node | {"events": "true"}
    secret = str(tmp_path / "x" / "secret")
    assert config["cluster"] == {"id": made.cluster, "name": "x", "secret_file": secret}
    assert config["election"] == {"timeout": "1s"}
    assert config["replication"] == {"timeout": "250ms"}
    assert config["store"] == {"writer": "inline"}
    assert [peer["address"] for peer in config["peers"]] == list(made.addresses)
    assert config["listen"] == made.addresses[1]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"nope": "1s"}, "nope = '1s': there is no such option"),
        ({"election.timout": "1s"}, "did you mean 'election.timeout'"),
        ({"election.timeout": "soon"}, "is not a duration"),
    ],
)
def test_options_that_no_node_starts_with_make_no_lab(
    tmp_path: Path, options: dict[str, str], why: str
) -> None:
    """Its nodes would end at once, and whoever waits for a leader would wait in vain."""
    with pytest.raises(ConfigError, match=why):
        lab.create(tmp_path / "x", name="x", nodes=3, options=options, secure=True)
    assert not (tmp_path / "x").exists()


def test_options_of_a_lab_are_judged_with_all_its_nodes(tmp_path: Path) -> None:
    given = {"replication.synchro_quorum": "3"}
    assert lab.create(tmp_path / "x", name="x", nodes=3, options=given).nodes
    with pytest.raises(ConfigError, match="asks 3 of 2 voters"):
        lab.create(tmp_path / "y", name="y", nodes=2, options=given)


def test_the_marker_of_a_cluster_takes_named_arguments_only() -> None:
    """A number of nodes without its name would be ignored, and three be started."""
    with pytest.raises(pytest.UsageError, match="named arguments only, such as nodes=5"):
        asked_by(pytest.mark.qsync_cluster(5).mark)
    assert asked_by(pytest.mark.qsync_cluster(nodes=5).mark) == {"nodes": 5}


def test_a_lab_may_be_told_to_write_nothing_down(tmp_path: Path) -> None:
    made = lab.create(tmp_path / "x", name="x", nodes=1, options={"node.events": "false"})
    config = NodeConfig.load(made.nodes[0].config)
    assert not config.node.events


def secrets_of(made: lab.Lab) -> set[str]:
    """What its nodes know of each other."""
    return {NodeConfig.load(node.config, {}).secret.text for node in made.nodes}


def test_the_nodes_of_a_lab_share_a_secret_and_those_that_are_added_know_it(tmp_path: Path) -> None:
    made = lab.create(tmp_path / "x", name="x", nodes=3)
    other = lab.create(tmp_path / "y", name="y", nodes=1)
    (known,) = secrets_of(made)
    assert known
    assert {known} != secrets_of(other)
    file = tmp_path / "x" / "secret"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    grown, _ = lab.add_node(made)
    assert secrets_of(grown) == {known}
    assert [path for path in tmp_path.rglob("*") if path.is_file() and known in text_of(path)] == [
        file
    ]


def text_of(path: Path) -> str:
    return path.read_bytes().decode("latin-1")


def test_a_lab_takes_the_secret_that_is_named_and_has_none_over_tls(tmp_path: Path) -> None:
    own = {"cluster.secret": "only-the-members-know"}
    assert secrets_of(lab.create(tmp_path / "x", name="x", nodes=2, options=own)) == {
        "only-the-members-know"
    }
    secured = lab.create(tmp_path / "y", name="y", nodes=1, secure=True)
    assert secrets_of(secured) == {""}
    assert not (tmp_path / "y" / "secret").exists()


def test_a_lab_of_a_former_release_has_no_secret_and_grows_without_one(tmp_path: Path) -> None:
    made = lab.create(tmp_path / "x", name="x", nodes=2)
    for node in made.nodes:
        lines = node.config.read_text("utf-8").splitlines(keepends=True)
        node.config.write_text("".join(x for x in lines if "secret_file" not in x), "utf-8")
    (tmp_path / "x" / "secret").unlink()
    grown, _ = lab.add_node(lab.load(tmp_path / "x"))
    assert secrets_of(grown) == {""}


def test_a_secure_lab_without_its_authority_gets_no_node_and_says_what_is_missing(
    tmp_path: Path,
) -> None:
    made = lab.create(tmp_path / "x", name="x", nodes=1, secure=True)
    shutil.rmtree(tmp_path / "x" / "certs")
    with pytest.raises(ConfigError, match=r"speak TLS: .*certs/ca\.crt is not there") as told:
        lab.add_node(made)
    assert told.value.hint is not None
    assert "back from a copy" in told.value.hint
    assert lab.load(made.dir) == made
    assert not (made.dir / "n2").exists()


def test_a_lab_is_not_made_twice(tmp_path: Path) -> None:
    lab.create(tmp_path / "x", name="x", nodes=1)
    with pytest.raises(LabExists):
        lab.create(tmp_path / "x", name="x", nodes=1)


def test_a_lab_that_could_not_be_laid_out_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_lab: lab.Lab) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(lab, "_store", full)
    with pytest.raises(OSError, match="No space left"):
        lab.create(tmp_path / "x", name="x", nodes=3)
    assert not (tmp_path / "x").exists()


def test_a_directory_that_is_no_name_wants_a_name_for_its_lab(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = tmp_path / "my lab"
    assert run(["lab", "up", "--nodes", "1", "--dir", str(there)]) == 2
    said = capsys.readouterr().err
    assert "the directory's name 'my lab' is not a name: letters, digits" in said
    assert "(give the lab another --name)" in said
    assert not there.exists()


def test_the_name_of_a_lab_has_a_limit_that_is_told(tmp_path: Path) -> None:
    longest = "x" * NAME_CHARS_MAX
    assert lab_names.place(longest).name == longest
    made = lab.create(tmp_path / "x", name=longest, nodes=1)
    assert NodeConfig.load(made.nodes[0].config, {}).cluster.name == longest
    with pytest.raises(ConfigError, match="has 64 characters; the name of a lab has at most 63"):
        lab_names.place(longest + "x")


def test_a_lab_is_not_made_among_other_files_which_would_be_deleted_with_it(tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("precious")
    with pytest.raises(DirectoryNotEmpty, match=r"is not empty: it holds mine\.txt"):
        lab.create(tmp_path, name="x", nodes=1)
    assert list(tmp_path.iterdir()) == [mine]
    there = tmp_path / "empty"
    there.mkdir()
    lab.create(there, name="x", nodes=1).remove()
    assert list(tmp_path.iterdir()) == [mine]


def test_a_lab_that_could_not_be_made_keeps_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its name would lead to where it could not be, also when no directory is named."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    file = tmp_path / "file"
    file.write_text("mine")
    words = ["lab", "up", "--nodes", "1", "--name", "mine", "--dir", str(file / "lab")]
    assert run(words) == 1
    assert f"NO_FILE: {file}: File exists" in capsys.readouterr().err
    assert file.read_text() == "mine"
    assert list(lab_names.home().iterdir()) == []
    assert lab_names.place("mine") == lab_names.home() / "mine"


@pytest.mark.parametrize("count", [0, 32])
def test_a_lab_has_one_to_thirty_one_nodes(tmp_path: Path, count: int) -> None:
    with pytest.raises(ConfigError, match="1 to 31"):
        lab.create(tmp_path / "x", name="x", nodes=count)


@pytest.mark.parametrize("which", [["n1"], ["n2", "n3"], ["n3", "n1", "--one-way"]])
def test_a_link_that_the_proxy_does_not_carry_is_named_and_nothing_is_cut(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], which: list[str]
) -> None:
    lab.add_node(lab.create(tmp_path / "x", name="x", nodes=2, links=True))
    assert run(["lab", "cut", *which, "--dir", str(tmp_path / "x")]) == 2
    said = capsys.readouterr().err
    assert "the proxy carries no link from n" in said
    assert "nodes of `qsync lab add` have none there" in said


def test_what_is_no_lab_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(NoSuchLab, match="no lab"):
        lab.load(tmp_path)
    (tmp_path / lab_names.STATE_FILE).write_text('{"format": 1}')
    with pytest.raises(ConfigError, match="damaged"):
        lab.load(tmp_path)
    (tmp_path / lab_names.STATE_FILE).write_text('{"format": 9}')
    with pytest.raises(ConfigError, match="format 9"):
        lab.load(tmp_path)


def test_a_node_is_found_by_name_or_id(tmp_path: Path) -> None:
    made = lab.create(tmp_path / "x", name="x", nodes=2)
    assert made.node("2") is made.node("n2")
    with pytest.raises(ConfigError, match="it has n1, n2"):
        made.node("n9")


def test_labs_live_below_the_state_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert lab_names.known() == []
    lab.create(lab_names.place("a"), name="a", nodes=1)
    assert lab_names.place("a") == tmp_path / "qsync" / "labs" / "a"
    assert lab_names.known() == ["a"]
    with pytest.raises(ConfigError, match="not a name"):
        lab_names.place("../a")


def test_a_process_is_paused_resumed_and_ended(tmp_path: Path) -> None:
    process = idle(tmp_path)
    try:
        assert process.alive
        assert not process.wait_gone(0)
        assert process.send(signal.SIGKILL)
        assert process.wait_gone(5)
        assert not process.alive
        assert not process.send(signal.SIGKILL)
    finally:
        process.end(grace=5)


def test_a_process_that_was_told_to_stop_is_awaited(tmp_path: Path) -> None:
    process = idle(tmp_path)
    try:
        assert not process.wait_paused(0)
        for _ in range(20):  # right after the signal it often runs still
            process.send(signal.SIGSTOP)
            assert process.wait_paused(30)
            assert process.paused
            process.send(signal.SIGCONT)
    finally:
        process.end(grace=5)
    assert not process.wait_paused(30), "and who has ended is not"


def test_a_paused_process_is_ended_too(tmp_path: Path) -> None:
    process = idle(tmp_path)
    process.send(signal.SIGSTOP)
    process.end(grace=5)
    assert not process.alive


def test_a_reused_pid_is_never_signalled(tmp_path: Path) -> None:
    process = idle(tmp_path)
    try:
        path = tmp_path / "node.pid"
        processes.write_pid_file(path, process)
        assert processes.read_pid_file(path) == process
        # The note of an older process that had the same pid.
        path.write_text(json.dumps({"pid": process.pid, "started": process.started - 1}))
        older = processes.read_pid_file(path)
        assert older is not None
        assert not older.alive
        assert not older.send(signal.SIGKILL)
        older.end(grace=1)
        assert process.alive
    finally:
        process.end(grace=5)


def test_an_unreadable_note_is_no_process(tmp_path: Path) -> None:
    assert processes.read_pid_file(tmp_path / "none") is None
    (tmp_path / "node.pid").write_text("junk")
    assert processes.read_pid_file(tmp_path / "node.pid") is None


def test_a_port_of_a_lab_is_none_that_the_kernel_gives_away() -> None:
    first, last = ports.ephemeral()
    found = ports.free_ports(31)
    assert len(set(found)) == 31
    assert [port for port in found if first <= port <= last] == []


def test_a_port_in_use_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((ports.LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(ports, "FIRST", port)
        monkeypatch.setattr(ports, "ephemeral", lambda: (port + 1, 65535))
        with pytest.raises(ports.NoFreePort, match="1 free ports wanted"):
            ports.free_ports(1)


def test_wanted_ports_are_given_when_all_of_them_are_free() -> None:
    free = ports.free_ports(1)[0]
    assert ports.free_ports(1, wanted=range(free, free + 1)) == [free]
    with socket.create_server((ports.LOOPBACK, free)):
        assert ports.free_ports(1, wanted=range(free, free + 1)) != [free]


def test_a_lab_takes_no_port_of_a_lab_that_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first = ports.free_ports(1)[0]
    one = lab.create(lab_names.place("a"), name="a", nodes=1, first_port=first)
    assert [node.ports[0] for node in one.nodes] == [first]
    other = lab.create(lab_names.place("b"), name="b", nodes=1, first_port=first)
    assert first not in other.nodes[0].ports


def test_a_damaged_lab_keeps_no_other_from_being_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    damaged = lab.create(lab_names.place("a"), name="a", nodes=1)
    (damaged.dir / lab_names.STATE_FILE).write_text("junk")
    assert lab.ports_of_labs() == set()
    assert len(lab.create(lab_names.place("b"), name="b", nodes=2).nodes) == 2


def test_a_port_is_free_again_as_soon_as_its_process_has_ended() -> None:
    """Its connections wait for stragglers a minute longer; a lab that is taken down and made again
    has the same addresses nevertheless."""
    with socket.create_server((ports.LOOPBACK, 0)) as server:
        port = server.getsockname()[1]
        client = socket.create_connection((ports.LOOPBACK, port))
        accepted, _ = server.accept()
    with client:
        accepted.close()  # who closes first keeps the port in TIME_WAIT
        assert client.recv(1) == b""
    with socket.socket() as plain, pytest.raises(OSError, match="in use"):
        plain.bind((ports.LOOPBACK, port))
    assert ports.free_ports(1, wanted=range(port, port + 1)) == [port]


def test_a_process_is_there_as_long_as_one_of_its_threads(tmp_path: Path) -> None:
    """A killed node may hold its directory for a moment longer than its first thread lives."""
    program = (
        "import ctypes, threading\n"
        "threading.Thread(target=threading.Event().wait).start()\n"
        "print('begun', flush=True)\n"
        "ctypes.CDLL(None).pthread_exit(None)\n"
    )
    command = [sys.executable, "-c", program]
    process = processes.start(command, log=tmp_path / "log", env=dict(os.environ))
    try:
        stat = Path(f"/proc/{process.pid}/stat")
        real.until(lambda: stat.read_text("ascii").rpartition(") ")[2][:1] == "Z", "it is a zombie")
        assert process.alive
    finally:
        process.send(signal.SIGKILL)
        assert process.wait_gone(10)
    assert not process.alive


def test_each_node_gets_a_port_for_its_figures_which_it_keeps(tmp_path: Path) -> None:
    options = {"metrics.listen": "127.0.0.1:0"}
    made = lab.create(tmp_path / "x", name="x", nodes=3, options=options, links=True)
    assert lab.load(tmp_path / "x") == made
    ports = [port for node in made.nodes for port in node.ports]
    assert made.links is not None
    ports += [made.links.control, *made.links.ports.values()]
    assert len(set(ports)) == len(ports) == 3 + 3 + 1 + 6
    grown, node = lab.add_node(made)
    for each in grown.nodes:
        assert NodeConfig.load(each.config, {}).metrics.listen == each.metrics
    assert set(node.ports).isdisjoint(ports)
    assert len(node.ports) == 2


def test_a_node_is_laid_out_anew_with_the_port_of_its_own_figures(tmp_path: Path) -> None:
    """Drills write the file of a node again from that of another one."""
    made = lab.create(tmp_path / "x", name="x", nodes=2, options={"metrics.listen": "[::1]:0"})
    first, second = made.nodes
    again = yaml.safe_load(config_text(made, second, options_of(first.config)))
    assert again["metrics"]["listen"] == second.metrics != first.metrics


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("127.0.0.1:9301", r"2 nodes of one machine cannot share a port"),
        ("nowhere", r"metrics.listen = 'nowhere': is not host:port"),
    ],
)
def test_a_place_for_figures_that_cannot_be_is_refused(
    tmp_path: Path, place: str, why: str
) -> None:
    with pytest.raises(ConfigError, match=why):
        lab.create(tmp_path / "x", name="x", nodes=2, options={"metrics.listen": place})
    assert not (tmp_path / "x").exists()


def test_the_list_of_nodes_says_where_their_figures_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"metrics.listen": "127.0.0.1:0"}
    made = lab.create(tmp_path / "x", name="x", nodes=1, options=options)
    assert run(["lab", "ps", "--dir", str(made.dir)]) == 0
    place = made.nodes[0].metrics
    shown = f"n1   {made.addresses[0]:<21} stopped  pid -        http://{place}/\n"
    assert capsys.readouterr().out == shown
    assert run(["lab", "ps", "--dir", str(made.dir), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"][0]["metrics"] == place


def test_a_node_that_ends_at_once_is_not_waited_for_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = lab.create(tmp_path / "x", name="x", nodes=2)
    one, other = made.nodes
    one.config.write_text("listen: nowhere\n", "utf-8")
    other.log.write_text("words of an earlier day\n", "utf-8")
    assert run(["lab", "start", "n1", "--timeout", "1h", "--dir", str(made.dir)]) == 3
    said = capsys.readouterr().err
    assert "n1 ended:\n" in said
    assert "node.yaml:1:9: listen = 'nowhere'" in said
    assert f"the node at {one.address} ended after its start" in said
    assert "earlier day" not in said


class InterruptingPath(PosixPath):
    """Ctrl-C comes when its file is about to be written."""

    @override
    def with_suffix(self, suffix: str) -> Self:
        signal.raise_signal(signal.SIGINT)
        return super().with_suffix(suffix)


class FullPath(PosixPath):
    """There is no room for its file; errors of writing do not say for which."""

    @override
    def with_suffix(self, suffix: str) -> Self:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_no_process_that_is_not_noted_and_is_told_by_name(
    tmp_path: Path,
) -> None:
    pid_file = FullPath(tmp_path / "pid")
    with pytest.raises(OSError, match=r"No space left on device.*pid'"):
        processes.start_noted(
            [sys.executable, "-c", "import os; print(os.getpid(), flush=True); input()"],
            log=tmp_path / "log",
            env=dict(os.environ),
            pid_file=pid_file,
        )
    started = (tmp_path / "log").read_text().split()
    assert not any(Path(f"/proc/{pid}").exists() for pid in started)


def test_ctrl_c_leaves_no_process_that_is_not_noted(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        processes.start_noted(
            [sys.executable, "-c", "import signal; signal.pause()"],
            log=tmp_path / "log",
            env=dict(os.environ),
            pid_file=InterruptingPath(tmp_path / "pid"),
        )
    found = processes.read_pid_file(tmp_path / "pid")
    assert found is not None
    try:
        assert found.alive
        status = Path(f"/proc/{found.pid}/status").read_text()
        (blocked,) = [line.split()[1] for line in status.splitlines() if "SigBlk" in line]
        assert int(blocked, 16) == 0, "what is started can be interrupted"
    finally:
        found.end(grace=5)
