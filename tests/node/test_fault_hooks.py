"""Fault points of a real node: each strikes where it should, is seen, and ends when disarmed."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import cbor2
import pytest
import trio

import qsync
from admin.cluster import ask
from election.messages import Index, Replica, Term
from qsync.config import NodeConfig
from qsync.core.messages import Append, Heartbeat
from qsync.data.request import Request
from qsync.errors import AccessDenied
from qsync.node.assembly import found_cluster
from qsync.node.node import Node, open_node
from qsync.record import Crc
from qsync.status import decode
from qsync.status.record import NodeStatus
from qsync.store.directory import is_formatted
from qsync.wire.verbs import FaultRequest, InfoRequest
from tests.live import real

T = TypeVar("T")
HOUR_S = 3600.0
ROW = cbor2.dumps([7])


def config(path: Path, *, faults: bool = True) -> NodeConfig:
    """A node on its own, at a free port."""
    return NodeConfig.loads(
        f"node: {{id: 1, name: n1, dir: {path / 'data'}, faults: {str(faults).lower()}}}\n"
        "listen: 127.0.0.1:0\nelection: {timeout: 300ms}\nreplication: {timeout: 100ms}\n"
    )


@asynccontextmanager
async def running(path: Path, *, faults: bool = True) -> AsyncIterator[Node]:
    """Once it leads."""
    with trio.fail_after(30):
        mine = config(path, faults=faults)
        if not is_formatted(mine.node.dir):
            found_cluster([mine])
        async with open_node(mine) as node:
            async with qsync.connect_async(node.address) as db:
                await db.schema.create_space("t", format=[("id", "unsigned")], is_sync=True)
            yield node


async def aside(call: Callable[[], T]) -> T:
    """A blocking question, while the node runs."""
    return await trio.to_thread.run_sync(call)


async def fault(
    node: Node, point: str, *, arm: bool = True, seconds: float = 0.0, times: int = 0
) -> None:
    request = FaultRequest(1, point, arm, seconds, times)
    await aside(lambda: ask.value(node.address, request, timeout=10))


async def sample(node: Node) -> NodeStatus:
    return await aside(lambda: decode.status(ask.status(node.address, timeout=10)))


async def test_a_node_whose_configuration_does_not_say_so_is_not_broken(tmp_path: Path) -> None:
    async with running(tmp_path, faults=False) as node:
        with pytest.raises(AccessDenied, match=r"node\.faults"):
            await fault(node, "slow_fsync", seconds=1.0)
        assert (await sample(node)).faults == ()


async def test_a_slow_fsync_delays_writes_is_visible_and_ends_when_it_is_disarmed(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        await fault(node, "slow_fsync", seconds=0.3)
        begun = time.monotonic()
        await db.space("t").insert([1])
        assert time.monotonic() - begun >= 0.3
        (seen,) = (await sample(node)).faults
        assert (seen.point, seen.seconds) == ("slow_fsync", 0.3)
        assert seen.struck > 0
        told = await aside(lambda: ask.only(ask.value(node.address, InfoRequest(1, "faults"))))
        assert isinstance(told, list)
        assert told[0]["point"] == "slow_fsync"
        await fault(node, "", arm=False)
        assert (await sample(node)).faults == ()
        assert node.storage.log.before_commit is None
        events = [each for each in node.timeline.events if "faults" in str(each["event"])]
        assert [each["event"] for each in events] == ["faults", "faults_gone"]
        assert events[0]["armed"] == "slow_fsync"


async def test_a_point_that_is_forgotten_is_disarmed_by_the_node_itself(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        request = FaultRequest(1, "slow_fsync", True, 0.001, 0, 0.2)
        await aside(lambda: ask.value(node.address, request, timeout=10))
        assert node.storage.log.before_commit is not None

        def disarmed() -> bool:
            return not decode.status(ask.status(node.address, timeout=10)).faults

        await aside(lambda: real.until(disarmed, "the point is disarmed"))
        assert node.storage.log.before_commit is None


async def test_an_fsync_that_fails_once_is_told_and_writing_goes_on(tmp_path: Path) -> None:
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        await fault(node, "fail_fsync", times=1)
        await db.space("t").insert([1])  # the client tries again until the node leads again
        assert await db.space("t").count() == 1
        (seen,) = (await sample(node)).faults
        assert (seen.struck, seen.left) == (1, 0)
        counts = node.timeline.counts
        assert (counts["disk_failed"], counts["disk_works"]) == (1, 1)


async def test_a_wall_clock_that_jumps_changes_the_times_of_entries_and_nothing_else(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as node, qsync.connect_async(node.address) as db:
        term = node.replica.machine.term
        before = (await sample(node)).time
        await fault(node, "clock_jump", seconds=HOUR_S)
        ahead = (await sample(node)).time
        await fault(node, "clock_jump", seconds=-HOUR_S)
        last = (await db.space("t").insert([1])).index
        (entry,) = node.replica.machine.replicated_log.entries(last, last)
        assert before is not None
        assert ahead is not None
        assert ahead - before > HOUR_S - 1
        assert entry.time < before - HOUR_S + 60
        assert node.replica.machine.term == term
        assert node.replica.machine.leader is not None


def beat(confirmed: int) -> Heartbeat:
    return Heartbeat(
        term=Term(1),
        leader=Replica(1),
        epoch=1,
        round=1,
        matched=Index(0),
        confirmed=Index(confirmed),
    )


def batch(first: int, last: int, confirmed: int) -> Append:
    return Append(
        term=Term(1),
        leader=Replica(1),
        epoch=1,
        prev_index=Index(first - 1),
        prev_term=Term(1),
        prev_crc=Crc(0),
        last=Index(last),
        confirmed=Index(confirmed),
    )


async def test_news_of_later_confirmations_is_lost_and_nothing_else(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        await fault(node, "lose_confirm", times=2)
        confirmed = node.replica.machine.replicated_log.confirmed
        loses = node.loop.loses
        assert loses is not None
        assert not loses(beat(confirmed))
        assert not loses(batch(confirmed + 1, confirmed + 2, confirmed))
        assert loses(beat(confirmed + 1))
        assert loses(batch(confirmed + 1, confirmed + 2, confirmed + 1))
        assert not loses(beat(confirmed + 1))  # twice was enough
        await fault(node, "lose_confirm", arm=False)
        assert node.loop.loses is None


async def test_batches_with_a_later_rollback_are_lost_and_nothing_else(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        await fault(node, "lose_rollback")
        machine, loses = node.replica.machine, node.loop.loses
        assert machine.leader is not None
        assert loses is not None
        node.loop.start_batch()
        pending = int(node.replica.submit(None, Request(ops=[[1, "t", ROW]])).index)
        rollback = machine.leader.roll_back(0.0)
        assert rollback is not None
        assert not loses(batch(pending, pending, 0))
        assert loses(batch(pending, rollback.index, 0))
        assert not loses(beat(pending))
        assert [each.point for each in (await sample(node)).faults] == ["lose_rollback"]
