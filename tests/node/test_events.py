"""A node that writes down what happens inside of it, and one that does not."""

import errno
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio

import qsync
from admin.checker.replay.steps import DIRECTORIES
from admin.checker.rules import catalogue
from admin.checker.rules.run import build
from admin.checker.verdict import Result
from admin.evidence.inside import gather
from admin.evidence.manifest import Manifest
from admin.evidence.tables import EVENT_NAMES, UNSEEN, Row
from qsync.config import NodeConfig
from qsync.node.assembly import found_cluster
from qsync.node.node import Node, open_node
from qsync.store.directory import is_formatted
from qsync.store.eventfile import FOLDER, note_wiped
from qsync.store.segments.writing import SegmentWriter

COUNT = 50

OF_PEERS = {"vote", "ack", "cut", "promised", "released", UNSEEN}
"""What a node that is alone never does."""
OF_TRIMMED = {"begins"}
"""What a node with a whole log never says."""


def config(path: Path, **options: str) -> NodeConfig:
    """A node on its own, at a free port."""
    more = "".join(f", {name}: {value}" for name, value in options.items())
    return NodeConfig.loads(
        f"node: {{id: 1, name: n1, dir: {path / 'data'}{more}}}\n"
        "listen: 127.0.0.1:0\nelection: {timeout: 300ms}\nreplication: {timeout: 100ms}\n"
    )


@asynccontextmanager
async def used(path: Path, **options: str) -> AsyncIterator[Node]:
    """A node into which rows were put, one by one, and read."""
    with trio.fail_after(60):
        mine = config(path, **options)
        if not is_formatted(mine.node.dir):
            found_cluster([mine])
        async with open_node(mine) as node:
            async with qsync.connect_async(node.address) as db:
                format_ = [("id", "unsigned")]
                await db.schema.create_space("t", format=format_, is_sync=True, if_not_exists=True)
                for number in range(COUNT):
                    await db.space("t").replace([number])
                    assert await db.space("t").get([number]) is not None
                    assert await db.space("t").get([number], consistency="local") is not None
            yield node


def rows(path: Path) -> list[Row]:
    inside = gather({1: path / "data"})
    found = list(inside.rows())
    assert not inside.why
    return found


def test_a_node_that_is_not_told_to_writes_nothing_down(tmp_path: Path) -> None:
    async def main() -> None:
        async with used(tmp_path) as node:
            assert node.loop.events is None

    trio.run(main)
    assert not (tmp_path / "data" / FOLDER).exists()
    assert rows(tmp_path) == []


