"""Rows rot under a running node: it serves none, rebuilds all from its log, and keeps running."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest
import trio

import qsync
from qsync.config import NodeConfig
from qsync.errors import QsyncError
from qsync.node.assembly import found_cluster
from qsync.node.node import Node, open_node
from qsync.store.directory import is_formatted
from tests.live import real
from tests.node.test_fault_hooks import aside
from tests.unit.test_rot import flip

ROWS = 200


def config(path: Path, **store: str) -> NodeConfig:
    options = "".join(f", {name}: {value}" for name, value in store.items())
    return NodeConfig.loads(
        f"node: {{id: 1, name: n1, dir: {path / 'data'}}}\nlisten: 127.0.0.1:0\n"
        "election: {timeout: 300ms}\nreplication: {timeout: 100ms}\n"
        f"store: {{fold_interval: 5ms{options}}}\n"
    )


def value(number: int) -> str:
    return f"value-{number:05}"


@asynccontextmanager
async def running(path: Path, **store: str) -> AsyncIterator[Node]:
    with trio.fail_after(40):
        mine = config(path, **store)
        if not is_formatted(mine.node.dir):
            found_cluster([mine])
        async with open_node(mine) as node:
            yield node


async def fill(node: Node) -> None:
    """Rows in one space, all of them folded."""
    async with qsync.connect_async(node.address) as db:
        await db.schema.create_space("t", format=[("id", "unsigned"), ("v", "string")])
        for number in range(ROWS):
            await db.space("t").insert([number, value(number)])
    await aside(lambda: real.until(lambda: node.replica.raw.overlay_rows == 0, "all is folded"))


def spoil(node: Node, number: int) -> None:
    """Wherever it is: pages that are free still hold what they held."""
    file = node.storage.directory.path / "data" / "data.mdb"
    for found in re.finditer(value(number).encode(), file.read_bytes()):
        flip(file, found.start() + 7)


async def whole(node: Node) -> None:
    """Rebuilt, and every row is there."""
    await aside(lambda: real.until(lambda: node.folding.care.rebuilds == 1, "rows are made anew"))
    async with qsync.connect_async(node.address) as db:
        assert await db.space("t").select() == [[n, value(n)] for n in range(ROWS)]
        await db.space("t").insert([ROWS, "after"])
    assert node.timeline.counts["spaces_lost"] == node.timeline.counts["spaces_rebuilt"] == 1
    assert node.replica.lost is None


@pytest.mark.parametrize("consistency", ["local", "lease", "linearizable"])
async def test_a_row_that_rotted_is_never_served(
    tmp_path: Path, consistency: Literal["local", "lease", "linearizable"]
) -> None:
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        await fill(node)
        spoil(node, 123)
        try:
            row = await db.space("t").get(123, consistency=consistency)
        except QsyncError as error:
            assert error.retryable  # noqa: PT017 - or else the client has waited for the right row
        else:
            assert row == [123, value(123)]
        await whole(node)


async def test_a_write_that_reads_a_rotten_row_changes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        await fill(node)
        spoil(node, 50)
        await db.space("t").update(50, [("=", "v", "new")])
        await aside(lambda: real.until(lambda: node.folding.care.rebuilds == 1, "made anew"))
        assert await db.space("t").get(50) == [50, "new"]
        assert await db.space("t").count() == ROWS


async def test_rot_that_nobody_reads_is_found_by_looking_at_all_rows(tmp_path: Path) -> None:
    async with running(tmp_path, scrub_interval="100ms") as node:
        await fill(node)
        spoil(node, 77)
        await whole(node)
        scrubs = node.folding.care.scrubs
        await aside(lambda: real.until(lambda: node.folding.care.scrubs > scrubs, "a clean look"))


async def test_rot_that_came_while_the_node_was_stopped_is_mended_before_it_serves(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as node:
        await fill(node)
    spoil(node, 123)
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        assert await db.space("t").get(123) == [123, value(123)]
        assert node.timeline.counts["spaces_rebuilt"] == 1


async def test_rows_whose_directory_is_gone_are_made_anew(tmp_path: Path) -> None:
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        await fill(node)
        (node.storage.directory.path / "data").rename(tmp_path / "elsewhere")
        await db.space("t").replace([0, value(0)])
        await whole(node)
        assert (node.storage.directory.path / "data" / "data.mdb").exists()
