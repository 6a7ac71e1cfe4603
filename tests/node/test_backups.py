"""A running node is backed up while it is written to, and a new cluster is made of the backup."""

import functools
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

import qsync
from admin.backup import (
    Backups,
    archiving,
    catalogue,
    new_cluster,
    points,
    restoring,
    taking,
    verifying,
)
from admin.backup.archiving import Archiver, ArchivingOptions
from admin.backup.failures import (
    BackupDamaged,
    BackupGap,
    BackupKeyRefused,
    BackupPlaceLost,
)
from admin.backup.new_cluster import NewNode
from admin.backup.places import Folder
from admin.backup.points import WantedPoint
from admin.backup.taking import TakingOptions
from election.messages import Index
from qsync.client.one_node import NodeConnection
from qsync.config import NodeConfig
from qsync.consumer import NAME_CHARACTERS_MAX
from qsync.core.generation import generation_of
from qsync.data import consumers
from qsync.errors import Compacted, ConfigError, Overloaded, SnapshotLost
from qsync.node.node import Node, open_node
from qsync.node.snapshot_export import PIECE_BYTES_MAX, READERS_MAX
from qsync.status import decode
from qsync.store.snapfiles import SNAPSHOTS, snapshot_files
from qsync.wire.verbs import LogRequest, SnapshotReadRequest
from tests.live import real
from tests.node import three
from tests.node.test_fault_hooks import aside
from tests.node.test_rot import ROWS, fill, running, spoil, value
from tests.node.test_trimmed_log import lived, trim, trim_to, written_snapshot

SMALL = TakingOptions(part_bytes=4000)


class Dying(Folder):
    """A place that is lost after so many writes."""

    def __init__(self, path: Path, writes: int) -> None:
        super().__init__(path)
        self.left = writes
        self.written: list[str] = []

    def write(self, name: str, content: bytes) -> None:
        self._count(name)
        super().write(name, content)

    def write_new(self, name: str, content: bytes) -> bool:
        self._count(name)
        return super().write_new(name, content)

    def _count(self, name: str) -> None:
        if not self.left:
            raise BackupPlaceLost("the cable was pulled")
        self.left -= 1
        self.written.append(name)


async def is_restored(place: Folder, path: Path, rows: int, wanted: WantedPoint) -> NodeConfig:
    """As a cluster of its own that takes writes."""
    quick = {"election.timeout": "300ms", "replication.timeout": "100ms"}
    node = NewNode(directory=path, options={"listen": "127.0.0.1:0", **quick})
    found = await aside(lambda: catalogue.load(place))
    plan, _ = await aside(lambda: restoring.restore(found, wanted, node, lambda *_: None))
    config = NodeConfig.load(path / "node.yaml", {})
    async with open_node(config) as again, qsync.connect_async(again.address) as db:
        assert await db.space("t").count() == rows
        assert await db.space("t").get(7) == [7, value(7)]
        receipt = await db.space("t").replace([7, "of the new cluster"])
        assert receipt.index > plan.index
        assert generation_of(receipt.term) == plan.generation == 1
        members = await db.space("_cluster").select()
        assert [row[:2] for row in members] == [[1, again.identity.instance]]
    return config


async def test_a_backup_becomes_a_cluster_of_its_own(tmp_path: Path) -> None:
    place = Folder(tmp_path / "backups")
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        await fill(node)
        made = await aside(lambda: taking.take_backup(place, [node.address], SMALL))
        assert len(made.parts) == 3
        confirmed = node.replica.machine.replicated_log.confirmed
        assert made.index <= made.last <= confirmed
        await db.space("t").replace([ROWS, "later"])
        second = await aside(lambda: taking.take_backup(place, [node.address], SMALL))
        assert second.index > made.index
        old = node.identity
    result = verifying.verify(catalogue.load(place), lambda *_: None)
    assert (result.whole, result.backups) == (True, 2)
    first = WantedPoint(index=made.last)
    config = await is_restored(place, tmp_path / "first", ROWS, first)
    assert config.cluster.id != old.cluster
    await is_restored(place, tmp_path / "newest", ROWS + 1, WantedPoint())
    again = NodeConfig.load(tmp_path / "newest" / "node.yaml", {})
    async with open_node(again) as node, qsync.connect_async(node.address) as db:
        assert await db.space("t").get(7) == [7, "of the new cluster"], "after a restart, too"


