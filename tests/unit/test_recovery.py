"""What going on from one survivor would lose, and what is refused."""

import json
from pathlib import Path

import pytest

from admin.certs import looking
from admin.recovery import forcing
from admin.recovery.failures import RecoveryRefused
from admin.recovery.survey import OtherLog, RecoverySurvey, survey
from admin.recovery.survivor import opened
from cli.main import run
from election.messages import Ballot, Index, Term
from election.roles import ElectionMode
from qsync.config import NodeConfig
from qsync.errors import ConfigError, Damaged
from qsync.node.assembly import open_storage
from qsync.tls.names import Bearer, CertifiedName
from tests.unit.logs import some, start_behind, write


def test_nothing_is_done_that_the_operator_did_not_agree_to() -> None:
    ahead = OtherLog(name="n2", place="d2", last=9, last_term=1, only_there=3, only_here=0)
    further = OtherLog(name="n3", place="d3", last=12, last_term=1, only_there=5, only_here=1)
    lost = OtherLog(name="n4", place="h:1", why="refused")
    found = survey_of(ahead, further, lost)
    assert (found.lost, found.unknown, found.pending) == (5, ("n4",), 2)
    assert found.better is further
    with pytest.raises(
        RecoveryRefused, match="n3 has 5 entries that n1 lacks, and --lose allows 4"
    ):
        forcing.check(found, lose=4, others_are_stopped=True)
    with pytest.raises(RecoveryRefused, match="no node answers"):
        forcing.check(found, lose=5, others_are_stopped=False)
    forcing.check(found, lose=5, others_are_stopped=True)
    runs = OtherLog(name="n2", place="h:1", runs=True, last=1, only_there=0, only_here=0)
    with pytest.raises(RecoveryRefused, match="n2 runs"):
        forcing.check(survey_of(runs), lose=9, others_are_stopped=True)
    forcing.check(survey_of(), lose=0, others_are_stopped=False)


