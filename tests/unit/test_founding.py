"""`qsync init`: one node, or the directories of a whole cluster, all or none."""

import errno
import json
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from admin.lab import founding, lab
from admin.lab import names as lab_names
from admin.lab.new_directory import filled
from cli.main import run
from qsync.config import NodeConfig, secret
from qsync.errors import DirectoryLocked
from qsync.store import unfinished

HOSTS = ("10.0.0.1", "10.0.0.2:4000", "10.0.0.1")
OPEN = ("--set", "insecure=true")


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not those of whoever runs the tests."""
    for key in NodeConfig().values():
        monkeypatch.delenv("QSYNC_" + key.upper().replace(".", "__"), raising=False)


def test_a_cluster_is_laid_out_with_one_id_and_each_member_listens_where_it_is_dialled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", "--cluster", str(tmp_path / "c"), *HOSTS, *OPEN]) == 0
    said = capsys.readouterr().err
    assert "copy each directory to its host, and start it there" in said
    assert "  n1 to 10.0.0.1: qsync start n1\n" in said
    assert "  n2 to 10.0.0.2: qsync start n2\n" in said
    kept = (tmp_path / "c" / "qsync-README.txt").read_text("utf-8")
    assert all(line.strip() in kept for line in said.splitlines() if "qsync start" in line)
    found = [NodeConfig.load(tmp_path / "c" / name / "node.yaml") for name in ("n1", "n2", "n3")]
    assert [(each.node.id, each.node.name, str(each.listen)) for each in found] == [
        (1, "n1", "10.0.0.1:3301"),
        (2, "n2", "10.0.0.2:4000"),
        (3, "n3", "10.0.0.1:3302"),
    ]
    assert len({each.cluster.id for each in found}) == len({each.peers for each in found}) == 1
    assert [each.node.dir for each in found] == [tmp_path / "c" / f"n{n}" for n in (1, 2, 3)]
    assert {stat.S_IMODE(each.node.dir.stat().st_mode) for each in found} == {0o700}


def test_members_of_one_machine_are_started_where_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", "--cluster", str(tmp_path / "c"), "127.0.0.1", "localhost"]) == 0
    said = capsys.readouterr().err
    assert "to its host" not in said
    assert f"  qsync start {tmp_path / 'c' / 'n2'}\n" in said
    assert (
        f"  qsync start {tmp_path / 'c' / 'n2'}\n" in (tmp_path / "c/qsync-README.txt").read_text()
    )


def test_options_count_for_all_members_and_json_tells_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    local = ["127.0.0.1"] * 3
    args = ["init", "--cluster", str(tmp_path), *local, "--set", "election.timeout=9s", "--json"]
    assert run(args) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["founded"]
    assert [each["address"] for each in told["nodes"]] == [f"127.0.0.1:330{n}" for n in (1, 2, 3)]
    for each in told["nodes"]:
        config = NodeConfig.load(Path(each["dir"]) / "node.yaml")
        assert (config.cluster.id, config.election.timeout) == (told["cluster"], 9.0)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (HOSTS, "add --secure (TLS, with certificates made here), or say --set insecure=true"),
        (("10.0.0.1", "10.0.0.1:3301", *OPEN), "'10.0.0.1:3301' is given to two members"),
        (("a b", *OPEN), "'a b' has the host 'a b'"),
        (("0.0.0.0", *OPEN), "is not an address that others can dial"),
        (("10.0.0.1:0", *OPEN), "has port 0"),
        (("10.0.0.1", *OPEN, "--set", "listen=10.0.0.1:1"), "listen is another one for each"),
        ((), "wants the hosts"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], said: str
) -> None:
    assert run(["init", "--cluster", str(tmp_path / "c"), *args]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "c").exists()


def test_a_directory_that_has_a_node_is_left_alone_and_so_are_its_neighbours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "n2").mkdir()
    (tmp_path / "n2" / "node.yaml").write_text("mine")
    assert run(["init", "--cluster", str(tmp_path), "10.0.0.1", "10.0.0.2", *OPEN]) == 2
    assert "n2/node.yaml exists already" in capsys.readouterr().err
    assert not (tmp_path / "n1").exists()
    assert (tmp_path / "n2" / "node.yaml").read_text() == "mine"


@pytest.mark.parametrize("args", [(), ("--cluster", "10.0.0.1", "10.0.0.2", *OPEN), ("--secure",)])
def test_a_disk_that_fills_up_leaves_nothing_half_way(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    args: tuple[str, ...],
) -> None:
    def full(_configs: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    new, old = tmp_path / "new", tmp_path / "old"
    (old / "n1").mkdir(parents=True)
    (old / "n1" / "mine").touch()
    with monkeypatch.context() as patched:
        patched.setattr(founding, "found_cluster", full)
        for where in (new, old):
            assert run(["init", str(where), *args]) == 1
            said = capsys.readouterr().err
            assert "No space left on device (free some space, or name another place)" in said
    assert not new.exists()
    assert [each.relative_to(old).as_posix() for each in sorted(old.rglob("*"))] == [
        "n1",
        "n1/mine",
    ]
    for where in (new, old):
        assert run(["init", str(where), *args]) == 0, "it is done when there is room"


KILLED = """
import importlib, os, signal, sys
from cli.main import main
place, name, *args = sys.argv[1:]
setattr(importlib.import_module(place), name, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
main(args)
"""


def run_killed(place: str, name: str, *args: str) -> None:
    """Run a command in a process that is killed when it calls that function of a module."""
    done = subprocess.run([sys.executable, "-c", KILLED, place, name, *args], check=False)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("place", "name", "args"),
    [
        ("admin.lab.cluster_secret", "put", ()),
        ("admin.lab.founding", "found_cluster", ()),
        ("admin.lab.founding", "found_cluster", ("--cluster", "127.0.0.1", "127.0.0.1")),
        ("admin.certs.laying", "add_node", ("--secure",)),
        ("admin.lab.next_steps", "readme", ("--cluster", "127.0.0.1", "127.0.0.1", "--secure")),
    ],
)
def test_after_a_kill_no_node_starts_and_the_same_command_starts_again(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    place: str,
    name: str,
    args: tuple[str, ...],
) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    old.mkdir()
    (old / "mine").write_text("mine", "utf-8")
    for where in (new, old):
        run_killed(place, name, "init", str(where), *args)
        node = where / "n1" if "--cluster" in args else where
        assert run(["start", str(node)]) == 2
        assert f"{where} is not whole: the command that lays it out" in capsys.readouterr().err
        if (node / "node.yaml").exists():
            assert run(["node", "--config", str(node / "node.yaml")]) == 2
            assert "is not whole" in capsys.readouterr().err
        assert run(["init", str(where), *args]) == 0
        assert (node / "node.yaml").exists()
        assert not unfinished.is_unfinished(where)
        assert run(["init", str(where), *args]) == 2, "it is whole, and is left alone"
    assert (old / "mine").read_text("utf-8") == "mine"


def test_a_lab_that_was_killed_half_way_is_none_and_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    run_killed("admin.lab.lab", "_store", "lab", "up", "--name", "x")
    place = lab_names.place("x")
    assert (place / "n1" / "node.yaml").exists()
    assert run(["lab", "ps", "--name", "x"]) == 2
    lab.create(place, name="x", nodes=1)
    assert sorted(each.name for each in place.iterdir()) == ["lab.json", "n1", "secret"]


def test_two_commands_do_not_lay_out_one_directory(tmp_path: Path) -> None:
    with filled(tmp_path / "a"), pytest.raises(DirectoryLocked), filled(tmp_path / "a"):
        pass
    assert not list((tmp_path / "a").iterdir())


def test_what_is_to_be_typed_can_be_typed_where_directories_have_spaces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, several = tmp_path / "a b", tmp_path / "c d"
    assert run(["init", str(one)]) == 0
    assert run(["init", "--cluster", str(several), "127.0.0.1", "--secure"]) == 0
    said = capsys.readouterr().err
    assert f"run it with: qsync start '{one}'\n" in said
    assert f"  qsync start '{several / 'n1'}'\n" in said


@pytest.mark.parametrize("words", [["--cluster", "c", "10.0.0.1"], ["c"]])
def test_an_authority_that_is_there_is_kept_and_no_node_is_founded_beside_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    kept = tmp_path / "c" / "certs" / "ca.key"
    kept.parent.mkdir(parents=True)
    kept.write_text("mine")
    assert run(["init", *words, "--secure"]) == 2
    assert "c/certs/ca.key exists already" in capsys.readouterr().err
    assert list((tmp_path / "c").rglob("*")) == [kept.parent, kept]
    assert kept.read_text() == "mine"


def test_hosts_without_cluster_are_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", str(tmp_path), "10.0.0.1"]) == 2
    assert "qsync init --cluster DIR HOST..." in capsys.readouterr().err


def test_a_place_in_a_cluster_that_is_elsewhere_founds_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    peers = "peers=1:n1@127.0.0.1:3301,2:n2@127.0.0.1:3302"
    cluster = "cluster.id=8c2f6b1e-0c5a-4f62-9d0e-3a7d1b9c4e55"
    who = ["--set", "node.id=2", "--set", "node.name=n2", "--set", cluster, "--set", peers]
    assert run(["init", str(tmp_path / "n2"), *who, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert not told["founded"]
    assert told["nodes"][0]["address"] == "127.0.0.1:3302"


def secret_of(directory: Path) -> str:
    """What its configuration knows, which stands in a file of its own that only the owner reads."""
    config = NodeConfig.load(directory / "node.yaml", {})
    assert config.secret
    assert config.values()["cluster.secret_file"] == secret.FILE
    assert stat.S_IMODE((directory / secret.FILE).stat().st_mode) == 0o600
    assert config.secret.text not in (directory / "node.yaml").read_text("utf-8")
    return config.secret.text


def test_a_new_cluster_has_a_secret_that_its_members_share_and_nobody_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    local = ["127.0.0.1"] * 3
    assert run(["init", "--cluster", str(tmp_path / "c"), *local]) == 0
    assert run(["init", "--cluster", str(tmp_path / "d"), *HOSTS, *OPEN, "--json"]) == 0
    assert run(["init", str(tmp_path / "alone")]) == 0
    told = capsys.readouterr()
    found = {name: {secret_of(tmp_path / name / f"n{n}") for n in (1, 2, 3)} for name in "cd"}
    assert [len(each) for each in found.values()] == [1, 1]
    every = {*found["c"], *found["d"], secret_of(tmp_path / "alone")}
    assert len(every) == 3, "each cluster has another one"
    assert not [text for text in every if text in told.out + told.err]
    assert "a node that joins needs it" in told.err


def test_a_secret_that_is_named_is_taken_over_into_each_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").write_text("only-the-members-know\n", "utf-8")
    hosts = ["127.0.0.1"] * 2
    assert run(["init", "--cluster", "c", *hosts, "--set", "cluster.secret_file=mine"]) == 0
    assert run(["init", "d", "--set", "cluster.secret=only-the-members-know"]) == 0
    (tmp_path / "mine").unlink()
    assert {secret_of(tmp_path / each) for each in ("c/n1", "c/n2", "d")} == {
        "only-the-members-know"
    }
    assert run(["init", "e", "--set", "cluster.secret_file=mine"]) == 2
    assert not (tmp_path / "e").exists()


def test_where_members_show_certificates_or_are_founded_elsewhere_no_secret_is_made(
    tmp_path: Path,
) -> None:
    assert run(["init", "--cluster", str(tmp_path / "c"), "127.0.0.1", "--secure"]) == 0
    peers = "peers=1:n1@127.0.0.1:3301,2:n2@127.0.0.1:3302"
    cluster = "cluster.id=8c2f6b1e-0c5a-4f62-9d0e-3a7d1b9c4e55"
    assert run(["init", str(tmp_path / "n1"), "--set", cluster, "--set", peers]) == 0
    for directory in (tmp_path / "c/n1", tmp_path / "n1"):
        assert not NodeConfig.load(directory / "node.yaml", {}).secret
        assert not (directory / secret.FILE).exists()
