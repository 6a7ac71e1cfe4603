"""The members of a cluster: rows of `_cluster`, founders, and the peers that follow from them."""

import json
from pathlib import Path

import cbor2
import pytest

from election.messages import Index, Replica
from election.quorum import Quorum
from qsync.core.config import CoreConfig
from qsync.core.configuration import Configuration, Configurations, all_of
from qsync.core.logindex import LogIndex
from qsync.core.peers import Peers, follow_members, forget_stranger
from qsync.core.progress import Membership, Progress
from qsync.data.members import CODEC, member_of, row_of
from qsync.errors import Damaged
from qsync.member import MEMBERS_MAX, Member, MemberRole, Standing
from qsync.record import (
    CONFIG,
    EntryKind,
    Instance,
    LimboRef,
    Lsn,
    instance_text,
    make,
    ref_body,
)
from qsync.store.opening import Founder, found

ONE = Member(Replica(1), Instance(11), name="n1", address="127.0.0.1:3301")
TWO = Member(Replica(2), Instance(12), MemberRole.LEARNER, "n2", "127.0.0.1:3302")
OLD = Member(Replica(3), Instance(13))
ADD = CODEC.encode((ONE, OLD), before=(ONE,))
REMOVE = CODEC.encode((ONE,), before=(ONE, OLD))
TAKE_BACK = ref_body(LimboRef(Replica(1), Lsn(1)))


def body_of(*rows: list[object]) -> bytes:
    """A transaction that puts these rows into `_cluster`."""
    return cbor2.dumps([b"", 0, 0, [[320, b"", cbor2.dumps(row)] for row in rows], []])


def test_a_configuration_is_read_as_it_was_written() -> None:
    members = (ONE, TWO, OLD)
    assert CODEC.decode(CODEC.encode(members, before=())) == members


def test_a_row_of_a_former_release_is_a_voter_without_name_and_address() -> None:
    assert row_of(OLD) == [3, instance_text(Instance(13))]
    assert member_of([3, instance_text(Instance(13))]) == OLD


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([row_of(TWO)], id="no voter"),
        pytest.param([row_of(ONE), row_of(ONE)], id="one twice"),
        pytest.param([row_of(OLD), row_of(ONE)], id="out of order"),
        pytest.param([[MEMBERS_MAX + 1, instance_text(Instance(1))]], id="an id too high"),
        pytest.param([[1, "no uuid"]], id="no instance"),
        pytest.param([[1, instance_text(Instance(1)), "king", "n1", ""]], id="no role"),
        pytest.param([[1]], id="no instance at all"),
    ],
)
def test_a_configuration_that_makes_no_sense_is_damage(rows: list[list[object]]) -> None:
    with pytest.raises(Damaged):
        CODEC.decode(body_of(*rows))


def test_a_learner_is_a_member_that_counts_nowhere() -> None:
    configuration = Configuration((ONE, TWO, OLD))
    assert configuration.replicas == (1, 3)
    assert configuration.voters == ((1, 11), (3, 13))
    assert not configuration.names(TWO.replica, TWO.instance)
    assert configuration.role_of(TWO.replica, TWO.instance) is MemberRole.LEARNER
    assert configuration.role_of(TWO.replica, Instance(99)) is None
    assert str(configuration) == "{1, 2 learner, 3}"


def test_who_comes_into_the_configuration_is_a_peer_and_who_goes_is_none() -> None:
    peers: Peers = {}
    follow_members(peers, Configuration((ONE, TWO, OLD)), me=Replica(1))
    assert sorted(peers) == [2, 3]
    follow_members(peers, Configuration((ONE, TWO)), me=Replica(1))
    assert sorted(peers) == [2]


