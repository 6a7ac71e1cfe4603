"""`qsync log` shows the names of spaces, of a node that runs and of one that was stopped."""

from pathlib import Path

import pytest
import trio

import qsync
from cli.main import run
from qsync.node.assembly import found_cluster
from qsync.node.node import open_node
from qsync.store.environment import FILE
from tests.node.test_events import config

TAIL = ["log", "tail", "--count", "4"]
"""Too few to reach the definition of the space."""


async def written(path: Path) -> int:
    """Of a node that is asked for the end of its log before it stops: the exit code."""
    mine = config(path)
    found_cluster([mine])
    with trio.fail_after(60):
        async with open_node(mine) as node, qsync.connect_async(node.address) as db:
            await db.schema.create_space("pets", format=[("id", "unsigned")], is_sync=True)
            for number in range(9):
                await db.space("pets").replace([number])
            return await trio.to_thread.run_sync(run, [*TAIL, node.address])


def test_a_running_node_and_its_directory_name_the_spaces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert trio.run(written, tmp_path) == 0
    running = capsys.readouterr().out
    assert run([*TAIL, str(tmp_path / "data")]) == 0
    for shown in (running, capsys.readouterr().out):
        assert " pets [8]\n" in shown
        assert "_space" not in shown


def test_a_log_is_shown_also_where_the_rows_beside_it_are_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trio.run(written, tmp_path)
    capsys.readouterr()
    (tmp_path / "data" / "data" / FILE).write_bytes(b"no database" * 1000)
    assert run([*TAIL, str(tmp_path / "data")]) == 0
    said = capsys.readouterr()
    assert " space 512 [8]\n" in said.out
    assert "shown by number, as the rows cannot be read: " in said.err
