"""Silently dead connections between members are detected, closed and dialled again."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

import qsync
from admin.lab.ports import free_ports
from admin.links.proxy import ProxiedConnection, Proxy
from admin.links.rules import WHOLE, DirectedLink, LinkRule
from election.messages import Replica
from qsync.config import NodeConfig
from qsync.errors import ProtocolError
from qsync.node import keepalive
from qsync.node.connection import Connection
from qsync.node.node import Node, open_node
from qsync.node.system import SYSTEM
from qsync.wire.frames import SEAL_SIZE
from tests.node.knocking import calling, config, pump
from tests.node.three import configs, leaders, link, running, until

WAYS = [(a, b) for a in (1, 2, 3) for b in (1, 2, 3) if a != b]
HALF_OPEN = LinkRule(half_open=True)


@asynccontextmanager
async def roads(
    path: Path,
) -> AsyncIterator[tuple[list[Node], dict[tuple[int, int], ProxiedConnection]]]:
    """Three nodes in touch, and the road of each link between them."""
    *ports, control = free_ports(len(WAYS) + 1)
    by_way = dict(zip(WAYS, ports, strict=True))
    found = configs(path, via=by_way)
    made = {
        (a, b): ProxiedConnection(
            link=DirectedLink(f"n{a}", f"n{b}"), target=("127.0.0.1", found[b - 1].address.port)
        )
        for a, b in WAYS
    }
    async with running(found) as nodes, trio.open_nursery() as nursery:
        proxy = Proxy({each.link: each for each in made.values()}, seed=1)
        entries = {made[way].link: port for way, port in by_way.items()}
        await nursery.start(proxy.serve, entries, control)
        await until(lambda: all_up(nodes), "all are in touch")
        await until(lambda: len(leaders(nodes)) == 1, "somebody leads")
        yield nodes, made
        nursery.cancel_scope.cancel()


def all_up(nodes: list[Node]) -> bool:
    return all(link(nodes[a - 1], b) == "up" for a, b in WAYS)


def epoch(nodes: list[Node], way: tuple[int, int]) -> int:
    return nodes[way[0] - 1].links.links[Replica(way[1])].epoch


async def write(nodes: list[Node], number: int) -> None:
    async with qsync.connect_async([str(each.config.address) for each in nodes], timeout=30) as db:
        if number == 1:
            await db.schema.create_space("t", format=[("id", "unsigned")], is_sync=True)
        await db.space("t").replace([number])


@pytest.mark.parametrize("healed", [False, True], ids=["for good", "healed"])
async def test_a_cluster_whose_links_all_died_silently_returns(
    tmp_path: Path, *, healed: bool
) -> None:
    async with roads(tmp_path) as (nodes, made):
        await write(nodes, 1)
        epochs = {way: epoch(nodes, way) for way in WAYS}
        for road in made.values():
            road.set(HALF_OPEN)
            if healed:
                road.set(WHOLE)
        await until(
            lambda: all(
                link(nodes[way[0] - 1], way[1]) == "up" and epoch(nodes, way) > epochs[way]
                for way in WAYS
            ),
            "every link is a new one",
        )
        await until(lambda: len(leaders(nodes)) == 1, "somebody leads")
        await write(nodes, 2)


async def test_a_follower_behind_one_dead_link_follows_again(tmp_path: Path) -> None:
    async with roads(tmp_path) as (nodes, made):
        await write(nodes, 1)
        (leader,) = leaders(nodes)
        other = next(each for each in nodes if each is not leader)
        me, them = int(leader.config.node.id), int(other.config.node.id)
        made[me, them].set(HALF_OPEN)
        await write(nodes, 2)
        await until(
            lambda: (
                other.replica.machine.replicated_log.confirmed
                >= max(each.replica.machine.replicated_log.confirmed for each in nodes)
            ),
            "it has what was written since",
        )
        assert other.replica.machine.raft.leader is not None


async def test_the_side_that_was_dialled_hangs_up_on_silence_too(tmp_path: Path) -> None:
    found: NodeConfig = config(tmp_path)
    async with qsync_node(found) as node:
        with calling(node) as peer:
            period = 1.0
            for _ in range(keepalive.SILENT_TICKS_MAX):
                node.server.tick(period)
                assert peer.connected
            peer.say(keepalive.ping(period)[SEAL_SIZE:])
            for _ in range(keepalive.SILENT_TICKS_MAX):
                node.server.tick(period)
                assert peer.connected
            node.server.tick(period)
            assert not peer.connected
            assert node.server.refused["silent"] == 1


async def test_who_asks_seldom_is_given_the_time(tmp_path: Path) -> None:
    async with qsync_node(config(tmp_path)) as node:
        with calling(node) as peer:
            peer.say(keepalive.ping(3.0)[SEAL_SIZE:])
            for _ in range(3 * keepalive.SILENT_TICKS_MAX):
                node.server.tick(1.0)
            assert peer.connected
            node.server.tick(1.0)
            assert not peer.connected


async def test_who_asks_seldom_says_so_with_the_connection(tmp_path: Path) -> None:
    """Else a node that asks often hangs up on it before its first question comes."""
    often = {3: {"replication.timeout": "100ms"}}
    found = configs(tmp_path, changed=often, election__timeout="10s", replication__timeout="2s")
    async with running(found) as nodes:
        await until(lambda: all_up(nodes), "all are in touch")
        connections = nodes[2].server._inbound
        await until(
            lambda: [each.turn.period for each in connections.values()] == [2.0, 2.0],
            "both others said how often they ask",
        )
        assert not nodes[2].server.refused


@asynccontextmanager
async def qsync_node(found: NodeConfig) -> AsyncIterator[Node]:
    async with open_node(found) as node:
        node._begin()
        yield node
        pump(node)


def test_a_long_message_that_moves_is_no_silence_and_one_that_stands_still_is() -> None:
    here, there = socket.socketpair()
    here.setblocking(False)
    there.setblocking(False)
    connection = Connection(here, frame_bytes_max=1, opened_at=0.0)
    connection.out = [bytes(8 << 20)]
    connection.unsent = 8 << 20
    for _ in range(3 * keepalive.SILENT_TICKS_MAX):
        connection.write()
        there.recv(100_000)
        assert not keepalive.silent(connection, SYSTEM)
    ticks = 0
    while not keepalive.silent(connection, SYSTEM):
        ticks += 1
    assert ticks <= keepalive.SILENT_TICKS_MAX + 1
    here.close()
    there.close()


def test_a_ping_says_how_often_and_nothing_else_is_one() -> None:
    assert keepalive.period_of(keepalive.ping(0.25)[SEAL_SIZE:]) == 0.25
    assert keepalive.period_of(keepalive.PONG[SEAL_SIZE:]) is None
    with pytest.raises(ProtocolError):
        keepalive.period_of(b"\x82\x0b\xf6")
