"""A node whose log was damaged while it was stopped starts, with what it can trust."""

import shutil
from pathlib import Path

import pytest

import qsync
from qsync.node.assembly import found_cluster, open_storage
from qsync.store.segments.log import SegmentLog
from tests.node.test_events import config
from tests.node.test_fault_hooks import running


def harm(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[data.index(b"fills segments") + 5] ^= 1
    file.write_bytes(bytes(data))


async def test_damage_of_entries_that_are_in_rows_is_noticed_at_the_start(tmp_path: Path) -> None:
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        for number in range(40):
            await db.space("t").replace([number, "a value that fills segments " * 1500])
        folder = node.storage.directory.path / "log"
    first, *later = sorted(folder.glob("*.log"))
    assert later
    harm(first)
    async with running(tmp_path):
        (why,) = folder.parent.glob("log.damaged-*/why.txt")
        assert "a checksum that does not hold" in why.read_text()


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.pure
def test_a_node_killed_while_it_replaces_a_lost_log_is_a_stranger_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The empty log that the first start made has none of the votes; the next one finds it."""
    mine = config(tmp_path)
    found_cluster([mine])
    storage = open_storage(mine)
    before, log = storage.directory.identity.instance, storage.directory.path / "log"
    storage.close()
    shutil.rmtree(log)

    def killed(_: SegmentLog) -> None:
        raise Killed

    monkeypatch.setattr(SegmentLog, "recover", killed)
    with pytest.raises(Killed):
        open_storage(mine)
    assert log.exists()
    monkeypatch.undo()
    storage = open_storage(mine)
    assert storage.directory.identity.instance != before
    assert not storage.directory.identity.founders
    storage.close()
