"""One more node of a cluster is laid out: with TLS it gets a certificate of that cluster."""

from pathlib import Path

import pytest
from msgspec import structs

from admin.certs import looking
from admin.cluster import ask, membership
from admin.cluster.surveys import ClusterSurvey
from admin.lab import founding
from election.messages import Replica
from qsync.config import NodeConfig
from qsync.errors import ConfigError, Unavailable, WrongVersion
from qsync.record import Instance, instance_text
from qsync.status.members import ElectionStatus
from qsync.status.record import ClusterName, NodeStatus, ReplicaSet
from qsync.status.upgrade import UpgradeStatus
from qsync.tls.names import Bearer, CertifiedName
from qsync.wire.session import Greeting
from tests.certificates import CLUSTER, Authority

ONE = NodeStatus(
    id=1,
    name="n1",
    status="running",
    nodes=((1, "n1", "127.0.0.1:3301"),),
    replicaset=ReplicaSet(uuid=CLUSTER, name="c"),
    cluster=ClusterName(name="c"),
)
RUNNING = ClusterSurvey(samples=(ONE,))
INSTANCE = instance_text(Instance(7))
WHERE = "127.0.0.1:3302"


def greeted(*features: str) -> Greeting:
    """The greeting of a node that waits to be added."""
    return Greeting(
        cluster=CLUSTER, instance=INSTANCE, replica=Replica(2), name="n2", features=features
    )


def test_a_node_that_joins_a_secure_cluster_is_signed_for_by_its_authority(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "certs")
    node = tmp_path / "n2"
    made = founding.joining(node, RUNNING, WHERE, {}, authority=authority.path)
    config = NodeConfig.load(made.members[0].file, {})
    assert config.tls.on
    assert config.tls.certificate == node / "tls/node.crt"
    found = looking.judge(
        node / "tls/node.crt",
        ca=node / "tls/ca.crt",
        key=node / "tls/node.key",
        wanted=CertifiedName(CLUSTER, Bearer.NODE, "n2"),
        hosts=["127.0.0.1"],
    )
    assert found == []


def test_a_release_that_cannot_read_the_log_is_added_to_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leader = structs.replace(
        ONE,
        election=ElectionStatus(state="leader", term=1),
        upgrade=UpgradeStatus(features=("users",)),
    )
    found = ClusterSurvey(samples=(leader,))

    def greets(*words: str) -> None:
        there = greeted(*words)
        monkeypatch.setattr(ask, "greeting", lambda _address, timeout: there)

    greets("release:0.0.9")
    with pytest.raises(WrongVersion, match="uses feature users, which the release of n2 does not"):
        membership.newcomer(found, WHERE, timeout=1)
    greets("release:0.1.0", "log:users")
    assert membership.newcomer(found, WHERE, timeout=1).name == "n2"


def test_who_waits_for_a_new_node_reads_once_for_what_and_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = greeted("release:0.1.0")
    attempts: list[str] = []
    said: list[str] = []

    def greeting(address: str, timeout: float) -> Greeting:
        attempts.append(address)
        if len(attempts) < 4:
            raise Unavailable(f"{address}: name or service not known")
        return there

    monkeypatch.setattr(ask, "greeting", greeting)
    monkeypatch.setattr(membership, "ASKED_AGAIN_S", 0.0)
    one = membership.newcomer(RUNNING, WHERE, timeout=30, progress=said.append)
    assert (one.name, len(attempts)) == ("n2", 4)
    assert said == [f"{WHERE}: name or service not known; waiting for it up to 30 s"]


def test_no_member_moves_to_where_another_one_is() -> None:
    at = {1: "127.0.0.1:3301", 2: WHERE}
    known = structs.replace(
        ONE,
        nodes=tuple((id, f"n{id}", where) for id, where in at.items()),
        members=((1, INSTANCE, "voter"), (2, INSTANCE, "voter")),
    )
    found = ClusterSurvey(samples=(known,))
    first, second = membership.members(found)
    with pytest.raises(ConfigError, match="n1 is dialled at"):
        membership.check_free(found, second, at[1])
    membership.check_free(found, first, at[1])
    membership.check_free(found, first, "127.0.0.1:3309")


def test_without_an_authority_nothing_is_laid_out(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ca\.crt is not there"):
        founding.joining(tmp_path / "n2", RUNNING, WHERE, {}, authority=tmp_path / "none")
    assert not (tmp_path / "n2").exists()


def test_what_is_not_an_address_is_not_waited_for() -> None:
    said: list[str] = []
    with pytest.raises(ConfigError, match=r"write \[::1\]:13411"):
        membership.newcomer(RUNNING, "::1:13411", timeout=0.1, progress=said.append)
    assert said == []


def test_a_new_member_is_dialled_at_the_usual_spelling_of_its_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = greeted("release:0.1.0")
    monkeypatch.setattr(ask, "greeting", lambda _address, timeout: there)
    assert membership.newcomer(RUNNING, "[0:0::1]:5", timeout=1).address == "[::1]:5"
