"""`box.snapshot()` leaves what is confirmed in a file, exact at an index, while writes go on."""

from pathlib import Path

import pytest
import trio

import qsync
from qsync.errors import DiskFull, QsyncError
from qsync.options.core_options import CHECKPOINT_COUNT
from qsync.store.memory import MemorySpaces
from qsync.store.snapfiles import restore_rows, snapshot_files, verify_snapshot
from tests.node.test_rot import ROWS, fill, running, spoil, value

LOW, HIGH = b"\0", b"\xff" * 8


async def test_a_snapshot_holds_all_that_was_confirmed(tmp_path: Path) -> None:
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        await fill(node)
        last = await db.space("t").replace([7, "last"])
        index = await db.snapshot()
        assert index >= last.index - 1  # that the last one is confirmed is noted with the next
        file = snapshot_files(tmp_path / "data" / "snap")[-1]
        assert file.index == index
        log = node.replica.machine.replicated_log.log
        head = verify_snapshot(file.path)
        assert (head.start.index, head.start.crc) == (index, log.crc_at(index))
        spaces = MemorySpaces()
        restore_rows(spaces, file.path)
        assert spaces.digest(LOW, HIGH) == node.storage.spaces.digest(LOW, HIGH)
        written = node.timeline.counts["snapshot"]
        assert await db.snapshot() >= index
        assert node.timeline.counts["snapshot"] - written <= 1


async def test_writes_go_on_while_a_snapshot_is_written(tmp_path: Path) -> None:
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        await fill(node)
        indexes: list[int] = []

        async def snapshot() -> None:
            async with qsync.connect_async(node.address) as other:
                indexes.append(await other.snapshot())

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(snapshot)
            for number in range(100):
                await db.space("t").replace([ROWS + number, value(number)])
        for file in snapshot_files(tmp_path / "data" / "snap"):
            assert verify_snapshot(file.path).start.index == file.index
        assert {each.index for each in snapshot_files(tmp_path / "data" / "snap")} & {*indexes}


async def test_only_the_newest_snapshots_stay(tmp_path: Path) -> None:
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        await fill(node)
        made = []
        for number in range(CHECKPOINT_COUNT.default + 2):
            await db.space("t").replace([0, value(number)])
            made.append(await db.snapshot())
        made = sorted({*made})
        left = [each.index for each in snapshot_files(tmp_path / "data" / "snap")]
        assert left == made[-CHECKPOINT_COUNT.default :]


async def test_a_row_that_rotted_is_in_no_snapshot(tmp_path: Path) -> None:
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        await fill(node)
        spoil(node, 123)
        with pytest.raises(QsyncError, match="the checksum of a row does not hold"):
            await db.snapshot()
        assert snapshot_files(tmp_path / "data" / "snap") == []
        assert node.timeline.counts["snapshot_failed"] == 1


@pytest.mark.pure
async def test_a_snapshot_for_which_the_disk_has_no_room_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> None:
        raise DiskFull("no room left for the data", details={"path": "data"})

    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        await fill(node)
        monkeypatch.setattr(node.storage.spaces, "sync", full)
        with pytest.raises(DiskFull, match="no room left for the data") as caught:
            await db.snapshot()
        assert caught.value.details["path"] == "data"
