"""What a node knows of a member that is away, and what it does when that one comes back."""

from pathlib import Path

from admin.box import open_box
from election.messages import Replica
from qsync.node.links import LinkStatus
from tests.node.three import configs, leaders, running, until


async def test_a_member_that_is_away_since_the_leader_started_is_let_go_by_its_uuid(
    tmp_path: Path,
) -> None:
    wanted = configs(tmp_path)
    async with running(wanted) as nodes:
        instance = nodes[2].identity.instance
        await until(lambda: bool(leaders(nodes)), "one of three leads")
        async with open_box([each.listen for each in wanted]) as box:
            await (await box.schema.create_space("things")).create_index("pk")
    async with running(wanted[:2]) as nodes:
        await until(lambda: bool(leaders(nodes)), "one of two leads")
        async with open_box([each.listen for each in wanted[:2]]) as box:
            away = (await box.info()).replication[3]
            assert away.uuid == instance
            assert (away.upstream and away.upstream.status) == "disconnected"
            assert (await box.ctl.replica_gc(instance)).startswith("n3 is let go")


async def test_a_member_that_comes_back_is_dialled_at_once(tmp_path: Path) -> None:
    wanted, back = configs(tmp_path), Replica(3)
    async with running(wanted[:2]) as nodes:
        await until(lambda: bool(leaders(nodes)), "one of two leads")
        links = [each.links.links[back] for each in nodes]
        await until(lambda: all(each.failures for each in links), "the third does not answer")
        for each in links:
            each.next_dial = float("inf")
        async with running(wanted[2:]):
            await until(
                lambda: all(each.status is LinkStatus.UP for each in links), "both have dialled it"
            )
