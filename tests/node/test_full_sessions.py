"""A client whose session keeps as many outcomes as it may goes on writing."""

from pathlib import Path

import pytest
import trio

import qsync
from qsync.client.aio import AsyncClient
from qsync.wire.verbs import WriteFlags, WriteRequest

KEPT = 8


def config(path: Path) -> Path:
    """A node on its own that keeps few outcomes of a session."""
    file = path / "node.yaml"
    file.write_text(
        f"node: {{id: 1, name: n1, dir: {path / 'data'}}}\nlisten: 127.0.0.1:0\n"
        "election: {timeout: 300ms}\nreplication: {timeout: 100ms}\n"
        f"limits: {{session_outcomes_max: {KEPT}}}\n",
        "utf-8",
    )
    return file


def leave_unresolved(db: AsyncClient) -> None:
    """As after a write with an unknown outcome, which may be retried."""
    numbering = db._core.numbering
    numbering.keep(numbering.assign(WriteRequest(0, b"", 0, 0, WriteFlags.NONE, [[6, "t"]])))


@pytest.mark.parametrize("unresolved", [False, True])
async def test_many_writes_at_once_and_in_turn_fit_through_a_small_session(
    tmp_path: Path, unresolved: bool
) -> None:
    with trio.fail_after(20):
        async with (
            qsync.Node(config(tmp_path), found=True) as node,
            qsync.connect_async(node.address, timeout=5.0) as db,
        ):
            await db.schema.create_space("t", format=[("id", "unsigned")])
            if unresolved:
                leave_unresolved(db)
            async with trio.open_nursery() as nursery:
                for key in range(4 * KEPT):
                    nursery.start_soon(db.space("t").insert, [key])
            for key in range(4 * KEPT, 6 * KEPT):
                await db.space("t").insert([key])
            assert await db.space("t").count() == 6 * KEPT