def test_everything_that_happened_is_written_down_in_the_order_of_its_causes(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        async with used(tmp_path, events="true"):
            pass

    trio.run(main)
    found = rows(tmp_path)
    assert {str(each["name"]) for each in found} == EVENT_NAMES.keys() - OF_PEERS - OF_TRIMMED
    assert [each["number"] for each in found] == list(range(1, len(found) + 1))
    times = [int(str(each["time_mono"])) for each in found]
    assert times == sorted(times)
    durable = 0
    for each in found:
        if each["name"] == "durable":
            assert each["index"] == durable + 1
            durable += 1
        if each["name"] == "confirmed":
            assert int(str(each["index"])) <= durable
    served = [each for each in found if each["name"] == "served"]
    assert len(served) == COUNT  # not those that may show what is old
    assert all(int(str(each["index"])) >= int(str(each["floor"])) > 0 for each in served)


def test_a_restart_is_another_life_that_tells_only_what_is_new_on_the_disk(tmp_path: Path) -> None:
    async def main() -> None:
        for _ in range(2):
            async with used(tmp_path, events="true"):
                pass

    trio.run(main)
    found = rows(tmp_path)
    started = [each for each in found if each["name"] == "started"]
    assert [(each["life"], each["generation"]) for each in started] == [(1, 1), (2, 1)]
    indexes = [each["index"] for each in found if each["name"] == "durable"]
    assert indexes == list(range(1, len(indexes) + 1))
    assert started[1]["index"] in indexes


def test_what_was_on_disk_before_is_told_by_the_first_life_that_writes_down(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        async with used(tmp_path):
            pass
        async with used(tmp_path, events="true"):
            pass

    trio.run(main)
    found = rows(tmp_path)
    assert found[0]["name"] == "started"
    assert [each["name"] for each in found[1:4]] == ["opened", "log-opened", "slept"]
    ballot, *before = found[4 : 5 + int(str(found[0]["index"]))]
    assert ballot["name"] == "ballot"
    assert [each["index"] for each in before] == list(range(1, len(before) + 1))
    assert all(each["name"] == "durable" for each in before)


def test_after_a_life_that_was_not_written_down_the_evidence_begins_anew(tmp_path: Path) -> None:
    async def main() -> None:
        for told in ("true", "false", "true"):
            async with used(tmp_path, events=told):
                pass

    trio.run(main)
    found = rows(tmp_path)
    assert len({each["life"] for each in found}) == 1
    indexes = [each["index"] for each in found if each["name"] == "durable"]
    assert indexes == list(range(1, len(indexes) + 1))
    assert int(str(found[0]["index"])) > 2 * COUNT


def test_a_node_whose_directory_was_wiped_is_of_the_next_generation(tmp_path: Path) -> None:
    async def main() -> None:
        async with used(tmp_path, events="true"):
            pass
        for part in ("log", "data"):
            for file in (tmp_path / "data" / part).iterdir():
                file.unlink()
            (tmp_path / "data" / part).rmdir()
        (tmp_path / "data" / "identity.json").unlink()
        note_wiped(tmp_path / "data")
        async with used(tmp_path, events="true"):
            pass

    trio.run(main)
    found = rows(tmp_path)
    assert {each["generation"] for each in found} == {1, 2}
    assert [each["index"] for each in found if each["name"] == "started"] == [0, 0]


def refuse_once(node: Node) -> None:
    """The disk fails at the next write; the one after it opens the log again."""

    def broken() -> None:
        node.storage.log.before_commit = None
        raise OSError(errno.EIO, "the volume is gone")

    node.storage.log.before_commit = broken


async def written_after_a_fault(path: Path, *, copied: bool) -> list[Row]:
    """What a node wrote down whose disk failed; with `copied` its log is another file then."""
    async with used(path, events="true") as node:
        log = path / "data" / "log"
        if copied:
            shutil.copytree(log, path / "copy")
            log.rename(path / "original")
            (path / "copy").rename(log)
        refuse_once(node)
        async with qsync.connect_async(node.address, timeout=30) as db:
            await db.space("t").replace([COUNT])
    return rows(path)


def test_a_log_that_is_opened_anew_in_one_life_says_which_file_it_is(tmp_path: Path) -> None:
    found = trio.run(partial(written_after_a_fault, tmp_path, copied=False))
    opened = [each for each in found if each["name"] == "log-opened"]
    assert len(opened) == 2
    assert opened[0]["index"] == opened[1]["index"]
    assert verdict(found) is Result.PASS


@pytest.mark.pure
def test_a_node_that_goes_on_in_another_file_is_told_by_its_own_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SegmentWriter, "_stay", lambda _: None)
    found = trio.run(partial(written_after_a_fault, tmp_path, copied=True))
    assert verdict(found) is Result.FAIL


def verdict(found: list[Row]) -> Result:
    """By the rule that an instance is one directory, and its log one file."""
    manifest = Manifest(run_id="r", source="directories", quorum=1, voters=1)
    run = build(manifest, {"events": found})
    rule = next(each for each in catalogue.RULES if each.id == DIRECTORIES)
    return catalogue.verdict_of(rule, rule.find(run)).result


def test_at_the_limit_the_node_goes_on_and_the_evidence_says_where_it_ends(tmp_path: Path) -> None:
    async def main() -> None:
        async with used(tmp_path, events="true", events_bytes_max="64KiB") as node:
            async with qsync.connect_async(node.address) as db:
                for number in range(20 * COUNT):
                    await db.space("t").replace([number])
                    if node.loop.events is None:
                        break
                assert node.loop.events is None
                await db.space("t").replace([1])
                assert await db.space("t").get([1]) is not None
            assert "events_stopped" in {each["event"] for each in node.timeline.latest(10)}

    trio.run(main)
    inside = gather({1: tmp_path / "data"})
    assert list(inside.rows())
    assert inside.why == "events of node 1 end early: node.events_bytes_max (65536) is reached"


def test_nodes_that_say_nothing_are_missed_by_name(tmp_path: Path) -> None:
    cluster = "a0a0a0a0-0000-4000-8000-000000000000"
    peers = ", ".join(f"{{id: {n}, name: n{n}, address: '127.0.0.1:{n}'}}" for n in (1, 2, 3))
    lonely = NodeConfig.loads(
        f"node: {{id: 1, name: n1, dir: {tmp_path / 'data'}, events: true}}\n"
        f"cluster: {{id: {cluster}}}\nlisten: 127.0.0.1:0\npeers: [{peers}]\n"
    )

    async def main() -> None:
        async with open_node(lonely):
            pass

    trio.run(main)
    inside = gather({1: tmp_path / "data", 2: tmp_path / "other"})
    assert list(inside.rows()) == []
    assert inside.why.startswith("there are no events of node 2, node 3, by which node 1 counted")
