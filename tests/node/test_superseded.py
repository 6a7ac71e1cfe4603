"""A node of a cluster whose history goes on elsewhere, after a forced recovery (M8 e)."""

from pathlib import Path

import pytest

from admin.lab.ports import free_ports
from admin.recovery import forcing
from admin.recovery.survivor import opened
from cli.main import run
from election.messages import Index
from qsync import audit
from qsync.client.one_node_aio import AsyncNodeConnection
from qsync.config import NodeConfig
from qsync.core.inputs import Consistency
from qsync.errors import Superseded
from qsync.node.assembly import open_storage
from qsync.node.status import status
from qsync.status import health
from qsync.store.superseded import FILE
from qsync.wire import verbs
from qsync.wire.verbs import Verb
from tests.node import three

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
        # Who cannot prove that it knows the secret is told nothing, and believes nothing.
        await three.until(lambda: "secret" in three.link(stranger, 3), "it is refused")
        assert status(stranger).status != "superseded"
        assert status(fresh).status == "running"
        assert not any(link.status == "up" for link in node.links.links.values())
    with pytest.raises(Superseded, match=f"cluster {made.cluster}, at {fresh.address}"):
        open_storage(first)
    open_storage(other).close()
