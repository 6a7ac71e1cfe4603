"""`qsync dump`: what it refuses, and what it says it did."""

import builtins
import errno
import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from admin.evidence import parts
from admin.evidence.bundle import Bundle, write_part
from admin.evidence.bundle import write as write_bundle
from admin.evidence.manifest import MANIFEST, Manifest
from admin.evidence.tables import Row
from admin.workload.history import save
from cli.main import run
from qsync.errors import Unavailable
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


def test_a_folder_of_other_things_is_left_alone(
    copy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    (out / "wal").mkdir(parents=True)
    (out / "wal" / "mine.txt").write_text("mine", "utf-8")
    assert run(["dump", copy, "--out", str(out)]) == 2
    assert f"{out} is not empty: it holds wal (name a new folder" in capsys.readouterr().err
    assert [each.name for each in out.rglob("*")] == ["wal", "mine.txt"]
    (out / "wal" / "mine.txt").unlink()
    (out / "wal").rmdir()
    assert run(["dump", copy, "--out", str(out)]) == 0


@pytest.fixture
def no_umask() -> Iterator[None]:
    former = os.umask(0)
    yield
    os.umask(former)


def modes(folder: Path) -> set[str]:
    """Of all files: those with rows, and the manifest."""
    files = [each for each in folder.rglob("*") if each.is_file()]
    assert {each.name for each in files} >= {MANIFEST}
    assert len(files) > 2
    return {f"{stat.S_IMODE(each.stat().st_mode):o}" for each in files}


@pytest.mark.usefixtures("no_umask")
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_dump_is_its_owner_s_alone_unless_it_is_redacted(
    copy: str, tmp_path: Path, form: str
) -> None:
    """A folder that was there stays as it was, and the files in it are private all the same."""
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    for out, mode in ((tmp_path / "out", 0o700), (shared, 0o755)):
        assert run(["dump", copy, "--out", str(out), "--format", form]) == 0
        assert stat.S_IMODE(out.stat().st_mode) == mode
        assert modes(out) == {"600"}
    for source, *more in ((str(tmp_path / "out"),), (copy, "--format", form)):
        public = tmp_path / f"public{len(more)}"
        assert run(["dump", source, "--out", str(public), "--redact", *more]) == 0
        assert stat.S_IMODE(public.stat().st_mode) == 0o777
        assert modes(public) == {"666"}


def test_what_cannot_be_read_is_not_blamed_on_the_folder_that_is_written(
    copy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(_path: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied", f"{copy}/log")

    monkeypatch.setattr("admin.evidence.copies.has_segments", closed)
    assert run(["dump", copy, "--out", str(tmp_path / "out")]) == 1
    assert f"{copy}/log: Permission denied (run it as a user who may" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert run(["dump", copy, "--out", str(tmp_path / "file" / "out")]) == 1
    assert "file: File exists (name a folder that can be written)" in capsys.readouterr().err


@pytest.mark.usefixtures("no_umask")
def test_a_history_is_its_owner_s_alone(tmp_path: Path) -> None:
    save([], tmp_path / "history.jsonl")
    assert stat.S_IMODE((tmp_path / "history.jsonl").stat().st_mode) == 0o600


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
    assert "is not an address (host:port), lab or context" in capsys.readouterr().err


def test_members_that_were_not_named_are_told_and_count_as_voters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    with pretending(3) as nodes:
        for each in nodes:
            each.log = entries(9)
        assert run(["dump", nodes[0].address, "--out", out, "--json"]) == 0
        said = capsys.readouterr()
        assert json.loads(said.out)["unnamed"] == ["n2", "n3"]
        assert f"{out} lacks n2, n3, of the same cluster" in said.err
        assert Manifest.load(tmp_path / "out").voters == 3
        # Nobody is accused for what only the logs of the others could show.
        assert run(["check", "--quick", out]) == 0
        assert "a voter's log is" in capsys.readouterr().out
        nodes[2].known["peers"] = [{"id": 2, "name": "n2", "status": "up", "recruit": True}]
        assert run(["dump", nodes[0].address, nodes[2].address, "--out", out, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["unnamed"] == []
        assert Manifest.load(tmp_path / "out").voters == 2


def test_a_later_dump_keeps_nothing_of_other_nodes_or_another_run(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pretending(3) as nodes:
        for each in nodes:
            each.log = entries(9)
            each.known["synchro"] = {"quorum": 2, "len": 0}
        addresses = [each.address for each in nodes]
        assert run(["dump", *addresses, "--out", str(out)]) == 0
        assert {part.node for part in Bundle.open(out).parts("wal")} == {1, 2, 3}
        assert run(["dump", *addresses[:2], "--out", str(out), "--run", "another"]) == 0
    bundle = Bundle.open(out)
    assert {part.node for part in bundle.parts("wal")} == {1, 2}
    assert {row["run_id"] for name in ("wal", "status") for row in bundle.rows(name)} == {"another"}


def test_what_was_read_is_kept_and_that_is_said_whatever_ends_a_dump(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = str(tmp_path / "out")

    def ends(error: BaseException) -> None:
        def written(*_: object) -> None:
            raise error

        monkeypatch.setattr(parts, "write", written)

    with pretending(1) as (node,):
        node.log = entries(9)
        node.known["synchro"] = {"quorum": 1, "len": 0}
        ends(KeyboardInterrupt())
        assert run(["dump", node.address, "--out", out]) == 130
        assert f"{out} keeps what was read; the same command continues" in capsys.readouterr().err
        ends(Unavailable("it hung up"))
        assert run(["dump", node.address, "--out", out]) == 3
        assert f"UNAVAILABLE: it hung up ({out} keeps what was read" in capsys.readouterr().err
        ends(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        assert run(["dump", node.address, "--out", out]) == 1
        assert f"qsync: NO_FILE: {out}: No space left on device (free" in capsys.readouterr().err
        ends(OSError(errno.EROFS, os.strerror(errno.EROFS)))
        assert run(["dump", node.address, "--out", out]) == 1
        assert "Read-only file system (name a folder that can be" in capsys.readouterr().err
        monkeypatch.undo()
        assert run(["dump", node.address, "--out", out]) == 0
    assert run(["check", "--quick", out]) == 0


def test_a_part_that_cannot_be_written_takes_no_room(tmp_path: Path) -> None:
    def rows() -> Iterator[Row]:
        yield {"number": 1, "f": "kill"}
        raise OSError(errno.ENOSPC, "full")

    with pytest.raises(OSError, match="full"):
        write_part(tmp_path / "nemesis.jsonl", rows())
    assert list(tmp_path.iterdir()) == []


def test_the_evidence_of_a_drill_is_not_replaced_by_a_dump(
    copy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    write_bundle(out, Manifest(run_id="r", source="drill"), {"nemesis": []})
    assert run(["dump", copy, "--out", str(out)]) == 2
    assert "evidence of another kind (drill), which is left alone" in capsys.readouterr().err
    assert Manifest.load(out).source == "drill"


def test_what_is_no_copy_of_a_log_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["dump", "2=./nowhere", "--out", str(tmp_path / "out")]) == 2
    assert "there is no folder ./nowhere" in capsys.readouterr().err
    assert run(["dump", f"2={tmp_path}", "--out", str(tmp_path / "out")]) == 2
    assert f"{tmp_path} is no copy of a log: no segments and no data.mdb" in capsys.readouterr().err


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