async def test_a_backup_that_was_cut_off_goes_on_where_it_was(tmp_path: Path) -> None:
    """Not with what is damaged, and there is no backup before all of it is there."""
    async with running(tmp_path) as node:
        await fill(node)
        dying = Dying(tmp_path / "backups", writes=5)
        with pytest.raises(BackupPlaceLost):
            await aside(lambda: taking.take_backup(dying, [node.address], SMALL))
        place = Folder(tmp_path / "backups")
        found = catalogue.load(place)
        (unfinished,) = found.unfinished
        assert not found.backups
        async with qsync.connect_async(node.address) as db:
            await db.space("t").replace([ROWS, "later"])
        said: list[str] = []
        options = TakingOptions(part_bytes=4000, say=said.append)
        counted = Dying(tmp_path / "backups", writes=1000)
        made = await aside(lambda: taking.take_backup(counted, [node.address], options))
        assert (made.index, said[-1]) == (
            unfinished,
            f"goes on with the backup at index {made.index}",
        )
        copied = [name for name in counted.written if name.endswith(".rows")]
        assert copied == [each.name for each in made.parts[2:]], "two were there"
        assert counted.written[-1].endswith("backup.json")
        assert verifying.verify(catalogue.load(place), lambda *_: None).whole


async def test_parts_that_another_backup_removed_are_missed_before_the_end(
    tmp_path: Path,
) -> None:
    class Shared(Folder):
        def write(self, name: str, content: bytes) -> None:
            super().write(name, content)
            if name.endswith("000002.rows"):
                self.remove(name)

    async with running(tmp_path) as node:
        await fill(node)
        place = Shared(tmp_path / "backups")
        with pytest.raises(BackupDamaged, match="was removed while the backup was made"):
            await aside(lambda: taking.take_backup(place, [node.address], SMALL))
        assert catalogue.load(place).backups == []


async def test_parts_that_were_damaged_before_the_end_are_begun_anew(tmp_path: Path) -> None:
    """Further into a part than what is compared at once."""
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        await db.schema.create_space("t", format=[("id", "unsigned"), ("v", "string")])
        await db.space("t").insert([1, "x" * 700_000])
        await db.space("t").insert([2, "with it comes that the first is confirmed"])
        dying, place = Dying(tmp_path / "backups", writes=4), Folder(tmp_path / "backups")
        with pytest.raises(BackupPlaceLost):
            await aside(lambda: taking.take_backup(dying, [node.address], TakingOptions()))
        (unfinished,) = catalogue.load(place).unfinished
        name = f"base/{unfinished:020}/000001.rows"
        content = place.read(name)
        place.write(name, content[:600_000] + b"y" + content[600_001:])
        with pytest.raises(BackupDamaged) as raised:
            await aside(lambda: taking.take_backup(place, [node.address], TakingOptions()))
        assert "the same command begins it anew" in raised.value.hint
        made = await aside(lambda: taking.take_backup(place, [node.address], TakingOptions()))
        assert made.index == unfinished
        assert verifying.verify(catalogue.load(place), lambda *_: None).whole


