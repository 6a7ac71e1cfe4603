"""A node writes snapshots by itself and trims its log, as far as nobody needs it."""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

import qsync
from qsync.consumer import ConsumerKind
from qsync.core.logstart import LogStart
from qsync.core.retention import HoldKind
from qsync.errors import Compacted, DiskFull, WrongOperation
from qsync.node import retention
from qsync.node.node import SWEEP, Node
from qsync.store import snapfiles
from qsync.store.segments.files import segment_numbers
from qsync.store.snapfiles import snapshot_files, verify_snapshot
from tests.live import real
from tests.node.test_fault_hooks import aside
from tests.node.test_rot import running

ROW_BYTES = 32 << 10
KEYS = 10
ROWS = 40
"""More than the first segment of a log takes."""
SMALL = {"checkpoint_wal_threshold": "256KiB", "checkpoint_interval": "0s"}


async def until(node: Node, check: Callable[[], bool], what: str) -> None:
    """It is looked at again and again, and not once a second."""

    def look() -> bool:
        node.reactor.effects.call_soon(lambda: node.loop.timers.at(SWEEP, 0.0))
        return check()

    await aside(lambda: real.until(look, what))


async def write(node: Node, count: int) -> int:
    """So many rows over few keys; the index of the last."""
    index = 0
    async with qsync.connect_async(node.address) as db:
        await db.schema.create_space("big", if_not_exists=True)
        space = db.space("big")
        for number in range(count):
            index = int((await space.replace([number % KEYS, bytes(ROW_BYTES)])).index)
    return index


def begins(node: Node) -> int:
    return int(node.storage.log.start.index) + 1


async def test_the_log_is_trimmed_behind_snapshots_and_no_further(tmp_path: Path) -> None:
    async with running(tmp_path, **SMALL) as node, qsync.connect_async(node.address) as db:
        reader = await db.consumers.register("reader", about="on host 7")
        last = await write(node, ROWS)
        await until(node, lambda: node.timeline.counts["snapshot"] >= 1, "a snapshot")
        await write(node, ROWS)
        await until(node, lambda: node.timeline.counts["snapshot"] >= 2, "another one")
        assert begins(node) == 1, "the reader holds all of it"
        await db.consumers.advance("reader", last)
        await until(node, lambda: begins(node) > 1, "trimmed")
        folder = node.storage.directory.path / "snap"
        oldest = snapshot_files(folder)[0]
        assert reader.index < begins(node) <= min(oldest.index, last) + 1
        assert verify_snapshot(oldest.path).start.index == oldest.index
        with pytest.raises(WrongOperation, match="a backup or an archive, not 'nonsense'"):
            await db.consumers.register("other", "nonsense")
        assert (await db.consumers.register("other", "backup")).kind is ConsumerKind.BACKUP
        member = str(await db.info("uuid"))
        with pytest.raises(WrongOperation, match="is the directory of a member: the leader moves"):
            await db.consumers.register(member)
        await db.consumers.drop("other")
        await db.consumers.drop("reader")
        logs = node.storage.directory.path / "log"
        await until(node, lambda: segment_numbers(logs)[0] > 1, "its files are gone")
        with pytest.raises(Compacted, match=f"the log begins at {begins(node)}") as refused:
            await db.watch("big", after=1).poll()
        assert refused.value.details["first"] == begins(node)
        with pytest.raises(Compacted):
            await db.log(1)
        assert await db.space("big").count() == KEYS
    async with running(tmp_path, **SMALL) as node, qsync.connect_async(node.address) as db:
        assert begins(node) > 1
        assert await db.space("big").count() == KEYS


async def test_a_snapshot_for_which_there_is_no_room_is_told_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile nothing is trimmed, nothing half is left, and writes go on."""
    monkeypatch.setattr(retention, "RETRY_SECONDS", 0.0)
    whole = snapfiles.write_frame
    is_full = True

    def write_frame(file: BinaryIO, content: bytes) -> None:
        if is_full:
            file.write(content[:7])
            raise OSError(errno.ENOSPC, "no room")
        whole(file, content)

    monkeypatch.setattr(snapfiles, "write_frame", write_frame)
    async with running(tmp_path, **SMALL) as node:
        await write(node, ROWS)
        await until(node, lambda: node.timeline.counts["snapshot_failed"] >= 1, "it failed")
        assert "no room" in (node.retained.snapshot_error or "")
        assert node.retained.holds[0].kind is HoldKind.SNAPSHOT
        await write(node, 1)
        assert begins(node) == 1
        is_full = False
        await until(node, lambda: begins(node) > 1, "written, and trimmed")
        assert node.retained.snapshot_error is None
        folder = node.storage.directory.path / "snap"
        assert {each.suffix for each in folder.iterdir()} == {snapfiles.SUFFIX}


async def test_a_log_that_cannot_be_trimmed_is_trimmed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is on disk is more than is needed; that does no harm."""
    monkeypatch.setattr(retention, "TRIM_RETRY_DELAY", 0.01)
    async with running(tmp_path, **SMALL) as node:
        whole, tries = node.storage.log.trim, 0

        def trim(start: LogStart) -> None:
            nonlocal tries
            tries += 1
            if tries < 3:
                raise DiskFull("no room for where it begins")
            whole(start)

        monkeypatch.setattr(node.storage.log, "trim", trim)
        await write(node, ROWS)
        await until(node, lambda: begins(node) > 1, "trimmed")
        assert node.timeline.counts["trim_failed"] == 1
        await until(node, lambda: node.retained.trim_error is None, "it is well again")
        assert tries == 3
