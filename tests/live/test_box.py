"""The box facade and watching, against one real lab of three nodes."""

from collections.abc import AsyncIterator, Iterator
from itertools import islice

import pytest
import trio

import qsync
from admin.box import Box, open_box
from admin.box.ctl import StillConnected, TimedOut
from admin.cluster import settling, surveys
from admin.lab.lab import Lab
from qsync.client.changes import Change
from qsync.status.record import BoxInfo
from tests.live import real

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with real.running(tmp_path_factory.mktemp("box") / "lab", nodes=3) as found:
        yield found


@pytest.fixture
async def box(here: Lab) -> AsyncIterator[Box]:
    async with open_box(here.addresses) as found:
        yield found


def other(box: Box) -> str:
    """A node that does not lead."""
    return next(name for name in box.members if name != box.name)


async def info_of_three(box: Box) -> BoxInfo:
    """What the leader says once both others follow it: the last one may be a moment late."""
    with trio.fail_after(30):
        while True:
            said = await box.info()
            follows = [each.downstream for each in said.replication.values() if each.downstream]
            if [each.status for each in follows] == ["follow", "follow"]:
                return said


async def test_info_of_any_node_is_whole_and_the_nodes_agree(box: Box) -> None:
    leader = await info_of_three(box)
    assert leader.errors == {}
    assert (leader.election.state, leader.ro, leader.synchro.quorum) == ("leader", False, 2)
    assert leader.health.ready
    await box.use(other(box))
    follower = await box.info()
    assert (follower.errors, follower.ro, follower.ro_reason) == ({}, True, "election")
    assert follower.election.leader_name == leader.name
    up = follower.replication[leader.id].upstream
    assert up is not None
    assert up.status == "follow"
    assert follower.replicaset.uuid == leader.replicaset.uuid
    assert await box.info_at("synchro.queue.len") == 0
    assert await box.info_at("replication.1.name") == "n1"


async def test_spaces_and_transactions_do_what_their_words_say(box: Box) -> None:
    space = await box.schema.create_space("words", is_sync=True)
    with pytest.raises(qsync.NoSuchIndex):
        await space.insert([1, "a"])
    primary = await space.create_index("pk")
    assert await primary.insert([1, "a"]) == [1, "a"]
    assert await primary.update(1, [("=", 2, "b")]) == [1, "b"]
    box.begin()
    with pytest.raises(qsync.NoTransaction):
        box.begin()
    await primary.replace([2, "c"])
    with pytest.raises(qsync.DuplicateKey):
        await primary.insert([2, "d"])
    assert await primary.select() == [[1, "b"], [2, "c"]]
    assert await box.data.space("words").select() == [[1, "b"]]
    receipt = await box.commit()
    assert receipt is not None
    assert receipt.acks >= 2
    assert await space.count() == 2
    box.begin()
    assert await primary.delete(1) == [1, "b"]
    box.rollback()
    assert await primary.get(1) == [1, "b"]
    assert await box.commit() is None
    second = await space.create_index("second", parts=[[2, "string"]], unique=False)
    assert await second.select("c") == [[2, "c"]]
    space = await space.alter(is_sync=False, name="phrases")
    assert (space.name, space.shape.is_sync) == ("phrases", False)
    await space.truncate()
    assert await space.select() == []
    await space.drop()
    with pytest.raises(qsync.NoSuchSpace, match="phrases"):
        await box.space("phrases")


async def test_a_read_in_a_transaction_has_no_consistency_of_its_own(box: Box) -> None:
    space = await box.schema.create_space("fresh", is_sync=True)
    await space.create_index("pk")
    assert await space.select(consistency="local") == []
    box.begin()
    with pytest.raises(qsync.ConfigError, match="no option 'consistency'"):
        await space.select(consistency="local")
    with pytest.raises(qsync.ConfigError, match="no option 'consistency'"):
        await space.get(1, consistency="local")
    assert await space.select(limit=1) == []
    box.rollback()
    await space.drop()


async def test_an_atomic_function_that_fails_leaves_nothing_behind(box: Box) -> None:
    space = await box.space("things")

    async def fails() -> None:
        await space.replace([50, "x"])
        raise LookupError

    with pytest.raises(LookupError):
        await box.atomic(fails)
    assert box.txn is None
    assert await space.get(50) is None


async def test_options_of_a_node_change_all_or_none(box: Box) -> None:
    before = await box.cfg()
    assert (await box.cfg(replication_synchro_timeout=3))["replication_synchro_timeout"] == 3
    assert (await box.cfg(memtx_use_mvcc_engine=True))["replication_synchro_timeout"] == 3
    info = await box.info()
    assert info.synchro.timeout == 3
    with pytest.raises(qsync.ConfigError, match="replication_synchro_quorum: '1 \\+'") as caught:
        await box.cfg(replication_synchro_quorum="1 +", replication_synchro_timeout=4)
    assert "nothing was changed" in caught.value.hint
    with pytest.raises(qsync.ConfigError, match=r"synchro_quorum: 5 asks 5 of 3 voters"):
        await box.cfg(replication_synchro_quorum=5)
    with pytest.raises(qsync.ConfigError, match=r"synchro_quorum: 1 is 1 of 3 voters, below"):
        await box.cfg(replication_synchro_quorum=1)
    with pytest.raises(qsync.ConfigError, match=r"5s for seconds"):
        await box.cfg(replication_timeout="5")
    with pytest.raises(qsync.ConfigError, match="less than two heartbeats"):
        await box.cfg(election_timeout="20ms", replication_timeout="1s")
    with pytest.raises(qsync.ConfigError, match="cannot be set while the node runs; it is True"):
        await box.cfg(memtx_use_mvcc_engine=False)
    assert await box.cfg() == {**before, "replication_synchro_timeout": 3}
    await box.cfg(replication_synchro_timeout="5s")