async def test_a_snapshot_that_is_cut_off_while_it_is_read_is_no_backup(tmp_path: Path) -> None:
    place = Folder(tmp_path / "backups")
    async with running(tmp_path) as node:
        await fill(node)

        def cut_off(what: str, done: int, _: int) -> None:
            if what == "rows":
                (file,) = snapshot_files(node.storage.directory.path / SNAPSHOTS)
                os.truncate(file.path, done)

        options = TakingOptions(part_bytes=4000, progress=cut_off)
        with pytest.raises(BackupDamaged, match="ends before its"):
            await aside(lambda: taking.take_backup(place, [node.address], options))
    found = catalogue.load(place)
    assert (found.backups, found.unfinished) == ([], [])


async def test_an_archive_whose_log_was_trimmed_begins_with_another_backup(
    tmp_path: Path,
) -> None:
    """And names what no log is kept of."""
    place, said = Folder(tmp_path / "backups"), list[str]()
    options = ArchivingOptions(taking=TakingOptions(say=said.append))
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        await fill(node)
        await aside(lambda: Archiver(place, [node.address], options).run(once=True))
        first = catalogue.load(place)
        for number in range(20):
            await db.space("t").replace([number, "after the archive ended"])
        await db.snapshot()  # all of it is folded
        begins = await trim(node)
        with pytest.raises(Compacted, match=f"the log begins at index {begins + 1} here"):
            await aside(lambda: log_of(node, begins))
        await db.space("t").replace([1, "later"])
        await aside(lambda: Archiver(place, [node.address], options).run(once=True))
    found = catalogue.load(place)
    assert any("another backup is made" in each for each in said)
    ((gap, end),) = points.gaps(found)
    assert gap == first.reach(first.backups[0]) + 1
    assert end < found.backups[-1].index
    with pytest.raises(BackupGap):
        restoring.plan(found, WantedPoint(index=gap))
    assert verifying.verify(found, lambda *_: None).whole


@pytest.mark.pure
async def test_an_archive_that_could_not_be_registered_asks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When it keeps more, not only a thousand entries later; a quiet cluster may take days."""
    said = list[str]()
    options = ArchivingOptions(taking=TakingOptions(say=said.append))
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        await fill(node)
        archiver = Archiver(Folder(tmp_path / "backups"), [node.address], options)
        with monkeypatch.context() as patch:
            patch.setattr(consumers, "CONSUMERS_MAX", 0)
            patch.setattr(archiving, "_CONNECT_S", 0.5)
            await aside(lambda: archiver.run(once=True))
        assert any("may trim its log" in each for each in said)
        assert await db.consumers.list() == []
        last = (await db.space("t").replace([1, "later"])).index
        await aside(lambda: archiver.run(once=True))
        (there,) = await db.consumers.list()
    assert (there.name, there.index >= last) == (archiver.name, True)


async def test_two_places_of_the_same_path_are_two_consumers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on two machines; and the place stays the same one if it is named in another way."""
    options = ArchivingOptions()
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        await fill(node)
        for machine in ("a", "b"):
            (tmp_path / machine).mkdir()
            monkeypatch.chdir(tmp_path / machine)
            archiver = Archiver(Folder(Path("backups")), [node.address], options)
            await aside(functools.partial(archiver.run, once=True))
        there = await db.consumers.list()
        long = Archiver(Folder(Path("x" * 999)), [node.address], options)
    assert [each.about for each in there] == ["backups"] * 2
    assert {each.name.rpartition(" ")[0] for each in there} == {"archive backups"}
    assert len(long.name) == NAME_CHARACTERS_MAX


async def test_an_archive_goes_on_behind_what_another_one_kept_of_a_trimmed_log(
    tmp_path: Path,
) -> None:
    """It was stopped for a while, such as with its machine: nothing is missing at the place."""
    place, said = Folder(tmp_path / "backups"), list[str]()
    options = ArchivingOptions(taking=TakingOptions(say=said.append))
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        await fill(node)
        late = Archiver(place, [node.address], options)
        await aside(lambda: late.run(once=True))
        for number in range(20):
            await db.space("t").replace([number, "the late one is stopped"])
        await db.snapshot()
        start = written_snapshot(node)
        await aside(lambda: Archiver(place, [node.address], options).run(once=True))
        trim_to(node, start)
        last = (await db.space("t").replace([1, "later"])).index
        assert late.log is not None
        with pytest.raises(Compacted):
            await aside(functools.partial(log_of, node, late.log.next))
        await aside(lambda: late.run(once=True))
    found = catalogue.load(place)
    assert not any("another backup is made" in each for each in said)
    (backup,) = found.backups
    assert found.reach(backup) >= last
    assert verifying.verify(found, lambda *_: None).whole


