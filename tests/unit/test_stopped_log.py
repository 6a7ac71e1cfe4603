"""The log of a stopped node, read and verified from its directory, in either form."""

import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from admin.cluster import logs
from admin.evidence.collect import Dump
from admin.evidence.witnesses import Account, StoppedNode, witnesses
from cli.main import run
from qsync.errors import StoreError
from qsync.store.directory import Directory
from qsync.store.opening import open_log
from tests.disk.former import former_directory
from tests.unit.logs import ME, some, start_behind, write


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A directory with nine entries in two records."""
    with Directory(tmp_path, wanted=ME) as directory, closing(open_log(directory)) as log:
        log.recover()
        log.write(write(some(9)[:4]))
        log.write(write(some(9)[4:]))
    return tmp_path


def test_a_whole_log_is_whole(node: Path) -> None:
    with logs.stopped(node) as log:
        found = logs.verify(log)
        assert [each.index for each in logs.entries(log, 3, 5)] == [3, 4, 5]
    assert (found.whole, found.entries, found.last) == (True, 9, 9)


def test_damage_behind_the_last_entry_that_holds_is_told(node: Path) -> None:
    file = node / "log" / "000000000001.log"
    file.write_bytes(file.read_bytes().replace(b"body 7", b"body 8"))
    with logs.stopped(node) as log:
        found = logs.verify(log)
    assert (found.whole, found.last) == (False, 4)
    assert found.problems == ["a checksum that does not hold in record 2, after index 4"]


def test_a_log_without_entries_is_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Directory(tmp_path, wanted=ME) as directory, closing(open_log(directory)) as log:
        log.recover()
    assert run(["log", "verify", str(tmp_path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["whole"], said["entries"]) == (True, 0)
    assert run(["log", "verify", str(tmp_path)]) == 0
    assert "the chain holds: no entry yet" in capsys.readouterr().err


@pytest.fixture
def trimmed(node: Path) -> Path:
    """The same directory, its log trimmed up to entry 5."""
    with Directory(node, wanted=ME) as directory, closing(open_log(directory)) as log:
        log.recover()
        log.trim(start_behind(some(9)[4]))
    return node


def test_a_trimmed_log_is_verified_from_where_it_begins(trimmed: Path) -> None:
    with logs.stopped(trimmed) as log:
        found = logs.verify(log)
        assert [each.index for each in logs.entries(log, 3, 7)] == [6, 7]
    assert (found.whole, found.begins, found.entries, found.last) == (True, 6, 4, 9)


def test_commands_say_where_a_trimmed_log_begins(
    trimmed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["log", "verify", str(trimmed)]) == 0
    assert (
        "the chain holds: 4 entries up to index 9, term 1; trimmed before 6"
        in capsys.readouterr().err
    )
    assert run(["log", "verify", str(trimmed), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["begins"] == 6
    assert run(["log", "cat", str(trimmed), "--to", "5"]) == 0
    assert "the log begins at 6: what is before it was trimmed" in capsys.readouterr().err
    assert run(["log", "cat", str(trimmed), "--from", "9", "--to", "8"]) == 0
    assert "trimmed" not in capsys.readouterr().err


def test_evidence_of_a_trimmed_log_begins_where_it_does(trimmed: Path, tmp_path: Path) -> None:
    shutil.copytree(trimmed / "log", tmp_path / "copy")
    for place in (str(trimmed), f"1={tmp_path / 'copy'}"):
        out = tmp_path / f"out{place.partition('=')[0] == '1'}"
        with witnesses([place]) as found:
            bundle = Dump(out, part_entries=2).collect(found, source="directories")
        assert [row["index"] for row in bundle.rows("wal")] == [6, 7, 8, 9]
        assert StoppedNode(trimmed).digests(1) == []


def test_a_log_without_entries_begins_behind_its_snapshot(node: Path, tmp_path: Path) -> None:
    """Such a node has in its snapshot what a quorum needs."""
    with Directory(node, wanted=ME) as directory, closing(open_log(directory)) as log:
        log.recover()
        log.begin_at(start_behind(some(20)[-1]))
    with witnesses([str(node)]) as found:
        bundle = Dump(tmp_path / "out").collect(found, source="directories")
    (facts,) = bundle.manifest.nodes
    assert (facts.first, facts.last, bundle.manifest.rows["wal"]) == (21, 20, 0)


def test_a_log_of_a_former_release_is_read_as_it_is(tmp_path: Path) -> None:
    entries, _ = former_directory(tmp_path)
    with logs.stopped(tmp_path) as log:
        read = list(logs.entries(log))
    assert [each.crc for each in read] == [each.crc for each in entries]
    assert (tmp_path / "log" / "data.mdb").exists()


def read_whole(node: Path) -> None:
    with logs.stopped(node) as log:
        logs.verify(log)


def test_a_directory_that_lost_its_log_gets_none_from_those_who_read(node: Path) -> None:
    """Its node would take it for its own, and not know what it voted."""
    shutil.rmtree(node / "log")
    with pytest.raises(StoreError, match="holds no log"):
        read_whole(node)
    assert StoppedNode(node).account().facts.problem
    assert not (node / "log").exists()


def test_a_directory_that_lost_its_log_does_not_end_the_dump(node: Path, tmp_path: Path) -> None:
    shutil.copytree(node / "log", tmp_path / "copy")
    shutil.rmtree(node / "log")
    with witnesses([str(node), f"2={tmp_path / 'copy'}"]) as found:
        bundle = Dump(tmp_path / "out").collect(found, source="directories")
    lost, copied = bundle.manifest.nodes
    assert (lost.name, lost.last, lost.recorded) == ("n1", 0, False)
    assert (copied.last, bundle.manifest.rows["wal"]) == (9, 9)
    assert bundle.manifest.gaps == {"wal": "the log of n1 is damaged: it is missing"}


def test_a_dump_is_brought_up_to_date_though_the_log_was_trimmed_meanwhile(tmp_path: Path) -> None:
    """What an earlier dump kept may end before the log begins: between them would be a hole."""
    node = tmp_path / "n1"
    entries = some(20)

    def grown(first: int, last: int, *, begins: int = 0) -> tuple[int, list[object]]:
        with Directory(node, wanted=ME) as directory, closing(open_log(directory)) as log:
            log.recover()
            log.write(write(entries[first - 1 : last], confirmed=last))
            if begins:
                log.trim(start_behind(entries[begins - 2]))
        with witnesses([str(node)]) as known:
            bundle = Dump(tmp_path / "out", part_entries=4).collect(known, source="directories")
        bundle.check_whole()
        return bundle.manifest.nodes[0].first, [row["index"] for row in bundle.rows("wal")]

    assert grown(1, 6) == (1, list(range(1, 7)))
    assert grown(7, 9, begins=4) == (1, list(range(1, 10)))
    shutil.rmtree(tmp_path / "out")
    assert grown(10, 10) == (4, list(range(4, 11)))
    assert grown(11, 12) == (4, list(range(4, 13)))
    assert grown(13, 19, begins=18) == (18, [18, 19])
    assert grown(20, 20) == (18, [18, 19, 20])


def test_a_stopped_node_is_asked_once_who_it_is(
    node: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its whole log is read for that."""
    asked: list[Path] = []
    account = StoppedNode.account

    def counted(stopped: StoppedNode) -> Account:
        asked.append(stopped.path)
        return account(stopped)

    monkeypatch.setattr(StoppedNode, "account", counted)
    with witnesses([str(node)]) as found:
        Dump(tmp_path / "out").collect(found, source="directories")
    assert asked == [node]