def test_who_was_removed_stays_a_peer_for_as_long_as_it_is_connected() -> None:
    peers: Peers = {}
    follow_members(peers, all_of(map(Replica, (1, 2, 3))), me=Replica(1))
    gone = peers[Replica(3)]
    gone.connected, gone.instance = True, Instance(0)
    gone.take_role(MemberRole.VOTER)
    without = all_of(map(Replica, (1, 2)))
    follow_members(peers, without, me=Replica(1))
    assert peers[Replica(3)].membership is Membership.STRANGER
    gone.connected = False
    forget_stranger(peers, gone, without)
    assert sorted(peers) == [2]


@pytest.mark.parametrize(
    ("instance", "standing"),
    [
        pytest.param(OLD.instance, Standing.REMOVED, id="the member"),
        pytest.param(Instance(99), Standing.STRANGER, id="another directory with its id"),
    ],
)
def test_who_was_removed_knows_it_after_a_snapshot(instance: Instance, standing: Standing) -> None:
    configurations = Configurations(Configuration((ONE, OLD)), CODEC)
    configurations.begin_at(CODEC.encode((ONE,), before=(ONE,)))
    configurations.followed = configurations.in_force
    me = CoreConfig(
        me=OLD.replica, voters=(), synchro_quorum=Quorum("N / 2 + 1"), instance=instance
    )
    assert configurations.standing_of(me, Index(9)) is standing


@pytest.mark.parametrize(
    ("changes", "confirmed", "standing"),
    [
        pytest.param([ADD, REMOVE], 2, Standing.REMOVED, id="removed"),
        pytest.param([ADD, REMOVE], 1, Standing.STRANGER, id="its removal may be taken back"),
        pytest.param([ADD, TAKE_BACK], 2, Standing.ANONYMOUS, id="its addition was taken back"),
        pytest.param([], 0, Standing.ANONYMOUS, id="it never was a member"),
    ],
)
def test_an_anonymous_replica_is_one_until_it_was_a_member(
    changes: list[bytes], confirmed: int, standing: Standing
) -> None:
    configurations, log = Configurations(Configuration((ONE,)), CODEC), LogIndex()
    for index, body in enumerate(changes, 1):
        kind = EntryKind.ROLLBACK if body is TAKE_BACK else EntryKind.TXN
        entry = make(
            index=index,
            term=1,
            origin=1,
            lsn=index,
            kind=kind,
            flags=CONFIG if kind is EntryKind.TXN else 0,
            time=0.0,
            body=body,
            previous=log.crc_at(log.last),
        )
        log.push(entry)
        configurations.took(entry, log)
    configurations.followed = configurations.in_force
    me = CoreConfig(
        me=OLD.replica,
        voters=(),
        synchro_quorum=Quorum("N / 2 + 1"),
        instance=OLD.instance,
        anon=True,
    )
    assert configurations.standing_of(me, Index(confirmed)) is standing


def test_a_learner_that_answers_still_does_not_count() -> None:
    progress = Progress(Replica(2))
    progress.take_role(MemberRole.LEARNER)
    progress.answered(recruit=False, now=1.0)
    assert not progress.counts
    progress.take_role(MemberRole.VOTER)
    assert not progress.counts
    progress.answered(recruit=False, now=2.0)
    assert progress.counts


def test_a_directory_names_the_founders_with_their_names_and_addresses(tmp_path: Path) -> None:
    founders = [
        Founder(replica=Replica(n), name=f"n{n}", path=tmp_path / f"{n}", address=f"host{n}:3301")
        for n in (1, 2)
    ]
    first, second = found("8c2f6b1e-0c5a-4f62-9d0e-3a7d1b9c4e55", founders)
    assert first.founders == second.founders
    assert [(each.name, each.address) for each in first.founders] == [
        ("n1", "host1:3301"),
        ("n2", "host2:3301"),
    ]
    assert instance_text(first.founders[1].instance) == second.instance
    stored = json.loads((tmp_path / "1" / "identity.json").read_text())
    assert stored["founders"][0][2:] == ["voter", "n1", "host1:3301"]
