"""The directory of a running node is taken away: the node acks nothing more, says so, and lives."""

import shutil
from pathlib import Path

import pytest
import trio

import qsync
from qsync.errors import OutcomeUnknown, QsyncError
from tests.live import real
from tests.node.test_fault_hooks import aside, running, sample


@pytest.mark.parametrize("replaced", [False, True], ids=["removed", "replaced"])
async def test_nothing_is_acked_from_a_directory_that_was(tmp_path: Path, replaced: bool) -> None:
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        await db.space("t").insert([1])
        directory = node.storage.directory.path
        if replaced:
            shutil.copytree(directory, tmp_path / "copy", ignore=shutil.ignore_patterns("*.sock"))
            directory.rename(tmp_path / "original")
            (tmp_path / "copy").rename(directory)
        else:
            shutil.rmtree(directory)
        await aside(lambda: real.until(lambda: node.storage.gone is not None, "it is noticed"))
        assert "000000000001.log" in str((await sample(node)).disk.error)
        with pytest.raises(QsyncError) as refused, trio.fail_after(20):
            await db.space("t").insert([2], timeout=1)
        assert isinstance(refused.value, OutcomeUnknown) or refused.value.retryable
        assert "000000000001.log" in str((await sample(node)).disk.error)
        assert await db.space("t").get(1, consistency="local") == [1]
        assert await db.space("t").get(2, consistency="local") is None
    assert (directory / "log").exists() is replaced
