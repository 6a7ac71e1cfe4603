"""Which snapshot files stay beside one that the leader sent."""

import errno
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any, cast

import pytest

from election.messages import Index
from qsync.node.snapshots import SnapshotWriter
from qsync.node.timeline import Timeline
from qsync.record import Lsn
from qsync.store import snapfiles
from qsync.store.memory_rows import MemoryRowsView
from qsync.store.snapfiles import SnapshotFile, snapshot_files
from qsync.store.snapfolder import DiskFolder
from tests.unit.test_logstart import SOME

KEEP = 2


class _Effects:
    """Nobody waits for its events."""

    def event(self) -> Event:
        return Event()


def _writer(folder: Path, *indexes: int, timeline: Timeline) -> SnapshotWriter:
    """Of a node with snapshots at these indexes, all written before it looks again."""
    writer = SnapshotWriter(
        cast("Any", None),
        cast("Any", None),
        DiskFolder(folder),
        keep=lambda: KEEP,
        send=cast("Any", None),
        flush=lambda: None,
        timeline=timeline,
        effects=cast("Any", _Effects()),
    )
    for index in indexes:
        (one, count), (two, _) = SOME.vclock
        vclock = ((one, count), (two, Lsn(index - count)))
        start = replace(SOME, index=Index(index), vclock=vclock)
        snapfiles.write_snapshot(folder, MemoryRowsView([], folded=start.index), start)
    return writer


def _indexes(files: list[SnapshotFile]) -> list[int]:
    return [int(each.index) for each in files]


def test_the_oldest_go_when_there_are_too_many(tmp_path: Path) -> None:
    writer = _writer(tmp_path, 7, 8, 9, timeline=Timeline(None))
    writer.look()
    assert _indexes(snapshot_files(tmp_path)) == [8, 9]
    assert [each.index for each in writer.checkpoints.stored] == [8, 9]


def test_none_goes_while_a_file_is_written(tmp_path: Path) -> None:
    """What is half written would go with them."""
    writer = _writer(tmp_path, 7, 8, 9, timeline=Timeline(None))
    writer.request()
    writer.look()
    assert _indexes(snapshot_files(tmp_path)) == [7, 8, 9]


def test_none_goes_while_the_newest_cannot_be_read(tmp_path: Path) -> None:
    writer = _writer(tmp_path, 7, 8, 9, timeline=Timeline(None))
    snapshot_files(tmp_path)[-1].path.write_bytes(b"")
    writer.look()
    assert _indexes(snapshot_files(tmp_path)) == [7, 8, 9]


def test_one_that_cannot_be_removed_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timeline = Timeline(None)
    writer = _writer(tmp_path, 7, 8, 9, timeline=timeline)

    def fails(_path: Path) -> None:
        raise OSError(errno.EROFS, "read-only file system")

    with monkeypatch.context() as broken:
        broken.setattr(Path, "unlink", fails)
        writer.look()
    assert _indexes(snapshot_files(tmp_path)) == [7, 8, 9]
    (event,) = [each for each in timeline.events if each["event"] == "snapshot_kept"]
    assert "read-only file system" in str(event["why"])
    writer.look()
    assert _indexes(snapshot_files(tmp_path)) == [8, 9]
