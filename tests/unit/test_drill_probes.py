"""What a drill waits for must come after the step began: older answers prove nothing."""

import pytest

from admin.cluster.surveys import ClusterSurvey
from admin.drills.model import Condition
from admin.drills.probes import holds, holds_since_step
from admin.drills.sampling import LiveFacts, SamplingThread
from admin.workload.tally import WriteTally
from qsync.status.members import ElectionStatus, PeerStatus
from qsync.status.record import NodeStatus

BEFORE, AFTER = 1, 1 << 62
LEADS = ElectionStatus(state="leader")
NAMES = {"first": ("n2",), "second": ("n1",), "all": ("n1", "n2")}


def facts(*samples: NodeStatus) -> LiveFacts:
    watch = SamplingThread(())
    watch.survey = ClusterSurvey(samples=samples)
    found = LiveFacts(watch=watch, tally=WriteTally(), names=NAMES, clients=1)
    found.begin_step()
    return found


def leader(asked: int, **said: object) -> NodeStatus:
    return node("n2", asked, election=LEADS, ro=False, confirmed=7, written=7, **said)


def node(name: str, asked: int, **said: object) -> NodeStatus:
    usual = {"id": int(name[1:]), "name": name, "uuid": name, "listen": name, "asked": asked}
    return NodeStatus(**usual | said)  # type: ignore[arg-type]  # whatever the test says


def test_the_last_answer_of_a_killed_node_is_not_that_it_has_caught_up() -> None:
    caught_up = Condition(probe="caught_up", node="second")
    stale = facts(node("n1", BEFORE, written=9), leader(AFTER))
    assert not holds_since_step(stale, caught_up)
    assert holds(stale, caught_up), "as a state, before the step, it held"
    assert holds_since_step(facts(node("n1", AFTER, written=9), leader(AFTER)), caught_up)


def test_the_last_answer_of_a_killed_leader_is_not_a_leader() -> None:
    for name in ("leader_exists", "writable", "healthy"):
        probe = Condition(probe=name)
        assert not holds_since_step(facts(leader(BEFORE), node("n1", AFTER)), probe)
        assert holds_since_step(facts(leader(AFTER), node("n1", AFTER)), probe)


def test_a_node_that_does_not_vote_yet_has_not_caught_up() -> None:
    caught_up = Condition(probe="caught_up", node="second")
    recruit = node("n1", AFTER, written=9, recruit=True)
    assert not holds_since_step(facts(recruit, leader(AFTER)), caught_up)


@pytest.mark.parametrize("asked", [BEFORE, AFTER])
def test_what_must_not_hold_is_not_read_from_silence(asked: int) -> None:
    """A stale answer is neither proof that a node answers nor proof that it does not."""
    gone = Condition(probe="answers", node="second", holds=False)
    assert not holds_since_step(facts(node("n1", asked), leader(AFTER)), gone)
    assert holds_since_step(facts(leader(AFTER)), gone)


def test_measures_are_of_this_step() -> None:
    there = Condition(probe="nodes_reachable", above=1.0)
    assert not holds_since_step(facts(node("n1", BEFORE), leader(AFTER)), there)
    assert holds_since_step(facts(node("n1", AFTER), leader(AFTER)), there)
    empty = Condition(probe="limbo_len", below=1.0)
    assert not holds_since_step(facts(leader(BEFORE), node("n1", AFTER)), empty)
    assert holds_since_step(facts(leader(AFTER), node("n1", BEFORE)), empty)


def test_peers_count_for_health() -> None:
    away = PeerStatus(id=1, name="n1", status="down")
    healthy = Condition(probe="healthy")
    assert not holds_since_step(facts(leader(AFTER, peers=(away,)), node("n1", AFTER)), healthy)
