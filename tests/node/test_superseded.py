"""A node of a cluster whose history goes on elsewhere, after a forced recovery (M8 e)."""

from pathlib import Path

import pytest
import trio

import qsync
from admin.cluster import surveys
from admin.cluster.sampler import Sampler
from admin.cluster.surveys import ClusterHealth, ClusterSurvey
from admin.lab.ports import free_ports
from admin.recovery import forcing
from admin.recovery.survivor import opened
from cli.main import run
from election.messages import Index
from qsync import audit
from qsync.client.one_node_aio import AsyncNodeConnection
from qsync.config import NodeConfig
from qsync.core.consistency import Consistency
from qsync.core.messages import Append
from qsync.errors import OutcomeUnknown, Superseded
from qsync.node.assembly import open_storage
from qsync.node.node import Node
from qsync.node.status import status
from qsync.status import health
from qsync.store.superseded import FILE
from qsync.wire import verbs
from qsync.wire.verbs import Verb
from tests.node import three
from tests.node.test_fault_hooks import aside

SECRET = "only-the-members-know"
FAST = {"election.timeout": "200ms", "replication.timeout": "50ms"}
READ = verbs.GetRequest(1, "_cluster", 0, [1], verbs.ReadLevel(Consistency.LOCAL))
LOG = verbs.LogRequest(3, Index(1), 9, 1 << 16)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The directories of a cluster of three that ran once, and never again together."""
    addresses = [f"127.0.0.1:{port}" for port in free_ports(3)]
    fast = [word for key, value in FAST.items() for word in ("--set", f"{key}={value}")]
    secret = ["--set", f"cluster.secret={SECRET}"]
    assert run(["init", str(tmp_path), *addresses, "--cluster", *fast, *secret]) == 0
    return tmp_path


async def test_what_waits_on_a_node_that_is_superseded_ends_at_once_and_says_what_to_do(
    old: Path,
) -> None:
    """Its leader has a write that no quorum has; whether that survived nobody there can know."""
    with opened(old / "n3") as left:
        made = forcing.force(left, old / "new", {})
    new = NodeConfig.load(old / "new/node.yaml", {})
    first = NodeConfig.load(old / "n1/node.yaml", {})
    other = NodeConfig.load(old / "n2/node.yaml", {}, {"election.mode": "voter"})
    async with three.running([first, other]) as (leader, voter), trio.open_nursery() as clients:
        await three.until(lambda: leader in three.leaders([leader]), "it leads")
        async with qsync.connect_async(leader.address) as db:
            await db.schema.create_space("t", is_sync=True)
            leader.loop.loses = lambda message: isinstance(message, Append)
            told: list[OutcomeUnknown] = []

            async def insert() -> None:
                with pytest.raises(OutcomeUnknown) as raised:
                    await db.space("t").insert([1], timeout=300)
                told.append(raised.value)

            clients.start_soon(insert)
            await three.until(lambda: len(leader.requests.tickets) > 0, "it waits")
            async with three.running([new]) as (fresh,):
                await three.until(lambda: bool(told), "it is answered")
                await both_stand_apart(fresh, leader, voter, made.cluster)
    (unknown,) = told
    assert unknown.details["superseded_by"] == made.cluster
    assert "only the data of that cluster can tell" in unknown.hint
    assert not unknown.token, "the other cluster knows no such number"


async def both_stand_apart(fresh: Node, first: Node, second: Node, cluster: str) -> None:
    """Superseded nodes are no part of the verdict on the cluster that goes on."""
    await three.until(lambda: status(second).status == "superseded", "the other one hears of it")
    found = await aside(lambda: surveys.survey([first.address, second.address, fresh.address]))
    assert surveys.judge(found).health is ClusterHealth.HEALTHY
    assert [each.name for each in found.apart] == ["n1", "n2"]
    # Where nobody else answers, that is all there is to say.
    alone = ClusterSurvey(samples=found.apart)
    assert surveys.judge(alone).sentence == (
        f"Down: n1, n2 are superseded: their history continues in cluster {cluster}."
    )
    # And so it is for who watches.
    async with trio.open_nursery() as watching:
        sampler = Sampler([first.address, fresh.address], period=0.05)
        watching.start_soon(sampler.run)
        await three.until(lambda: len(sampler.moment().survey.apart) > 1, "all are found")
        seen = sampler.moment().survey
        watching.cancel_scope.cancel()
    assert [each.name for each in seen.samples] == ["n3"]
    assert surveys.judge(seen).health is ClusterHealth.HEALTHY


async def test_who_meets_the_cluster_that_was_made_of_its_own_serves_nothing_any_more(
    old: Path,
) -> None:
    with opened(old / "n3") as left:
        made = forcing.force(left, old / "new", {})
    for directory in (old / "new", old / "n3"):
        ((_, text),) = audit.lines_of(audit.files_of(directory))
        said = audit.fields_of(text)
        assert (said["event"], said["to"]) == ("forced_recovery", str(old / "new"))
    new = NodeConfig.load(old / "new/node.yaml", {})
    first = NodeConfig.load(old / "n1/node.yaml", {})
    other = NodeConfig.load(old / "n2/node.yaml", {}, {"cluster.secret": "what-nobody-knows"})
    async with three.running([new, first, other]) as (fresh, node, stranger):
        await three.until(lambda: status(node).status == "superseded", "it is told")
        told = status(node)
        assert told.ro_reason == "superseded"
        assert len(told.ro_reasons) == 1, "no election concerns it"
        assert made.cluster in told.ro_texts[0]
        assert str(health.unsound(told)).startswith("superseded: ")
        assert (old / "n1" / FILE).exists()
        assert node.replica.machine.leader is None
        assert node.replica.machine.raft.leader is None
        async with await AsyncNodeConnection.open(node.address) as line:
            with pytest.raises(Superseded, match=made.cluster):
                await line.ask(READ)
            for request in (verbs.PlainRequest(2, Verb.STATUS), LOG):
                await line.ask(request)
        # A node that does not prove the secret gets no information and is not believed.
        await three.until(lambda: "secret" in three.link(stranger, 3), "it is refused")
        assert status(stranger).status != "superseded"
        assert status(fresh).status == "running"
        assert not any(link.status == "up" for link in node.links.links.values())
    with pytest.raises(Superseded, match=f"cluster {made.cluster}, at {fresh.address}"):
        open_storage(first)
    open_storage(other).close()
