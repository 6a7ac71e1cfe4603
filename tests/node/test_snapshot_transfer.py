"""A node that lacks what no log has any more takes a snapshot from its leader, and goes on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

import qsync
from admin.backup.rows import frames_of
from admin.cluster import ask
from election.messages import Index
from qsync.client.async_.database import AsyncDatabase
from qsync.config import NodeConfig
from qsync.core.trimming import start_at
from qsync.node.node import Node, open_node
from qsync.store import snapshot
from qsync.store.receiving import INCOMING, ReceivedSnapshot
from qsync.store.segments.beginning import BEGINNING
from qsync.store.snapfiles import SNAPSHOTS, snapshot_files
from qsync.store.spaces import SpaceStore
from qsync.wire.verbs import PromoteRequest
from tests.live import real
from tests.node import three as three_nodes
from tests.node.test_backups import has_folded
from tests.node.test_fault_hooks import aside
from tests.node.test_retention import until as retention_looks
from tests.node.test_trimmed_log import trim

ROWS = 60
LOW, HIGH = b"\0", b"\xff" * 8


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "CHUNK_BYTES", 500)


def patient(path: Path) -> list[NodeConfig]:
    """Of three nodes whose rows are folded soon, and of which nobody else is to lead."""
    return three_nodes.configs(
        path, store__fold_interval="5ms", election__timeout="20s", replication__timeout="1s"
    )


@asynccontextmanager
async def two_of_three(path: Path) -> AsyncIterator[tuple[list[Node], NodeConfig]]:
    """Two nodes with rows whose logs were trimmed while the third was away; its configuration."""
    found = patient(path)
    with trio.fail_after(60):
        async with open_node(found[0]) as first, open_node(found[1]) as second:
            nodes = [first, second]
            await lead(first)
            async with qsync.connect_async([node.address for node in nodes]) as db:
                last = await fill(db)
                for node in nodes:
                    # That an entry is confirmed stands in the next one; the last has none yet.
                    await has_folded(node, last - 1)
                    await trim(node)
                yield nodes, found[2]


async def fill(db: AsyncDatabase) -> int:
    """All the rows; the index of the last one."""
    await db.schema.create_space("t", format=[("id", "unsigned"), ("v", "string")])
    receipts = [await db.space("t").insert([number, "v" * 30]) for number in range(ROWS)]
    return int(receipts[-1].index)


async def lead(node: Node) -> None:
    """Node 1, at once: the two may each have campaigned before the other one was there."""
    await three_nodes.until(lambda: three_nodes.link(node, 2) == "up", "it can ask for a vote")
    await aside(lambda: ask.value(node.address, PromoteRequest(1, 20.0), timeout=20))


async def same(nodes: list[Node]) -> None:
    """All have the same rows, folded."""

    def are_equal() -> bool:
        logs = [node.replica.machine.replicated_log.log for node in nodes]
        if not all(log.start.index for log in logs) or any(
            node.replica.lost is not None for node in nodes
        ):
            return False
        return len({node.replica.state.digests()["t"] for node in nodes}) == 1

    await aside(lambda: real.until(are_equal, "all have the same rows"))


async def test_a_snapshot_file_that_rotted_is_not_sent(tmp_path: Path) -> None:
    """The damage is reported, and the rows themselves are sent instead."""
    async with two_of_three(tmp_path) as (nodes, config):
        for node in nodes:
            (file,) = snapshot_files(node.storage.directory.path / "snap")
            rotten = bytearray(file.path.read_bytes())
            rotten[len(rotten) // 2] ^= 1
            file.path.write_bytes(rotten)
        async with open_node(config) as third:
            await same([*nodes, third])
            assert third.timeline.counts["snapshot_installed"] == 1
            assert sum(node.timeline.counts["snapshot_damaged"] for node in nodes) == 1


async def test_a_node_that_was_away_takes_a_snapshot(tmp_path: Path) -> None:
    async with two_of_three(tmp_path) as (nodes, config), open_node(config) as third:
        await aside(
            lambda: real.until(
                lambda: third.replica.machine.replicated_log.log.start.index > 0, "it begins there"
            )
        )
        await same([*nodes, third])
        async with qsync.connect_async([node.address for node in nodes]) as db:
            await db.space("t").replace([1, "after"])
        await same([*nodes, third])
        assert third.timeline.counts["snapshot_installed"] == 1
        assert third.timeline.counts["spaces_installed"] == 1
        assert third.folding.care.rebuilds == 0, "nothing was wrong with its rows"
        (file,) = snapshot_files(tmp_path / "n3" / "snap")
        assert sum(node.timeline.counts["snapshot_sent"] for node in nodes) == 1
    async with open_node(config) as third:
        assert third.storage.log.start.index == file.index
        assert third.replica.state.count("t", 0, "all", []) == ROWS


async def test_snapshots_that_are_too_many_go_when_one_of_the_leader_comes(tmp_path: Path) -> None:
    """Also on a node that writes none of its own meanwhile."""
    found = patient(tmp_path)
    async with open_node(found[0]) as first, open_node(found[1]) as second:
        nodes = [first, second]
        await lead(first)
        async with qsync.connect_async([node.address for node in nodes]) as db:
            async with open_node(found[2]) as third:
                last = await fill(db)
                for _ in range(2):
                    await has_folded(third, last - 1)
                    await trim(third)
                    last = int((await db.space("t").replace([1, "once more"])).index)
            folder = tmp_path / "n3" / SNAPSHOTS
            kept = third.replica.machine.config.checkpoint_count
            before = [each.index for each in snapshot_files(folder)]
            assert len(before) == kept == 2
            for number in range(3):
                last = int((await db.space("t").replace([number, "without it"])).index)
            for node in nodes:
                await has_folded(node, last - 1)
                await trim(node)
        async with open_node(found[2]) as third:
            await same([*nodes, third])
            assert third.timeline.counts["snapshot_installed"] == 1
            await retention_looks(third, lambda: len(snapshot_files(folder)) == kept, "they went")
            after = [each.index for each in snapshot_files(folder)]
            assert after[0] == before[-1] < after[1] == third.storage.log.start.index


def half_received(config: NodeConfig, sender: Node) -> tuple[Index, int]:
    """The first half of a snapshot comes to a node that stops then: its index, and bytes."""
    if found := snapshot_files(sender.storage.directory.path / SNAPSHOTS):
        head, *made = frames_of([found[-1].path.read_bytes()])
    else:
        head, *made = rows_of(sender)
    directory = Path(config.node.dir)
    spaces = SpaceStore(directory / "data")
    received = ReceivedSnapshot(spaces, directory / SNAPSHOTS, snapshot.decode_head(head).alone())
    for chunk in made[: len(made) // 2]:
        received.take_chunk(chunk)
    received.close()
    spaces.close()
    assert remains(directory)
    assert received.bytes_taken > 1000
    return received.head.start.index, received.bytes_taken


def rows_of(node: Node) -> list[bytes]:
    """Head and chunks of a node's folded rows."""
    storage, replicated_log = node.storage, node.replica.machine.replicated_log
    storage.spaces.sync()
    view = storage.spaces.view()
    start = start_at(replicated_log, view.folded)
    made = [each.encode() for each in snapshot.chunks(view)]
    head = snapshot.SnapshotHead(start=start, sums=view.sums)
    view.close()
    return [head.encode(), *made]


