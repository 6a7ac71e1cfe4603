"""What a node has stored is what its log makes of it, also where whole spaces went."""

from pathlib import Path

import trio

import qsync
from admin.evidence import rows
from admin.evidence.replays import compared
from admin.evidence.tables import SNAPSHOT
from election.messages import Index
from qsync.node.assembly import found_cluster, open_storage
from qsync.node.node import open_node
from qsync.record import Entry
from tests.node.test_events import config

FIELDS = [("id", "unsigned"), ("n", "unsigned")]


async def lived(path: Path) -> None:
    """Spaces are truncated, dropped, and lose their primary index; one keeps its rows."""
    with trio.fail_after(60):
        mine = config(path)
        found_cluster([mine])
        async with open_node(mine) as node, qsync.connect_async(node.address) as db:
            for name in ("kept", "emptied", "bare", "gone"):
                await db.schema.create_space(name, format=FIELDS, is_sync=True)
                await db.space(name).replace([1, 1])
                await db.schema.create_index(name, "by n", parts=["n"], unique=False)
                await db.space(name).replace([2, 1])
            await db.space("emptied").truncate()
            await db.space("emptied").replace([3, 1])
            await db.schema.drop_index("bare", "by n")
            await db.schema.drop_index("bare", "primary")
            await db.schema.drop_index("kept", "by n")
            await db.schema.drop_space("gone")


def test_of_what_went_as_a_whole_nothing_is_left_in_either(tmp_path: Path) -> None:
    trio.run(lived, tmp_path)
    storage = open_storage(config(tmp_path))

    def entries() -> list[Entry]:
        batches = storage.log.batches(Index(1), storage.log.last, bytes_max=1 << 20)
        return [each for batch in batches for each in rows.entries_of(batch.raw)]

    try:
        found = compared(1, entries, storage.spaces)
    finally:
        storage.close()
    stored = {each["space"]: each["digest"] for each in found if each["made"] == SNAPSHOT}
    alone = {each["space"]: each["digest"] for each in found if each["made"] != SNAPSHOT}
    assert {"kept", "emptied", "bare"} < stored.keys()
    assert stored == alone
    assert len({stored[name] for name in ("kept", "emptied", "bare")}) == 3
