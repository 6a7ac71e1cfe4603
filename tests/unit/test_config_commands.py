"""`qsync config` on files: written, shown with origins, compared."""

import json
import socket
from pathlib import Path

import pytest

from cli.main import run
from qsync.config import NodeConfig


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not those of whoever runs the tests."""
    for key in NodeConfig().values():
        monkeypatch.delenv("QSYNC_" + key.upper().replace(".", "__"), raising=False)


def test_init_writes_a_file_that_reads_back_and_never_over_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "node.yaml"
    assert run(["config", "init", str(path), "--set", "election_timeout=2s"]) == 0
    assert NodeConfig.load(path, {}).election.timeout == 2.0
    assert run(["config", "init", str(path)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert run(["config", "init"]) == 0
    assert capsys.readouterr().out == NodeConfig.template()


def test_show_says_where_each_value_came_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "node.yaml").write_text("election_timeout: 3s\n")
    monkeypatch.setenv("QSYNC_REPLICATION__TIMEOUT", "500ms")
    args = ["config", "show", str(tmp_path), "--set", "listen=127.0.0.1:1"]
    assert run([*args, "--json", "--origin"]) == 0
    origins = json.loads(capsys.readouterr().out)["origins"]
    assert origins["election.timeout"] == f"{tmp_path / 'node.yaml'}:1:19"
    assert origins["replication.timeout"] == "environment variable QSYNC_REPLICATION__TIMEOUT"
    assert origins["listen"] == "flag listen"
    assert origins["store.writer"] == "default"
    assert run([*args, "--changed", "--origin"]) == 0
    said = capsys.readouterr().out
    assert len(said.splitlines()) == 3
    assert "election.timeout     3s  # " in said


@pytest.mark.parametrize("option", ["listen", "metrics.listen"])
def test_a_port_in_use_is_one_sentence_and_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        settings = {"listen": "127.0.0.1:0", option: address}
        flags = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        assert run(["init", str(tmp_path / "n1"), *flags]) == 0
        capsys.readouterr()
        assert run(["start", str(tmp_path / "n1")]) == 2
    said = capsys.readouterr().err
    assert f"{option} = {address}: cannot be listened on: Address already in use" in said
    assert "is this node running already?" in said
    assert "Traceback" not in said


def test_diff_names_what_differs_and_only_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.yaml").write_text("election: {timeout: 2s}\nreplication: {timeout: 1s}\n")
    (tmp_path / "b.yaml").write_text("election_timeout: 4s\n")
    files = [str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")]
    assert run(["config", "diff", *files, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["differences"]
    assert found == {"election.timeout": {"left": "2s", "right": "4s"}}
    assert run(["config", "diff", *files, "--fail"]) == 6
    assert "-election.timeout: 2s\n+election.timeout: 4s\n" in capsys.readouterr().out
    assert run(["config", "diff", files[0], files[0], "--fail"]) == 0
    assert "say the same" in capsys.readouterr().err
    assert run(["config", "diff", files[0], str(tmp_path / "none.yaml")]) == 2


def test_diff_without_a_second_file_compares_with_the_defaults(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "node.yaml"
    path.write_text("cluster: {tag: test}\n")
    assert run(["config", "diff", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["differences"]
    assert found["cluster.tag"] == {"left": "test", "right": ""}