def remains(directory: Path) -> list[str]:
    """What is there of a snapshot that came in part."""
    found = [*directory.glob("data.new"), *(directory / SNAPSHOTS).glob(f"*{INCOMING}")]
    return [each.name for each in found]


async def test_a_snapshot_that_came_in_part_goes_when_the_log_has_brought_its_entry(
    tmp_path: Path,
) -> None:
    found = patient(tmp_path)
    with trio.fail_after(60):
        async with open_node(found[0]) as first, open_node(found[1]):
            await lead(first)
            async with qsync.connect_async(first.address) as db:
                last = await fill(db)
            await has_folded(first, last - 1)
            index, _ = half_received(found[2], first)
            async with open_node(found[2]) as third:
                own = third.replica.machine.replicated_log
                await aside(lambda: real.until(lambda: own.confirmed >= index, "the log came"))
                gone = lambda: not remains(tmp_path / "n3")  # noqa: E731 - to be waited for
                await aside(lambda: real.until(gone, "it is removed"))
                assert third.timeline.counts["snapshot_installed"] == 0
                assert third.transfers.receiver.received is None
            half_received(found[2], first)
            async with open_node(found[2]):
                assert not remains(tmp_path / "n3"), "at a start, too"


async def test_a_snapshot_that_came_in_part_is_continued(tmp_path: Path) -> None:
    async with two_of_three(tmp_path) as (nodes, config):
        assert nodes[0].replica.machine.replicated_log.log.start.index
        index, came = half_received(config, nodes[0])
        async with open_node(config) as third:
            await same([*nodes, third])
            assert third.replica.machine.replicated_log.log.start.index == index
            assert not remains(tmp_path / "n3")
        events = [each for node in nodes for each in node.timeline.latest(1000)]
        (sent,) = [each["bytes"] for each in events if each["event"] == "snapshot_sent"]
        (file,) = snapshot_files(tmp_path / "n3" / SNAPSHOTS)
        assert isinstance(sent, int)
        assert sent + came < file.path.stat().st_size + 500


async def test_a_node_with_a_damaged_log_takes_a_snapshot_and_counts_again(tmp_path: Path) -> None:
    """Its log is set aside; what it has in DIR/snap is replaced by what the leader sends."""
    async with two_of_three(tmp_path) as (nodes, config):
        async with open_node(config) as third:
            await same([*nodes, third])
        begin = tmp_path / "n3" / "log" / BEGINNING
        text = begin.read_bytes()
        begin.write_bytes(text[:-1] + bytes([text[-1] ^ 1]))
        async with open_node(config) as third:
            assert "does not verify" in (third.storage.quarantined or "")
            await same([*nodes, third])
            counts = lambda: third.replica.machine.state.counts  # noqa: E731 - to be waited for
            await aside(lambda: real.until(counts, "it counts again"))
            assert third.timeline.counts["snapshot_installed"] == 1
