"""`qsync dump`: what it refuses, and what it says it did."""

import builtins
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.main import run
from qsync.store.log import LmdbLog
from qsync.store.memory import NOBODY
from tests.unit.logs import some, write
from tests.unit.pretender import entries, pretending


@pytest.fixture
def copy(tmp_path: Path) -> str:
    """As a target."""
    stored = LmdbLog(tmp_path / "copy", identity=NOBODY)
    stored.recover()
    stored.write(write(some(9), confirmed=9))
    stored.close()
    return f"2={tmp_path / 'copy'}"


def test_a_dump_says_what_it_has(
    copy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["dump", copy, "--out", str(tmp_path / "out"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == {"wal": 9, "status": 0, "digests": 0}
    assert found["nodes"] == [{"name": "n2", "last": 9}]


def test_running_nodes_are_watched_before_their_logs_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pretending(2) as nodes:
        for each in nodes:
            each.log = entries(9)
        out = ["--out", str(tmp_path / "out")]
        targets = [each.address for each in nodes]
        assert run(["dump", *targets, *out, "--sample", "0.5", "--every", "0.05", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows["wal"] == 18
    assert rows["status"] > 6
    assert rows["digests"] == 2


def test_who_does_not_run_cannot_be_watched(
    copy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["dump", copy, "--out", str(tmp_path / "out"), "--sample", "1"]) == 2
    assert "watches nodes that run" in capsys.readouterr().err


def test_what_is_no_target_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dump", "nowhere", "--out", str(tmp_path / "out")]) == 2
    assert "is no address, lab or context" in capsys.readouterr().err


def test_parquet_without_pyarrow_says_what_to_install(
    copy: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    real: Callable[..., object] = builtins.__import__

    def without(name: str, *rest: object, **known: object) -> object:
        if name == "pyarrow":
            raise ImportError("No module named 'pyarrow'")
        return real(name, *rest, **known)

    monkeypatch.setattr(builtins, "__import__", without)
    assert run(["dump", copy, "--out", str(tmp_path / "out"), "--format", "parquet"]) == 2
    said = capsys.readouterr().err
    assert "needs pyarrow" in said
    assert "qsync-cluster[spark]" in said