async def test_read_only_is_set_and_lifted_while_the_node_leads(box: Box) -> None:
    await box.cfg(read_only=True)
    await box.ctl.wait_ro(5)
    assert (await box.why.read_only()).next == ("set read_only to false",)
    with pytest.raises(TimedOut, match=r"not writable after 0\.1 s: config"):
        await box.ctl.wait_rw(0.1)
    await box.cfg(read_only=False)
    await box.ctl.wait_rw(5)


async def test_a_switchover_is_told_before_it_is_done(box: Box) -> None:
    former, heir = box.name, other(box)
    await box.use(heir)
    with pytest.raises(qsync.WrongOperation, match="one of promote, demote, clear_synchro_queue"):
        await box.ctl.dry_run("rollback_synchro_queue")
    answer = await box.why.would("promote")
    assert f"{former} stops writing" in answer.sentence
    assert answer.numbers["rolls_back"] == 0
    await box.ctl.promote()
    assert (await box.info()).election.state == "leader"
    await box.use(former)
    before = (await box.info()).election
    await box.ctl.demote()
    after = (await box.info()).election
    assert (after.leader, after.term) == (before.leader, before.term), "it did not lead: no change"
    await box.use(None)
    assert box.name == heir


async def test_a_connected_member_is_not_forgotten(box: Box) -> None:
    info = await info_of_three(box)
    uuid = next(each.uuid for each in info.replication.values() if each.id != info.id)
    assert uuid is not None
    with pytest.raises(StillConnected):
        await box.ctl.replica_gc(uuid)
    with pytest.raises(qsync.QsyncError, match="knows no member"):
        await box.ctl.replica_gc("nobody")


async def test_a_snapshot_reaches_what_is_confirmed(box: Box) -> None:
    space = await box.space("things")
    await space.replace([60, "x"])
    assert box.last is not None
    with trio.fail_after(20):
        while await box.snapshot() < box.last.index:  # noqa: ASYNC110 - of another process
            await trio.sleep(0.02)  # the log has yet to note that it is confirmed
    assert await box.info_at("gc.checkpoint_is_in_progress") is False


async def test_an_election_is_broadcast(box: Box) -> None:
    heir = other(box)
    terms: list[object] = []
    with trio.fail_after(20):
        async for value in box.ctl.elections():
            terms.append(value["term"])
            if value["leader_name"] == heir and value["is_ro"] is not None and len(terms) > 1:
                break
            if len(terms) == 1:
                async with open_box(box.members[heir], node=heir) as its:
                    await its.ctl.promote()
    assert terms == sorted(terms, key=lambda term: int(str(term)))
    assert terms[-1] != terms[0]


async def test_a_trace_tells_of_every_stage_on_the_leader(box: Box) -> None:
    await box.node.trace(1, arm=10.0)
    space = await box.space("things")
    await space.replace([61, "x"])
    assert box.last is not None
    wanted = {"appended", "durable", "confirmed", "acked"}
    seen: set[object] = set()
    with trio.fail_after(20):
        while seen != wanted:  # the leader's own disk may be the last to finish
            told = await box.node.trace(box.last.index)
            assert told["fate"] == "confirmed"
            marks = told["marks"]
            assert isinstance(marks, list)
            seen = {what for what, _, _ in marks}
            assert seen <= wanted


def test_a_feed_survives_the_death_of_the_node_it_reads_from(here: Lab) -> None:
    with qsync.connect(here.addresses, timeout=20) as db:
        feed = db.watch("things")
        places = [db.space("things").replace([at, "before"]).index for at in range(5)]
        seen: list[Change] = list(islice(feed, 3))
        leader = surveys.survey(here.addresses).leader
        assert leader is not None
        here.kill(here.node(leader.name))
        places += [db.space("things").replace([at, "after"]).index for at in range(5)]
        seen += islice(feed, 7)
        assert [each.index for each in seen] == places
        feed.close()
        again = list(db.watch("things", after=seen[6].index, idle=1.5))
        assert again == seen[7:]
        here.start(here.node(leader.name))
    settling.wait_answers(leader.address, timeout=20)


def test_a_transaction_of_a_feed_is_whole_and_only_of_the_watched_keys(here: Lab) -> None:
    with qsync.connect(here.addresses, timeout=20) as db:
        db.schema.create_space("pairs", is_sync=False, format=[("id", "unsigned")])
        with db.watch("pairs", key=7) as feed:
            db.space("pairs").replace([6, "other"])
            with db.transaction() as tx:
                tx.space("pairs").replace([7, "a"])
                tx.space("things").replace([7, "b"])
                tx.space("pairs").replace([8, "c"])
            db.space("pairs").delete(7)
            first, second = next(feed), next(feed)
        assert [(each.what, each.key, each.row) for each in first.effects] == [
            ("put", [7], [7, "a"])
        ]
        assert [each.what for each in second.effects] == ["delete"]
        assert second.index > first.index


async def test_the_async_client_watches_too(here: Lab) -> None:
    async with qsync.connect_async(here.addresses, timeout=20) as db:
        feed = db.watch("things")
        await feed.poll()
        receipt = await db.space("things").replace([70, "x"])
        with trio.fail_after(20):
            change = await anext(aiter(feed))
            value = await anext(aiter(db.watch_key("box.synchro")))
        assert change.index == receipt.index
        assert isinstance(value, dict)
        assert value["quorum"] == 2