async def test_an_archive_asks_all_nodes_for_the_log_before_it_leaves_a_gap(
    tmp_path: Path,
) -> None:
    """Those that were sent a snapshot have none from before that, whoever needs it."""
    place, said = Folder(tmp_path / "backups"), list[str]()
    options = ArchivingOptions(taking=TakingOptions(say=said.append))
    # Nobody else is to lead: who lacks the log is asked first.
    configs = three.configs(tmp_path, election__timeout="20s", replication__timeout="1s")
    async with three.running(configs) as nodes:
        await three.until(lambda: bool(three.leaders(nodes)), "one leads")
        (leader,) = three.leaders(nodes)
        seeds = [each.address for each in nodes]
        await fill(leader)
        await aside(lambda: Archiver(place, seeds, options).run(once=True))
        first = catalogue.load(place)
        async with qsync.connect_async(leader.address) as db:
            for number in range(20):
                await db.space("t").replace([number, "after the archive ended"])
            last = int((await db.space("t").replace([20, "the last"])).index)
        for each in [each for each in nodes if each is not leader]:
            await has_folded(each, last)
            await trim(each)
        await aside(lambda: Archiver(place, seeds, options).run(once=True))
    found = catalogue.load(place)
    assert sum("another node is asked" in each for each in said) == 2
    assert (found.backups, points.gaps(found)) == (first.backups, [])
    assert found.reach(found.backups[0]) >= last
    assert verifying.verify(found, lambda *_: None).whole


async def has_folded(node: Node, last: int) -> None:
    await three.until(lambda: node.storage.spaces.folded >= last, "all of it is folded")


async def test_a_node_that_lost_its_rows_gives_no_backup_of_the_rest(tmp_path: Path) -> None:
    """They were flushed once, and neither its log nor a snapshot has them."""
    path, place = await lived(tmp_path), Folder(tmp_path / "backups")
    async with running(tmp_path, scrub_interval="100ms") as node:
        async with qsync.connect_async(node.address) as db:
            assert await db.snapshot() > node.replica.machine.replicated_log.log.start.index
            for each in snapshot_files(path / SNAPSHOTS):
                each.path.unlink()
            spoil(node, 123)
            await three.until(lambda: node.folding.error is not None, "the rows are lost")
            with pytest.raises(qsync.errors.QsyncError, match="the rows are lost"):
                await db.snapshot()
        with pytest.raises(qsync.errors.QsyncError, match="the rows are lost"):
            await aside(lambda: taking.take_backup(place, [node.address], SMALL))
    assert catalogue.load(place).backups == []


def log_of(node: Node, first: int) -> list[object]:
    with NodeConnection(node.address) as line:
        return line.ask(LogRequest(1, Index(first), 10, 1000))


