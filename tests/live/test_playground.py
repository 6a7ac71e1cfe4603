"""The pytest plugin, used as an application's own tests would use it."""

import pytest

import qsync
from admin.certs import ADMINISTRATOR
from admin.cluster import surveys
from admin.drills.failures import DrillStopped
from admin.drills.hooks import guards
from admin.lab.playground import Playground
from qsync.client import security
from qsync.errors import ConfigError, QsyncError, Unavailable

pytestmark = pytest.mark.slow

FORMAT = [("id", "unsigned"), ("value", "string")]


def test_a_write_survives_the_leader_that_took_it(qsync_cluster: Playground) -> None:
    with qsync_cluster.connect() as db:
        db.schema.create_space("things", is_sync=True, format=FORMAT)
        db.space("things").replace([1, "kept"])
        killed = qsync_cluster.kill_leader()
        assert qsync_cluster.wait_writable() != killed
        assert db.space("things").get(1, consistency="linearizable") == [1, "kept"]
        qsync_cluster.heal()
        qsync_cluster.wait_healthy()


def test_the_minority_side_of_a_partition_takes_no_writes(qsync_cluster: Playground) -> None:
    old = qsync_cluster.wait_writable()
    rest = [name for name in qsync_cluster.names if name != old]
    with qsync_cluster.connect() as db:
        db.schema.create_space("things", is_sync=True, format=FORMAT)
    qsync_cluster.partition([old], rest)
    assert qsync_cluster.wait_writable(among=rest) in rest
    address = qsync_cluster.lab.node(old).address
    with qsync.connect(address, timeout=2, direct=True) as cut_off, pytest.raises(QsyncError):
        cut_off.space("things").replace([1, "nowhere"])
    qsync_cluster.heal()
    qsync_cluster.wait_healthy()


def test_a_paused_leader_is_replaced(qsync_cluster: Playground) -> None:
    old = qsync_cluster.wait_writable()
    qsync_cluster.pause(old)
    assert qsync_cluster.wait_writable() != old
    qsync_cluster.resume(old)
    qsync_cluster.wait_healthy()


@pytest.mark.qsync_cluster(nodes=1, secure=True)
def test_a_secure_cluster_is_dialled_and_logged_in_to_as_it_wants(
    qsync_cluster: Playground,
) -> None:
    with qsync_cluster.connect() as db:
        assert db.users.info()["user"] == ADMINISTRATOR
        db.schema.create_space("things", is_sync=True, format=FORMAT)
        db.space("things").replace([1, "kept"])
    (node,) = qsync_cluster.addresses
    with security.assumed(None), pytest.raises(QsyncError):
        qsync.connect(node, connect_timeout=1)
    qsync_cluster.kill("n1")
    qsync_cluster.heal()
    qsync_cluster.wait_healthy()
    with qsync_cluster.connect() as db:
        assert db.space("things").get(1, consistency="linearizable") == [1, "kept"]


@pytest.mark.qsync_cluster(nodes=1, secure=True)
def test_a_drill_of_a_user_who_gets_no_evidence_does_not_begin(
    qsync_cluster: Playground, monkeypatch: pytest.MonkeyPatch
) -> None:
    with qsync_cluster.connect() as db:
        db.users.create("ann", "correct horse")
        guards.check_rights(surveys.survey(qsync_cluster.addresses))
        monkeypatch.setenv("QSYNC_USER", "ann")
        monkeypatch.setenv("QSYNC_PASSWORD", "correct horse")
        with pytest.raises(DrillStopped, match="user 'ann' lacks the right dump"):
            guards.check_rights(surveys.survey(qsync_cluster.addresses))
        db.users.grant("ann", ["dump"])
        guards.check_rights(surveys.survey(qsync_cluster.addresses))


@pytest.mark.qsync_cluster(nodes=1, options={"replication.synchro_timeout": "1s"})
def test_the_marker_asks_for_another_cluster(qsync_cluster: Playground) -> None:
    assert qsync_cluster.names == ["n1"]
    assert 'synchro_timeout: "1s"' in qsync_cluster.lab.nodes[0].config.read_text()
    with pytest.raises(ConfigError, match="no node 'n9'"):
        qsync_cluster.partition(["n9"])
    with pytest.raises(ConfigError, match="two groups"):
        qsync_cluster.partition(["n1"], ["n1"])
    qsync_cluster.kill("n1")
    with pytest.raises(Unavailable, match="no leader to kill"):
        qsync_cluster.kill_leader()
    with pytest.raises(Unavailable, match="takes writes"):
        qsync_cluster.wait_writable(timeout=0.1)
