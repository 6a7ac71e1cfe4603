"""One more node of a cluster is laid out: with TLS it gets a certificate of that cluster."""

from pathlib import Path

import pytest

from admin.certs import looking
from admin.cluster.surveys import ClusterSurvey
from admin.lab import founding
from qsync.config import NodeConfig
from qsync.errors import ConfigError
from qsync.status.record import ClusterName, NodeStatus, ReplicaSet
from qsync.tls.names import Bearer, CertifiedName
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
WHERE = "127.0.0.1:3302"


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


def test_without_an_authority_nothing_is_laid_out(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ca\.crt is not there"):
        founding.joining(tmp_path / "n2", RUNNING, WHERE, {}, authority=tmp_path / "none")
    assert not (tmp_path / "n2").exists()
