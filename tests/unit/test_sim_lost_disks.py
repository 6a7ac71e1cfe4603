"""Disks that are lost and found again in the simulator: never more than a cluster can survive."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from election.messages import Index, Replica
from qsync.core.configuration import Configuration
from qsync.core.member_change import MemberChange, RemoveMember, ReplaceMember, SetRole
from qsync.faults import Fault
from qsync.member import Member, MemberRole
from qsync.record import Instance
from qsync.sim.membership import leaves_too_few
from qsync.sim.troubles import TROUBLES, NemesisContext, Undo


@dataclass
class _Log:
    """What a node knows of the members; all of it is confirmed."""

    in_force: Configuration
    confirmed: Index = Index(1)

    @property
    def configurations(self) -> Any:
        return SimpleNamespace(in_force=self.in_force, last_decisive=Index(1))


@dataclass
class _Node:
    """A process and its directory; the directories come one after the other."""

    me: Replica
    log: _Log
    directories: list[Instance]
    up: bool = True
    instance: Instance = field(init=False)

    def __post_init__(self) -> None:
        self.instance = self.directories[0]

    @property
    def core(self) -> Any:
        return SimpleNamespace(machine=SimpleNamespace(replicated_log=self.log))

    def start(self) -> None:
        self.up = True

    def stop(self, *, power: bool) -> None:
        self.up = False

    def exchange(self, instance: Instance | None = None) -> None:
        self.instance = self.directories[1] if instance is None else instance


def _directory(number: int, copy: int) -> Instance:
    return Instance(10 * number + copy)


def _voters(*pairs: tuple[int, int]) -> Configuration:
    return Configuration(
        tuple(
            Member(Replica(number), _directory(number, copy), MemberRole.VOTER, f"n{number}")
            for number, copy in pairs
        )
    )


class _Cluster:
    """Three nodes; node 1 is struck."""

    def __init__(self) -> None:
        first = _voters((1, 0), (2, 0), (3, 0))
        self.nodes = [
            _Node(Replica(n), _Log(first), [_directory(n, 0), _directory(n, 1)]) for n in (1, 2, 3)
        ]
        scene: Any = SimpleNamespace(losses=0, dice=SimpleNamespace(random=lambda: 0.0))
        self.victim = self.nodes[0]
        scene.nodes, scene.note = self.nodes, lambda _: None
        scene.swarm = SimpleNamespace(variety=SimpleNamespace(habits={"members"}))
        scene.victim = lambda: self.victim
        self.scene: NemesisContext = scene

    def swap(self) -> Undo:
        undo = TROUBLES[Fault.SWAP](self.scene)
        assert undo is not None
        assert self.victim.instance == _directory(1, 1)
        return undo

    def know(self, configuration: Configuration, *nodes: int) -> None:
        for node in self.nodes:
            if node.me in nodes:
                node.log.in_force = configuration


@pytest.mark.pure
def test_the_old_disk_comes_back_while_nobody_counts_the_new_one() -> None:
    cluster = _Cluster()
    cluster.swap()()
    assert cluster.victim.instance == _directory(1, 0)


@pytest.mark.pure
def test_the_old_disk_stays_away_when_the_new_one_votes_and_a_voter_is_missing() -> None:
    cluster = _Cluster()
    undo = cluster.swap()
    cluster.know(_voters((1, 1), (2, 0)), 1, 2, 3)
    undo()
    assert cluster.victim.instance == _directory(1, 1)
    assert cluster.victim.up


@pytest.mark.pure
def test_one_log_that_counts_the_new_disk_is_enough_to_keep_it() -> None:
    cluster = _Cluster()
    undo = cluster.swap()
    cluster.know(_voters((1, 1), (2, 0), (3, 0)), 2)
    undo()
    assert cluster.victim.instance == _directory(1, 1)


@pytest.mark.pure
def test_what_a_node_that_is_down_knows_may_count_the_new_disk() -> None:
    cluster = _Cluster()
    undo = cluster.swap()
    cluster.nodes[2].up = False
    undo()
    assert cluster.victim.instance == _directory(1, 1)


@pytest.mark.pure
def test_of_a_whole_cluster_the_new_disk_may_be_the_one_that_is_lost() -> None:
    cluster = _Cluster()
    undo = cluster.swap()
    cluster.know(_voters((1, 1), (2, 0), (3, 0)), 1, 2, 3)
    undo()
    assert cluster.victim.instance == _directory(1, 0)


THREE = _voters((1, 0), (2, 0), (3, 0))
REMOVED = RemoveMember(replica=Replica(1))
DEMOTED = SetRole(replica=Replica(1), role=MemberRole.LEARNER)


@pytest.mark.parametrize("change", [REMOVED, DEMOTED])
def test_no_operator_takes_a_vote_away_that_a_lost_disk_leaves_needed(change: MemberChange) -> None:
    """Of two voters both are needed: a leader that has not noticed the loss yet would agree."""
    whole = {(n, _directory(n, 0)) for n in (1, 2, 3)}
    assert not leaves_too_few(THREE, change, whole)
    assert not leaves_too_few(THREE, change, whole - {(1, _directory(1, 0))})
    assert leaves_too_few(THREE, change, whole - {(3, _directory(3, 0))} | {(3, _directory(3, 1))})


def test_what_takes_no_vote_away_is_done_whatever_is_lost() -> None:
    some = {(1, _directory(1, 0))}
    stays = SetRole(replica=Replica(1), role=MemberRole.VOTER)
    for change in (stays, ReplaceMember(replica=Replica(1)), RemoveMember(replica=Replica(4))):
        assert not leaves_too_few(THREE, change, some)
