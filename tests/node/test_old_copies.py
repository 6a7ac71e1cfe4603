"""A follower of three whose directory is put back to what it was, on real disks (M7 c)."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import qsync
from qsync.config import NodeConfig
from qsync.life import DirectoryCopied
from qsync.node.assembly import WhoseFiles, open_storage
from qsync.node.node import Node, open_node
from qsync.node.status import status
from qsync.status import health
from qsync.store import eventfile
from tests.node import three


def why_aside(directory: Path) -> str:
    """Why its log was set aside."""
    (why,) = directory.glob("log.*/why.txt")
    return why.read_text()


@asynccontextmanager
async def settled(configs: list[NodeConfig], rows: int) -> AsyncIterator[list[Node]]:
    """All three run, and have written one more row."""
    async with three.running(configs) as nodes:
        await three.until(lambda: bool(three.leaders(nodes)), "somebody leads")
        await three.until(
            lambda: three.link(nodes[0], 2) == three.link(nodes[2], 2) == "up",
            "the others have heard of the life of n2",
        )
        async with qsync.connect_async([each.address for each in nodes]) as db:
            await db.schema.create_space("t", is_sync=True, if_not_exists=True)
            await db.space("t").insert([rows])
        yield nodes


async def test_an_old_copy_counts_for_nothing_and_joins_as_a_new_instance(tmp_path: Path) -> None:
    configs = three.configs(
        tmp_path, election__timeout="200ms", replication__timeout="50ms", node__events="true"
    )
    mine, kept = Path(configs[1].node.dir), tmp_path / "kept"
    async with settled(configs, 1):
        pass
    shutil.copytree(mine, kept)
    async with settled(configs, 2):
        pass
    shutil.rmtree(mine)
    shutil.copytree(kept, mine)
    with pytest.raises(DirectoryCopied):
        open_storage(configs[1])
    async with three.running([configs[0], configs[2]]) as others:
        await three.until(lambda: bool(three.leaders(others)), "the other two go on")
        # As a snapshot of the volume would be: the files are those that were made there.
        async with open_node(configs[1], files=WhoseFiles.MOVED) as old:
            before = old.identity.instance
            await three.until(lambda: status(old).status == "old_copy", "it hears of that")
            told = status(old)
            assert str(health.unsound(told)).startswith("old copy: n2 runs on an old copy")
            assert "in life" in str(told.old_copy)
            assert not any(link.status == "up" for link in old.links.links.values())
        async with open_node(configs[1]) as renewed:
            assert len(eventfile.lives(mine)) == 1, "what was before is as old as the copy"
            assert renewed.identity.instance != before
            assert status(renewed).old_copy == told.old_copy
            await three.until(lambda: status(renewed).standing == "voter", "it has its place back")
            assert status(renewed).old_copy is None
    assert "an old copy of" in why_aside(mine)
