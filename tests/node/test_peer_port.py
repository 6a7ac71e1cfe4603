"""Who may speak on the peer port, and what becomes of bytes that were changed on the way."""

import random
from contextlib import suppress
from functools import partial
from pathlib import Path

import trio

import qsync
from admin.cluster import membership, remarks, surveys
from admin.cluster.documents import survey_members
from admin.cluster.surveys import ClusterSurvey
from admin.doctor import checks
from admin.doctor.facts import Facts
from admin.lab.ports import free_ports
from election.messages import Replica
from qsync.config import NodeConfig
from qsync.config.secret import fresh
from qsync.node.broadcast import values
from qsync.node.node import Node
from qsync.node.status import status
from tests.node.test_fault_hooks import aside
from tests.node.three import configs, leaders, link, running, until


async def test_members_with_one_secret_are_a_cluster_and_one_without_it_is_kept_out(
    tmp_path: Path,
) -> None:
    secret = fresh().text
    changed = {n: {"cluster.secret": secret} for n in (1, 2)}
    found = configs(tmp_path, changed=changed | {3: {"cluster.secret": fresh().text}})
    async with running(found) as nodes:
        await until(lambda: link(nodes[0], 2) == link(nodes[1], 1) == "up", "1 and 2 agree")
        await until(lambda: "ACCESS_DENIED" in link(nodes[0], 3), "1 is refused by 3")
        await until(lambda: "ACCESS_DENIED" in link(nodes[2], 1), "3 is refused by 1")
        assert nodes[0].server.refused["access_denied"] > 0
        assert not nodes[0].server.hears(3)


async def test_who_is_a_peer_is_what_the_log_says_whatever_a_file_lists(tmp_path: Path) -> None:
    found = configs(tmp_path)
    three = ",".join(f"{peer.id}:{peer.name}@{peer.address}" for peer in found[2].peers)
    four = {"peers": f"{three},4:n4@127.0.0.1:{free_ports(1)[0]}"}
    found[2] = NodeConfig.load(tmp_path / "n3.yaml", {}, four)
    async with running(found) as nodes:
        await until(lambda: link(nodes[0], 3) == link(nodes[2], 1) == "up", "1 and 3 agree")
        await until(lambda: len(leaders(nodes)) == 1, "they have a leader")
        assert set(nodes[2].links.links) == {1, 2}, "nobody dials what is only in a file"


async def test_who_was_removed_is_refused_by_the_leader_and_by_its_followers(
    tmp_path: Path,
) -> None:
    voter = {3: {"election.mode": "voter"}}
    found = configs(tmp_path, changed=voter, election__timeout="4s")
    async with running(found[:2]) as members:
        async with running(found[2:]):
            await until(lambda: len(leaders(members)) == 1, "one of the two leads")
            async with qsync.connect_async([str(each.address) for each in found]) as db:
                await db.members.remove(3, timeout=60)
        certain = [each.replica.machine.replicated_log for each in members]
        await until(
            lambda: all(
                log.configurations.has_removed(Replica(3), log.confirmed) for log in certain
            ),
            "both know it for certain",
        )
        async with running(found[2:]) as (gone,):
            words = "not in the configuration"
            await until(
                lambda: words in link(gone, 1) and words in link(gone, 2), "refused by both"
            )
            assert not any(each.server.hears(3) for each in members)
            await until(lambda: len(leaders(members)) == 1, "they go on without it")


async def test_who_was_removed_while_it_was_away_learns_it_from_the_members_and_says_so(
    tmp_path: Path,
) -> None:
    found = configs(tmp_path, changed={3: {"election.mode": "voter"}})
    async with running(found[:2]) as members:
        await until(lambda: len(leaders(members)) == 1, "one of the two leads")
        async with qsync.connect_async([str(each.address) for each in found[:2]]) as db:
            await db.members.remove(3, timeout=60)
        async with running(found[2:]) as (gone,):
            leader = leaders(members)[0].config.node
            await until(lambda: "not in the configuration" in link(gone, leader.id), "refused")
            says_that_it_is_out(gone)
            seen = await aside(partial(surveys.survey, [gone.address]))
            assert [each.standing for each in membership.members(seen)][2] == "removed"
            assert "n3 was removed from the cluster" in "".join(remarks.details(seen))
            assert roles(seen)[2] == "removed"
            wrong = checks.wrong(checks.run(Facts(survey=seen)))
            assert [str(each) for each in wrong] == []


def roles(seen: ClusterSurvey) -> list[object]:
    """As programs read them, by name."""
    nodes = survey_members(seen, surveys.judge(seen))["nodes"]
    assert isinstance(nodes, list)
    return [each["role"] for each in nodes]


def says_that_it_is_out(gone: Node) -> None:
    """A node that was away while it was removed has nothing of that in its log."""
    told = status(gone)
    assert told.voters[2][0] == 3, "by its own log it is a voter"
    assert (told.standing, told.ro_reason) == ("removed", "removed")
    (why,) = told.ro_texts
    assert "refuses it: replica 3 is not in the configuration {1, 2}" in why
    assert values(gone)["box.status"]() == {
        "is_ro": True,
        "is_ro_cfg": False,
        "ro_reason": "removed",
        "status": "running",
    }


FLIPS = 60


class Weather:
    """Flips bits of what passes, so many in all."""

    def __init__(self) -> None:
        self.flips = 0
        self._dice = random.Random(3)

    async def carry(
        self, source: trio.SocketStream, target: trio.SocketStream, both: trio.CancelScope
    ) -> None:
        """One way of a connection, until it breaks."""
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            async for received in source:
                data = bytearray(received)
                if self.flips < FLIPS and self._dice.random() < 0.05:
                    data[self._dice.randrange(len(data))] ^= 1 << self._dice.randrange(8)
                    self.flips += 1
                await target.send_all(data)
        both.cancel()

    async def road(self, port: int, near: trio.SocketStream) -> None:
        """A connection to the node at that port."""
        far = await trio.open_tcp_stream("127.0.0.1", port)
        async with near, far, trio.open_nursery() as both:
            both.start_soon(self.carry, near, far, both.cancel_scope)
            both.start_soon(self.carry, far, near, both.cancel_scope)


async def test_flipped_bits_between_members_end_connections_and_nothing_else(
    tmp_path: Path,
) -> None:
    ways = [(a, b) for a in (1, 2, 3) for b in (1, 2, 3) if a != b]
    ports = dict(zip(ways, free_ports(len(ways)), strict=True))
    found, weather = configs(tmp_path, via=ports), Weather()
    async with running(found) as nodes, trio.open_nursery() as nursery:
        for (_, to), port in ports.items():
            road = partial(weather.road, found[to - 1].address.port)
            nursery.start_soon(trio.serve_tcp, road, port)
        await until(lambda: len(leaders(nodes)) == 1, "somebody leads")
        addresses = [str(each.address) for each in found]
        async with qsync.connect_async(addresses, timeout=60) as db:
            await db.schema.create_space("t", format=[("id", "unsigned")], is_sync=True)
            number = 0
            while weather.flips < FLIPS:
                await db.space("t").replace([number])
                number += 1
            await db.space("t").replace([number])
            assert await db.space("t").count(consistency="linearizable") == number + 1
        assert max(node.replica.machine.term for node in nodes) < 100
        assert not any(node.replica.torn or node.timeline.counts["mishap"] for node in nodes)
        nursery.cancel_scope.cancel()
