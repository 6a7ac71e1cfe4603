"""A node whose log does not begin with the first entry: rows that it lost come from a snapshot."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import qsync
from admin.checker.bundles import check_bundle
from admin.checker.kernels.configurations import QUORUMS as CONFIGURED
from admin.checker.kernels.disks import QUORUM
from admin.checker.kernels.logs.limbo import LEGAL
from admin.checker.kernels.logs.neighbours import TERMS
from admin.checker.replay.steps import ACKED
from admin.checker.verdict import Result
from admin.evidence import inside
from admin.evidence.collect import dump
from election.messages import Index
from qsync.core.logstart import LogStart
from qsync.core.trimming import start_at, trim_log
from qsync.node.assembly import open_storage
from qsync.node.node import Node, open_node
from qsync.store.snapfiles import SNAPSHOTS, snapshot_files, write_snapshot
from tests.live import real
from tests.node.test_fault_hooks import aside
from tests.node.test_rot import ROWS, config, fill, running, spoil, value

LATER = 50
"""Rows that are written after the log was trimmed."""


async def trim(node: Node) -> Index:
    """A snapshot of all that is folded, and then the log begins behind it."""
    start = written_snapshot(node)
    trim_to(node, start)
    return start.index


def written_snapshot(node: Node) -> LogStart:
    """Of all that is folded; where a log could begin behind it."""
    storage = node.storage
    storage.spaces.sync()
    view = storage.spaces.view()
    start = start_at(node.replica.machine.replicated_log, view.folded)
    write_snapshot(storage.directory.path / SNAPSHOTS, view, start)
    view.close()
    return start


def trim_to(node: Node, start: LogStart) -> None:
    """The log begins behind a snapshot."""
    trim_log(node.replica.machine.replicated_log, start)
    node.storage.log.trim(start)


async def lived(path: Path) -> Path:
    """A node's directory whose log was trimmed while the node ran, and went on."""
    async with running(path) as node, qsync.connect_async(node.address) as db:
        await fill(node)
        begins = await trim(node)
        assert begins > ROWS
        for number in range(LATER):
            await db.space("t").replace([ROWS + number, value(number)])
        assert await db.space("t").count() == ROWS + LATER
        assert node.storage.log.start.index == begins
        return node.storage.directory.path


async def is_whole(node: Node) -> None:
    async with qsync.connect_async(node.address) as db:
        assert await db.space("t").get(7) == [7, value(7)]
        assert await db.space("t").count() == ROWS + LATER
        await db.space("t").replace([0, value(0)])


async def test_a_node_goes_on_with_a_log_that_was_trimmed(tmp_path: Path) -> None:
    await lived(tmp_path)
    async with running(tmp_path) as node:
        assert node.storage.spaces.rebuilt is None
        await is_whole(node)
        with pytest.raises(qsync.errors.Compacted):
            node.storage.log.entries(Index(1), Index(2))


async def test_who_watches_from_what_was_trimmed_begins_with_the_space_as_the_error_says(
    tmp_path: Path,
) -> None:
    await lived(tmp_path)
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        with pytest.raises(qsync.errors.Compacted) as refused:
            async for _ in db.watch("t", after=1):
                pass
        assert "`db.status()['confirmed']`" in refused.value.hint
        place = (await db.status())["confirmed"]
        assert isinstance(place, int)
        await db.space("t").replace([0, "before the read"])
        copy = {row[0]: row for row in await db.space("t").select()}
        await db.space("t").replace([1, "after the read"])
        told = [change async for change in db.watch("t", after=place, idle=0.2)]
        rows = [effect.row for change in told for effect in change.effects]
        assert rows == [[0, "before the read"], [1, "after the read"]]
        copy |= {row[0]: row for row in rows if row is not None}
        assert sorted(copy.values()) == await db.space("t").select()


