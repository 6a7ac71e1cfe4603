"""A node embedded in a Trio program."""

from pathlib import Path

import pytest
import trio

import qsync
from qsync.errors import ConfigError, DirectoryLocked


def config(path: Path) -> Path:
    """A node on its own, at a free port."""
    file = path / "node.yaml"
    file.write_text(
        f"node: {{id: 1, name: n1, dir: {path / 'data'}}}\nlisten: 127.0.0.1:0\n"
        "election: {timeout: 300ms}\nreplication: {timeout: 100ms}\n",
        "utf-8",
    )
    return file


async def test_an_embedded_node_serves_while_its_block_runs(tmp_path: Path) -> None:
    with trio.fail_after(20):
        for turn in range(2):
            async with (
                qsync.Node(config(tmp_path), found=True) as node,
                qsync.connect_async(node.address) as db,
            ):
                if not turn:
                    await db.schema.create_space("t", format=[("id", "unsigned")])
                await db.space("t").insert([turn])
                assert await db.space("t").count() == turn + 1
                assert node.leads


async def test_a_directory_is_for_one_node_and_free_again_after_its_block(tmp_path: Path) -> None:
    with trio.fail_after(20):
        async with qsync.Node(config(tmp_path), found=True):
            with pytest.raises(DirectoryLocked):
                async with qsync.Node(config(tmp_path), found=True):
                    raise AssertionError
        async with qsync.Node(str(config(tmp_path)), found=True) as node:
            assert node.peers == ["127.0.0.1:0"]


def test_outside_of_its_block_it_has_no_address(tmp_path: Path) -> None:
    node = qsync.Node(config(tmp_path), found=True)
    with pytest.raises(RuntimeError, match="async with"):
        _ = node.address


async def test_an_error_of_the_block_is_told_as_it_is(tmp_path: Path) -> None:
    with trio.fail_after(20), pytest.raises(ZeroDivisionError):
        async with qsync.Node(config(tmp_path), found=True):
            _ = 1 / 0


async def test_an_empty_directory_is_founded_only_when_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="found the cluster first"):
        async with qsync.Node(config(tmp_path)):
            raise AssertionError
