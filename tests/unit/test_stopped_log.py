"""The log of a stopped node, read and verified from its directory, in either form."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from admin.cluster import logs
from admin.evidence.witnesses import StoppedNode
from qsync.errors import StoreError
from qsync.store.directory import Directory
from qsync.store.opening import open_log
from tests.disk.former import former_directory
from tests.unit.logs import ME, some, write


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A directory with nine entries in two records."""
    with Directory(tmp_path, wanted=ME) as directory, closing(open_log(directory)) as log:
        log.recover()
        log.write(write(some(9)[:4]))
        log.write(write(some(9)[4:]))
    return tmp_path


def test_a_whole_log_is_whole(node: Path) -> None:
    found = logs.verify(logs.StoppedLog(node))
    assert (found.whole, found.entries, found.last) == (True, 9, 9)
    assert [each.index for each in logs.entries(logs.StoppedLog(node), 3, 5)] == [3, 4, 5]


def test_damage_behind_the_last_entry_that_holds_is_told(node: Path) -> None:
    file = node / "log" / "000000000001.log"
    file.write_bytes(file.read_bytes().replace(b"body 7", b"body 8"))
    found = logs.verify(logs.StoppedLog(node))
    assert (found.whole, found.last) == (False, 4)
    assert found.problems == ["a checksum that does not hold in record 2, after index 4"]


def test_a_log_of_a_former_release_is_read_as_it_is(tmp_path: Path) -> None:
    entries, _ = former_directory(tmp_path)
    read = list(logs.entries(logs.StoppedLog(tmp_path)))
    assert [each.crc for each in read] == [each.crc for each in entries]
    assert (tmp_path / "log" / "data.mdb").exists()


def test_a_directory_that_lost_its_log_gets_none_from_those_who_read(node: Path) -> None:
    """Its node would take it for its own, and not know what it voted."""
    shutil.rmtree(node / "log")
    for look in (
        lambda: logs.verify(logs.StoppedLog(node)),
        lambda: logs.StoppedLog(node).damage(),
        lambda: StoppedNode(node).account(),
    ):
        with pytest.raises(StoreError, match="holds no log"):
            look()
        assert not (node / "log").exists()