async def test_of_a_log_without_its_beginning_everything_is_judged_that_is_there(
    tmp_path: Path,
) -> None:
    path = await lived(tmp_path)
    plain = config(tmp_path)
    noted = replace(plain, node=replace(plain.node, events=True))
    async with open_node(noted) as node:
        await is_whole(node)
        begins = int(node.storage.log.start.index)
    rows = list(inside.gather({1: path}).rows())
    first = [each["index"] for each in rows if each["name"] == "begins"]
    durable = [each["index"] for each in rows if each["name"] == "durable"]
    assert first == [begins]
    assert durable[0] == begins + 1
    bundle = dump([str(path)], tmp_path / "evidence")
    assert (bundle.manifest.gaps, bundle.manifest.nodes[0].first) == ({}, begins + 1)
    judged = {each.verdict.invariant: each.verdict for each in check_bundle(bundle.path).checked}
    assert not [each for each in judged.values() if each.result is Result.FAIL]
    for id_ in (ACKED, QUORUM, CONFIGURED):
        assert judged[id_].result is Result.PASS, judged[id_]
    assert judged[TERMS].note == f"logs were trimmed and begin later: n1 at {begins + 1}"
    assert judged[LEGAL].result is Result.SKIPPED


async def test_rows_that_a_power_cut_took_come_from_the_snapshot(tmp_path: Path) -> None:
    path = await lived(tmp_path)
    shutil.rmtree(path / "data")
    async with running(tmp_path) as node:
        (file,) = snapshot_files(path / "snap")
        assert node.storage.spaces.rebuilt == f"taken from {file.path.name}"
        await is_whole(node)


async def test_rows_that_rot_are_made_anew_from_the_snapshot_and_the_log(tmp_path: Path) -> None:
    await lived(tmp_path)
    async with running(tmp_path, scrub_interval="100ms") as node:
        spoil(node, 123)
        await aside(lambda: real.until(lambda: node.folding.care.rebuilds == 1, "made anew"))
        await is_whole(node)
        assert node.storage.spaces.sums.groups


async def test_without_rows_and_snapshot_the_log_is_set_aside(tmp_path: Path) -> None:
    """Nobody may think that it has what it acked: it does not count until it has caught up."""
    path = await lived(tmp_path)
    shutil.rmtree(path / "data")
    (file,) = snapshot_files(path / "snap")
    whole = file.path.read_bytes()
    file.path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    storage = open_storage(config(tmp_path))
    try:
        assert "no snapshot in" in (storage.quarantined or "")
        assert (storage.recovered.last, storage.recovered.ballot.member) == (0, False)
        assert storage.spaces.folded == 0
    finally:
        storage.close()
    assert (path / "log.damaged-1").exists()


async def test_a_request_whose_entry_was_trimmed_is_not_done_again_and_told_so(
    tmp_path: Path,
) -> None:
    """It stands in its session that it was decided; and that it was refused, if it was."""
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        await fill(node)
        await db.space("t").replace([0, value(0)])
        session, known = next(
            (name, each) for name, each in node.replica.state.sessions.head.items() if each
        )
        number, (index, term, _) = next(iter(known.outcomes.items()))
        async with qsync.connect_async(node.address) as other:
            nobodys = f"{session.hex()}:{number + 100}"
            with pytest.raises(qsync.errors.GivenUp):
                await other.resolve(nobodys, timeout=20)
            # That something is confirmed is written down with what comes next.
            await other.space("t").replace([0, value(0)])
            await aside(lambda: real.until(lambda: node.storage.spaces.folded >= index, "folded"))
            assert await trim(node) >= index
            with pytest.raises(qsync.errors.OutcomeUnknown, match="look at the data") as told:
                await other.resolve(f"{session.hex()}:{number}", timeout=20)
            with pytest.raises(qsync.errors.GivenUp, match="the log, which was trimmed"):
                await other.resolve(nobodys, timeout=20)
        details = told.value.details
        assert (details["compacted"], details["index"], details["term"]) == (True, index, term)
