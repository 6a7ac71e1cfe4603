"""A node whose log was damaged while it was stopped starts, with what it can trust."""

from pathlib import Path

import qsync
from tests.node.test_fault_hooks import running


def harm(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[data.index(b"fills segments") + 5] ^= 1
    file.write_bytes(bytes(data))


async def test_damage_of_entries_that_are_in_rows_is_noticed_at_the_start(tmp_path: Path) -> None:
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        for number in range(40):
            await db.space("t").replace([number, "a value that fills segments " * 1500])
        folder = node.storage.directory.path / "log"
    first, *later = sorted(folder.glob("*.log"))
    assert later
    harm(first)
    async with running(tmp_path):
        (why,) = folder.parent.glob("log.damaged-*/why.txt")
        assert "a checksum that does not hold" in why.read_text()
