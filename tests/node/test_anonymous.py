"""A replica that follows three nodes without being a member of their cluster."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import qsync
from admin.cluster import membership, surveys
from admin.cluster.membership import WantedChange
from admin.lab.ports import free_ports
from election.messages import Index, Replica
from qsync.config import NodeConfig
from qsync.core.progress import counted
from qsync.core.retention import HoldKind
from qsync.member import MemberAction, MemberRole
from qsync.node.node import Node, open_node
from qsync.node.status import status
from qsync.record import EntryKind
from tests.node import three
from tests.node.test_fault_hooks import aside


def anonymous(members: list[NodeConfig], path: Path, id: int) -> NodeConfig:
    """One more node, which nobody founded."""
    (port,) = free_ports(1)
    given = {
        "node.id": str(id),
        "node.name": f"a{id}",
        "node.dir": str(path / f"a{id}"),
        "cluster.id": three.CLUSTER,
        "listen": f"127.0.0.1:{port}",
        "replication.anon": "true",
        "replication.timeout": "200ms",
        "peers": ",".join(
            [f"{each.node.id}:{each.node.name}@{each.listen}" for each in members]
            + [f"{id}:a{id}@127.0.0.1:{port}"]
        ),
    }
    return NodeConfig.load(None, {}, given)


@asynccontextmanager
async def followed(path: Path) -> AsyncIterator[tuple[list[Node], Node, NodeConfig]]:
    """Three members, one that follows them, and the configuration of another one."""
    members = three.configs(
        path, replication__anon_max="1", election__timeout="10s", replication__timeout="2s"
    )
    async with three.running(members) as nodes:
        await three.until(lambda: bool(three.leaders(nodes)), "somebody leads")
        async with open_node(anonymous(members, path, 31)) as one:
            yield nodes, one, anonymous(members, path, 30)


async def test_it_follows_counts_nowhere_and_is_made_a_member_when_that_is_asked(
    tmp_path: Path,
) -> None:
    async with followed(tmp_path) as (nodes, one, another):
        (leader,) = three.leaders(nodes)
        await it_follows(leader, one)
        # One more is one too many.
        async with open_node(another) as more:
            where = int(leader.config.node.id)
            await three.until(lambda: "anon_max" in three.link(more, where), "it is refused")
        # It is made a member, as it runs.
        await aside(lambda: add(leader, one))
        await three.until(lambda: status(one).standing == "learner", "it is a learner")
        leader.queries.retention.sweep(leader.reactor.effects.now())
        assert known(leader) == []
        await aside(lambda: remove(leader, one))
        await it_gets_no_more(leader, one)
        await its_lease_ends(leader, another)


async def it_follows(leader: Node, one: Node) -> None:
    """It has what the leader has, reads it out, and counts nowhere."""
    async with qsync.connect_async(leader.address) as db:
        await db.schema.create_space("t", is_sync=True)
        await db.space("t").insert([1, "seen"])
    at = leader.replica.machine.replicated_log.log.last
    await three.until(lambda: one.replica.machine.replicated_log.visible >= at, "it has it")
    told = status(one)
    assert (told.standing, told.status) == ("anonymous", "running")
    assert (told.recruit, told.stranger) == (False, False)
    assert told.ro_reason == "anonymous"
    async with qsync.connect_async(one.address, direct=True) as db:
        for consistency in ("local", "linearizable"):
            assert await db.space("t").get(1, consistency=consistency) == [1, "seen"]
    await three.until(lambda: min(held(leader), default=0) >= at, "the log is kept for it")
    peers = leader.replica.machine.peers
    assert peers[Replica(31)].match >= at
    assert Replica(31) not in {each.peer for each in counted(peers.values())}
    assert known(leader) == [("a31", "follow")]
    assert len(status(leader).members) == 3
    assert leader.replica.machine.config.voters == (1, 2, 3)


def add(leader: Node, one: Node) -> None:
    """As a learner."""
    found = surveys.survey([leader.address])
    newcomer = membership.newcomer(found, one.address, timeout=5)
    assert newcomer.standing == membership.STRANGER
    learner = WantedChange(action=MemberAction.ADD, one=newcomer, role=MemberRole.LEARNER)
    membership.perform(found, learner, timeout=20, progress=lambda _: None)


def remove(leader: Node, one: Node) -> None:
    """Out of the configuration, while it runs and is connected."""
    found = surveys.survey([leader.address])
    member = next(each for each in membership.members(found) if each.id == one.config.node.id)
    removed = WantedChange(action=MemberAction.REMOVE, one=member)
    membership.change(found, removed, timeout=20)


async def it_gets_no_more(leader: Node, one: Node) -> None:
    """It is connected, and was anonymous once: it gets its removal, and no row after that.

    A CONFIRM of what was confirmed before may come with the removal, in one batch.
    """
    await three.until(lambda: status(one).standing == "removed", "it knows that it was removed")
    log = one.replica.machine.replicated_log
    removal, last = log.configurations.changed_at(), log.log.last
    behind = log.entries(Index(removal + 1), last) if last > removal else []
    assert {each.kind for each in behind} <= {EntryKind.CONFIRM}
    async with qsync.connect_async(leader.address) as db:
        await db.space("t").insert([2, "not for it"])
    peer, written = leader.replica.machine.peers[Replica(31)], leader.reactor.effects.now()
    await three.until(lambda: peer.heard_at > written, "it answers a heartbeat after that")
    assert peer.connected
    assert (log.configurations.changed_at(), log.log.last) == (removal, last)


async def its_lease_ends(leader: Node, config: NodeConfig) -> None:
    """The log is kept for who is gone as long as the lease lasts, and no longer."""
    async with open_node(config):
        await three.until(lambda: known(leader) == [("a30", "follow")], "it follows")
        await three.until(lambda: bool(held(leader)), "the log is kept for it")
    await three.until(lambda: not leader.server.hears(30), "it is gone")
    now, ttl = leader.reactor.effects.now(), leader.config.replication.anon_ttl
    leader.queries.retention.sweep(now)
    assert known(leader) == [("a30", "stopped")]
    assert held(leader)
    leader.queries.retention.sweep(now + ttl)
    assert known(leader) == []
    assert not held(leader)


def known(leader: Node) -> list[tuple[str, str]]:
    """Those that it knows of."""
    return [(each.name, each.status) for each in status(leader).replication_anon.replicas]


def held(leader: Node) -> list[int]:
    """Where the log is kept from on for them."""
    return [int(each.index) for each in leader.retained.holds if each.kind is HoldKind.ANONYMOUS]