def survey_of(*others: OtherLog) -> RecoverySurvey:
    return RecoverySurvey(name="n1", cluster="c", last=7, term=1, confirmed=5, others=others)


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """Three directories of one cluster, with logs of nine, six and nine other entries."""
    assert (
        run(["init", str(tmp_path), "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "--cluster"]) == 0
    )
    base = some(4)
    logs = {
        "n1": base + some(5, after=base[-1]),
        "n2": base + some(2, after=base[-1]),
        "n3": base + some(3, after=base[-1], term=2),
    }
    for name, entries in logs.items():
        config = NodeConfig.load(tmp_path / name / "node.yaml", {})
        storage = open_storage(config)
        storage.log.write(write(entries))
        storage.close()
    return tmp_path


def test_logs_of_directories_are_compared(cluster: Path) -> None:
    with opened(cluster / "n2") as left:
        found = survey(left, [cluster / "n1", cluster / "n3"])
        assert [(each.name, each.only_there, each.only_here) for each in found.others] == [
            ("n1", 3, 0),
            ("n3", 3, 2),
        ]
        assert (found.last, found.confirmed, found.lost) == (6, 0, 3)
        alone = survey(left)
        assert alone.unknown == ("n1", "n3")
        assert alone.lost == 0
        with pytest.raises(ConfigError, match="replica id of n2"):
            survey(left, [cluster / "n2"])


def test_the_log_to_go_on_from_is_that_of_the_later_term_and_not_the_longest(
    cluster: Path,
) -> None:
    """A long tail of a deposed leader lacks what a quorum has confirmed since (M8 a)."""

    def seen(name: str, others: tuple[str, str]) -> RecoverySurvey:
        with opened(cluster / name) as left:
            return survey(left, [cluster / each for each in others])

    for found in (seen("n1", ("n2", "n3")), seen("n2", ("n1", "n3"))):
        assert found.better is not None
        assert found.better.name == "n3"
    found = seen("n3", ("n1", "n2"))
    assert found.better is None
    with pytest.raises(RecoveryRefused, match="n1 has 5 entries that n3 lacks") as refused:
        forcing.check(found, lose=4, others_are_stopped=True)
    assert refused.value.hint == "say --lose 5"


def test_what_a_log_that_cannot_be_compared_is_ahead_by_counts_as_lost(cluster: Path) -> None:
    """It was trimmed up to behind the end of the survivor's."""
    storage = open_storage(NodeConfig.load(cluster / "n1" / "node.yaml", {}))
    entries = storage.log.entries(Index(1), Index(9))
    storage.log.trim(start_behind(entries[7]))
    storage.close()
    with opened(cluster / "n2") as left:
        found = survey(left, [cluster / "n1"])
    (n1, _) = found.others
    assert (n1.only_there, n1.at_least, found.lost) == (None, 3, 3)
    assert "n1" in found.unknown
    with pytest.raises(RecoveryRefused, match="n1 has 3 entries that n2 lacks"):
        forcing.check(found, lose=2, others_are_stopped=True)


def test_what_was_confirmed_and_trimmed_elsewhere_counts_as_lost_behind_a_longer_tail(
    cluster: Path,
) -> None:
    """The survivor led a former term, and did not hear of what a quorum has confirmed since."""
    storage = open_storage(NodeConfig.load(cluster / "n3" / "node.yaml", {}))
    entries = storage.log.entries(Index(1), Index(7))
    storage.log.trim(start_behind(entries[5]))
    storage.close()
    with opened(cluster / "n1") as left:
        found = survey(left, [cluster / "n3"])
        assert left.last == 9
    n3 = found.others[-1]
    assert (n3.name, n3.only_there, n3.at_least, found.lost) == ("n3", None, 2, 2)
    with pytest.raises(RecoveryRefused, match="n3 has 2 entries that n1 lacks"):
        forcing.check(found, lose=1, others_are_stopped=True)


def test_what_was_interrupted_while_leases_may_be_alive_cannot_be_started(tmp_path: Path) -> None:
    hosts = ["127.0.0.1:1", "127.0.0.1:2"]
    slow = ["--set", "election.timeout=9s", "--set", "replication.timeout=4s"]
    assert run(["init", str(tmp_path), *hosts, "--cluster", *slow]) == 0
    new, waited = tmp_path / "new", list[float]()

    def interrupted(seconds: float) -> None:
        waited.append(seconds)
        raise KeyboardInterrupt

    with opened(tmp_path / "n1") as left:
        with pytest.raises(KeyboardInterrupt):
            forcing.force(left, new, {}, sleep=interrupted)
        assert waited[0] > 5
        assert not (new / "node.yaml").exists()
        assert not (tmp_path / "n1/superseded.json").exists()
        forcing.force(left, new, {}, sleep=waited.append)
    assert (new / "node.yaml").exists()
    assert (tmp_path / "n1/superseded.json").exists()


def test_what_a_file_said_for_several_members_is_left_out_and_told(tmp_path: Path) -> None:
    """The one that is left would confirm nothing, or never lead."""
    hosts = ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"]
    said = ["--set", "replication.synchro_quorum=3", "--set", "election.mode=voter"]
    assert run(["init", str(tmp_path), *hosts, "--cluster", *said]) == 0
    with opened(tmp_path / "n1") as left:
        made = forcing.force(left, tmp_path / "new", {})
    assert made.dropped == ("replication.synchro_quorum = 3", "election.mode = voter")
    config = NodeConfig.load(tmp_path / "new/node.yaml", {})
    assert str(config.replication.synchro_quorum) != "3"
    assert config.election.mode is ElectionMode.CANDIDATE
    with opened(tmp_path / "n2") as left:
        chosen = forcing.force(left, tmp_path / "off", {"election.mode": "off"})
    assert chosen.dropped == ("replication.synchro_quorum = 3",)


def test_a_directory_of_another_cluster_is_not_compared(cluster: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert run(["init", str(other), "--set", "listen=127.0.0.1:4", "--set", "node.id=2"]) == 0
    with opened(cluster / "n1") as left, pytest.raises(ConfigError, match="another cluster"):
        survey(left, [other])


def test_a_damaged_survivor_is_refused_and_not_touched(cluster: Path) -> None:
    file = cluster / "n1/log/000000000001.log"
    before = file.read_bytes().replace(b"body 2", b"body x")
    file.write_bytes(before)
    with pytest.raises(Damaged, match="go on from another node"), opened(cluster / "n1"):
        pass
    assert file.read_bytes() == before


def test_a_log_without_its_rows_is_refused_and_stays_where_it_is(cluster: Path) -> None:
    """A node would set it aside and take all from the leader; here it may be the last one."""
    storage = open_storage(NodeConfig.load(cluster / "n1/node.yaml", {}))
    storage.log.trim(start_behind(storage.log.entries(Index(1), Index(9))[4]))
    storage.close()
    for _ in range(2):
        with pytest.raises(Damaged, match="rows up to index 5 are lost"), opened(cluster / "n1"):
            pass
    assert not list(cluster.glob("n1/log.*"))
    with opened(cluster / "n2") as left:
        found = survey(left, [cluster / "n1"])
    assert found.others[0].last == 9


def test_a_survivor_that_may_lack_what_it_had_is_told_of(
    cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    storage = open_storage(NodeConfig.load(cluster / "n2/node.yaml", {}))
    storage.log.write(write([], ballot=Ballot(term=Term(1), vote=None, member=False)))
    storage.lives.withdraw("another", "it was found")
    storage.close()
    assert run(["recover", str(cluster / "n2")]) == 0
    assert "its log was damaged, and it had not caught up" in capsys.readouterr().out
    storage = open_storage(NodeConfig.load(cluster / "n1/node.yaml", {}))
    storage.lives.withdraw(storage.directory.identity.instance, "n3 has met a later life of it")
    storage.close()
    assert run(["recover", str(cluster / "n1")]) == 0
    assert "old copy of its directory: n3 has met a later life" in capsys.readouterr().out
    assert run(["recover", str(cluster / "n3")]) == 0
    assert "may lack" not in capsys.readouterr().out


def test_a_directory_without_a_configuration_is_no_survivor(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no .*node\.yaml"), opened(tmp_path):
        pass


def test_an_empty_log_is_recovered_and_has_no_snapshot_that_nobody_can_read(
    tmp_path: Path,
) -> None:
    hosts = ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"]
    assert run(["init", str(tmp_path), *hosts, "--cluster"]) == 0
    with opened(tmp_path / "n1") as left:
        made = forcing.force(left, tmp_path / "new", {})
    assert made.index == 0
    assert not made.is_uncertified
    storage = open_storage(NodeConfig.load(tmp_path / "new/node.yaml", {}))
    assert storage.snapshots is not None
    assert not list(storage.snapshots.glob("*"))
    assert storage.quarantined is None
    storage.close()


def test_the_authority_of_the_old_cluster_certifies_the_new_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"]
    assert run(["init", str(tmp_path / "c"), *hosts, "--cluster", "--secure"]) == 0
    old, new, bare = (tmp_path / each for each in ("c/n1", "new", "bare"))
    with pytest.raises(ConfigError, match="has to be signed"), opened(old) as left:
        forcing.force(left, new, {}, tmp_path)
    assert not new.exists()
    certs = str(tmp_path / "c/certs")
    stopped = "--others-are-stopped"
    assert run(["recover", str(old), str(new), stopped, "--ca-dir", certs]) == 0
    assert "root.crt for the user root" in capsys.readouterr().err
    config = NodeConfig.load(new / "node.yaml", {})
    (own,) = looking.look(new / "tls/node.crt")
    assert own.names == (CertifiedName(config.cluster.id, Bearer.NODE, "n1"),)
    assert config.tls.certificate == new / "tls/node.crt"
    (shown,) = looking.look(new / "tls/root.crt")
    assert shown.names == (CertifiedName(config.cluster.id, Bearer.USER, "root"),)
    assert run(["recover", str(tmp_path / "c/n2"), str(bare), stopped]) == 0
    told = capsys.readouterr().err
    assert "its certificate is one of the old cluster" in told
    cluster = NodeConfig.load(bare / "node.yaml", {}).cluster.id
    assert f"`qsync cert node n2 --cluster {cluster}`" in told


def test_files_of_a_survivor_that_is_named_by_a_relative_path_are_found_from_the_new_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    hosts = ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"]
    assert run(["init", "c", *hosts, "--cluster", "--secure"]) == 0
    assert run(["recover", "c/n2", "new", "--others-are-stopped"]) == 0
    config = NodeConfig.load(tmp_path / "new/node.yaml", {})
    assert config.tls.ca == tmp_path / "c/n2/tls/ca.crt"
    where = json.loads((tmp_path / "c/n2/superseded.json").read_text())["where"]
    assert where == str(tmp_path / "new")


@pytest.fixture
def idle(tmp_path: Path) -> Path:
    """The directory of a member of a cluster in which nobody has written anything."""
    hosts = ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"]
    assert run(["init", str(tmp_path), *hosts, "--cluster"]) == 0
    return tmp_path / "n1"


@pytest.mark.parametrize("given", [False, True])
def test_the_new_cluster_knows_the_secret_of_the_old_one(
    idle: Path, tmp_path: Path, given: bool
) -> None:
    """By it the old nodes are shown that they are superseded; another one only if it is named."""
    options, old = {}, NodeConfig.load(idle / "node.yaml", {}).secret
    if given:
        (tmp_path / "mine").write_text("only-the-members-know\n", "utf-8")
        options = {"cluster.secret_file": str(tmp_path / "mine")}
    with opened(idle) as left:
        forcing.force(left, tmp_path / "new", options)
    new = NodeConfig.load(tmp_path / "new/node.yaml", {})
    assert new.secret.text == ("only-the-members-know" if given else old.text) != ""
    assert new.values()["cluster.secret_file"] == "secret"
    assert (tmp_path / "new/secret").stat().st_mode & 0o777 == 0o600


def test_of_a_cluster_without_a_secret_another_one_without_is_made(
    idle: Path, tmp_path: Path
) -> None:
    """Or its nodes would believe the new one nothing."""
    file = idle / "node.yaml"
    file.write_text(file.read_text("utf-8").replace("  secret_file: secret", ""), "utf-8")
    with opened(idle) as left:
        forcing.force(left, tmp_path / "new", {})
    assert not NodeConfig.load(tmp_path / "new/node.yaml", {}).secret
    assert not (tmp_path / "new/secret").exists()
