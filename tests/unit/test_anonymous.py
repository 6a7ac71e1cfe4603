"""Replicas that are no members: who is known, for how long, and what is kept for them."""

from dataclasses import replace

import pytest

from election.messages import Index, Replica
from qsync.core.configuration import Configurations, all_of
from qsync.core.retention import HoldKind
from qsync.data.members import CODEC
from qsync.errors import ForeignCluster, NotMember, Overloaded
from qsync.node.anonymous import WORD, AnonymousLeases
from qsync.record import Instance, instance_text
from qsync.wire.session import Hello, Party
from tests.node.lone import CONFIG, Lone

FOUNDERS = all_of([Replica(1), Replica(2), Replica(3)])
VOTERS = Configurations(FOUNDERS, CODEC)
NOBODY = Configurations(None, CODEC)
TTL = 60.0


def hello(replica: int, number: int) -> Hello:
    return Hello(
        party=Party.PEER,
        cluster="c",
        instance=instance_text(Instance(number)),
        replica=replica,
        name=f"a{replica}",
        address=f"host:{3300 + replica}",
        features=(WORD,),
    )


@pytest.fixture
def leases() -> AnonymousLeases:
    return AnonymousLeases(most=2, ttl=TTL)


def names(leases: AnonymousLeases) -> list[str]:
    return [each.name for each in leases.known.values()]


def test_one_more_than_the_limit_is_refused_and_one_that_is_known_is_not(
    leases: AnonymousLeases,
) -> None:
    leases.admit(hello(31, 100), VOTERS, now=0.0)
    leases.admit(hello(30, 101), VOTERS, now=0.0)
    with pytest.raises(Overloaded, match=r"the limit is replication\.anon_max"):
        leases.admit(hello(29, 102), VOTERS, now=0.0)
    leases.admit(hello(31, 100), VOTERS, now=1.0)
    assert names(leases) == ["a31", "a30"]


def test_a_lease_lasts_while_it_is_connected_and_for_its_time_after_that(
    leases: AnonymousLeases,
) -> None:
    leases.admit(hello(31, 100), VOTERS, now=0.0)
    assert leases.renew(TTL * 5, lambda _, __: True, VOTERS) == []
    assert leases.renew(TTL * 6 - 1, lambda _, __: False, VOTERS) == []
    (gone,) = leases.renew(TTL * 6, lambda _, __: False, VOTERS)
    assert gone.name == "a31"
    assert not leases.known


def test_an_id_that_somebody_has_is_refused(leases: AnonymousLeases) -> None:
    with pytest.raises(ForeignCluster, match="that of a member"):
        leases.admit(hello(2, 100), VOTERS, now=0.0)
    leases.admit(hello(31, 100), VOTERS, now=0.0)
    with pytest.raises(ForeignCluster, match="another anonymous replica"):
        leases.admit(hello(31, 101), VOTERS, now=0.0)
    leases.renew(1.0, lambda _, __: False, VOTERS)
    leases.admit(hello(31, 101), VOTERS, now=1.0)
    assert list(leases.known) == [instance_text(Instance(101))], "its former disk is gone"


def test_who_comes_back_is_known_as_far_as_it_was(leases: AnonymousLeases) -> None:
    leases.admit(hello(31, 100), VOTERS, now=0.0)
    (lease,) = leases.known.values()
    lease.index = Index(7)
    leases.admit(hello(31, 100), VOTERS, now=9.0)
    (lease,) = leases.known.values()
    assert (lease.index, lease.until) == (7, 9.0 + TTL)


def test_who_was_made_a_member_is_anonymous_no_more(leases: AnonymousLeases) -> None:
    leases.admit(hello(31, 100), VOTERS, now=0.0)
    (own,) = all_of([Replica(31)], Instance(100)).members
    with_it = Configurations(FOUNDERS.with_(own), CODEC)
    (over,) = leases.renew(1.0, lambda _, __: True, with_it)
    assert over.name == "a31"
    leases.admit(hello(31, 100), with_it, now=2.0)
    assert not leases.known


def test_a_member_that_was_removed_is_not_anonymous_again(leases: AnonymousLeases) -> None:
    leases.admit(hello(31, 100), VOTERS, now=0.0)
    (own,) = all_of([Replica(31)], Instance(100)).members
    removed = Configurations(FOUNDERS.with_(own), CODEC)
    removed.begin_at(CODEC.encode(FOUNDERS.members, before=FOUNDERS.members))
    removed.followed = removed.in_force
    # Added and removed between two looks at the leases: what it had is over all the same.
    assert [each.name for each in leases.renew(1.0, lambda _, __: True, removed)] == ["a31"]
    with pytest.raises(NotMember, match="cannot follow as an anonymous one"):
        leases.admit(hello(31, 100), removed, now=2.0)
    leases.admit(hello(31, 101), removed, now=2.0)
    assert names(leases) == ["a31"], "another directory is another replica"


def test_log_is_kept_for_it_and_no_more_than_for_any_consumer(leases: AnonymousLeases) -> None:
    lone = Lone()
    lone.settle()
    log = lone.replica.machine.replicated_log
    leases.admit(hello(31, 100), NOBODY, now=0.0)
    assert leases.holds(log, CONFIG) == [], "nobody knows how far it is"
    (lease,) = leases.known.values()
    lease.index = Index(1)
    (hold,) = leases.holds(log, CONFIG)
    assert (hold.kind, hold.index) == (HoldKind.ANONYMOUS, 1)
    lone.submit([17, {"replication.synchro_timeout": "4s"}])
    lone.settle()
    assert leases.holds(log, replace(CONFIG, wal_retention_size=1)) == []