async def test_a_snapshot_that_is_being_read_outlives_newer_ones(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        await fill(node)
        async with qsync.connect_async(node.address) as db:
            first = await db.snapshot()
            held = await aside(lambda: NodeConnection(node.address))
            asked = SnapshotReadRequest(1, Index(first), 0, 100)
            index, size, piece = await aside(lambda: held.ask(asked))
            assert (index, isinstance(piece, bytes) and len(piece)) == (first, 100)
            (reader,) = decode.status(await db.status()).gc.readers
            assert (reader.signature, reader.address) == (first, "127.0.0.1")
            assert (reader.bytes, reader.bytes_in_all) == (100, size)
            for number in range(4):
                await db.space("t").replace([0, value(number)])
                await db.snapshot()
        folder = node.storage.directory.path / SNAPSHOTS
        assert first not in {each.index for each in snapshot_files(folder)}
        rest = SnapshotReadRequest(2, Index(first), 100, PIECE_BYTES_MAX * 2)
        _, _, piece = await aside(lambda: held.ask(rest))
        assert isinstance(piece, bytes)
        assert len(piece) == min(int(str(size)) - 100, PIECE_BYTES_MAX)
        assert len(node.queries.snapshot_exports) == 1
        held.close()
        await aside(
            lambda: real.until(lambda: not len(node.queries.snapshot_exports), "it is let go")
        )
        with pytest.raises(SnapshotLost, match=f"no snapshot at index {first}"):
            await aside(lambda: read(node, first))


async def test_only_so_many_read_snapshots_at_a_time(tmp_path: Path) -> None:
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        await db.schema.create_space("t", format=[("id", "unsigned")])
        index = await db.snapshot()
        lines = [await aside(lambda: NodeConnection(node.address)) for _ in range(READERS_MAX)]
        try:
            asked = SnapshotReadRequest(1, Index(index), 0, 10)
            await aside(lambda: [line.ask(asked) for line in lines])
            with pytest.raises(Overloaded, match=f"{READERS_MAX} others read snapshots"):
                await aside(lambda: read(node, index))
        finally:
            for line in lines:
                line.close()


@pytest.mark.parametrize("behind", [0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
async def test_behind_the_end_of_a_snapshot_there_is_nothing(tmp_path: Path, behind: int) -> None:
    """Also where no file of any system has bytes: the node goes on."""
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        await db.schema.create_space("t", format=[("id", "unsigned")])
        index = await db.snapshot()
        _, size, _ = await aside(lambda: read(node, index))
        assert isinstance(size, int)
        offset = max(size, behind)
        assert await aside(lambda: read(node, index, offset=offset)) == [index, size, b""]
        await db.space("t").insert([1])


def read(node: Node, index: int, *, offset: int = 0) -> list[object]:
    with NodeConnection(node.address) as line:
        return line.ask(SnapshotReadRequest(1, Index(index), offset, 10))


def test_a_directory_that_is_not_empty_is_refused_before_anything_is_read(
    tmp_path: Path,
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    with pytest.raises(ConfigError, match=r"it holds thesis\.tex"):
        new_cluster.check_empty(tmp_path / "full")
    new_cluster.check_empty(tmp_path / "none")


async def test_programs_do_what_the_commands_do(tmp_path: Path) -> None:
    told: list[str] = []
    place = Backups(str(tmp_path / "backups"), key="a key of the place", say=told.append)
    async with running(tmp_path) as node:
        await fill(node)
        made = await aside(lambda: place.create(node.address, rate=100 << 20))
    assert told[0].startswith("taken from ")
    (listed,) = await aside(place.list)
    assert (listed.made, listed.reach) == (made, made.last)
    result = await aside(place.verify)
    assert (result.whole, result.rows) == (True, made.rows)
    with pytest.raises(BackupKeyRefused):
        await aside(Backups(place.place, key="another key of it").list)
    plan = await aside(lambda: place.plan_restore(to_time=datetime.now(UTC)))
    done, config = await aside(
        lambda: place.restore(tmp_path / "new", backup=made.index, listen="127.0.0.1:0")
    )
    assert (done.index, plan.index) == (made.last, made.last)
    assert config.cluster.id == NodeConfig.load(tmp_path / "new" / "node.yaml", {}).cluster.id
    assert (await aside(lambda: place.prune(keep_last=1))).backups == ()
    with pytest.raises(ConfigError, match="say what is kept"):
        place.prune()
    with pytest.raises(ConfigError, match="name two points"):
        place.plan_restore(to_index=1, to_time=datetime.now(UTC))
