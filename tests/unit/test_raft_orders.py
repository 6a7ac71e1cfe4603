"""What people and leaders order: modes, promotion, transfer, another replica set."""

import pytest

from election import describe
from election.messages import Replica, Resigned, Term, TimeoutNow
from election.ready import NOTHING, ElectionTimer
from election.roles import GONE_LATEST_S, ElectionMode, Role
from tests.unit.electing import (
    RECRUIT,
    A,
    B,
    C,
    answer,
    armed,
    ask,
    at,
    drain,
    leads,
    make,
    room,
    vote,
)

# ------------------------------------------------------------------------------- modes, promote


@pytest.mark.parametrize("mode", [ElectionMode.OFF, ElectionMode.VOTER, ElectionMode.MANUAL])
def test_only_a_candidate_campaigns_by_itself_but_all_vote(mode: ElectionMode) -> None:
    raft = make(A, mode=mode)
    raft.clock(9.0)
    raft.timer("election")
    assert drain(raft).after == ()
    assert answer(raft, ask(1)).granted


@pytest.mark.parametrize("mode", [ElectionMode.OFF, ElectionMode.MANUAL, ElectionMode.CANDIDATE])
def test_promote_campaigns_at_once_in_one_new_term(mode: ElectionMode) -> None:
    here = room(mode=mode)
    assert here.nodes[B].campaign.promote() is None
    assert here.nodes[B].campaign.promote() == "a promotion of this node is under way"
    here.pump()
    assert here.leaders() == [B]
    assert here.nodes[B].term == 1
    assert here.nodes[B].campaign.promote() is None
    assert here.nodes[B].term == 1


def test_promote_is_refused_to_a_voter() -> None:
    raft = make(A, mode=ElectionMode.VOTER)
    assert raft.campaign.promote() == "election mode is voter: this node only votes"
    assert raft.term == 0


def test_a_manual_candidate_tries_one_term_only() -> None:
    here = room(mode=ElectionMode.MANUAL)
    here.away = {B, C}
    here.nodes[A].campaign.promote()
    for _ in range(5):
        here.pump()
        here.advance(1.1)
        here.nodes[A].timer("election")
    assert here.nodes[A].term == 1
    assert here.nodes[A].role is Role.FOLLOWER
    assert here.nodes[A].campaign.promote() is None


def test_a_promoted_node_asks_the_living_leader_before_the_others() -> None:
    """Until it has stepped down, the leader may read on the strength of the others' loyalty."""
    here = room(mode=ElectionMode.MANUAL)
    here.nodes[A].campaign.promote()
    here.pump()
    here.beat()
    here.minutes.clear()
    here.nodes[B].campaign.promote()
    here.pump()
    assert here.minutes[:2] == [
        "2>1 ask_vote term=2 candidate=2 log=0:0 transfer",
        "1>2 vote AYE term=2 asked=2 voter=1",
    ]
    assert here.leaders() == [B]


def test_a_promoted_node_that_cannot_reach_the_leader_waits_until_nobody_is_loyal() -> None:
    here = room(mode=ElectionMode.MANUAL)
    here.nodes[A].campaign.promote()
    here.pump()
    here.beat()
    here.away = {A}
    here.nodes[B].campaign.promote()
    here.pump()
    assert here.timers[B, "election"].earliest == 1.0
    assert here.leaders() == [A]
    here.advance(1.05)
    here.nodes[B].timer("election")
    here.pump()
    assert here.leaders() == [B]
    assert here.nodes[B].term == 2


def test_a_promoted_node_asks_those_again_that_were_still_loyal() -> None:
    here = room(mode=ElectionMode.MANUAL)
    here.nodes[A].observe(Term(1), C)
    here.nodes[B].observe(Term(1), None)
    here.away = {C}
    here.nodes[B].campaign.promote()
    here.pump()
    assert here.nodes[A].term == 1
    here.advance(1.05)
    here.nodes[B].timer("election")
    here.pump()
    assert here.leaders() == [B]
    assert here.nodes[B].term == 2


@pytest.mark.parametrize("mode", [ElectionMode.OFF, ElectionMode.VOTER, ElectionMode.MANUAL])
def test_a_mode_deposes_nobody_by_itself(mode: ElectionMode) -> None:
    here = room()
    leader = here.elect(A)
    leader.set_mode(mode)
    # Who must not lead in it hands over, which takes a leader.
    leader.transfer.send_timeout_now(B)
    here.pump()
    assert here.leaders() == [B]


def test_a_campaign_ends_when_the_mode_forbids_it() -> None:
    raft = make(A)
    raft.timer("election")
    raft.set_mode(ElectionMode.VOTER)
    raft.received(vote(1, voter=B, pre=True))
    assert raft.term == 0


def test_who_resigns_waits_so_that_another_one_gets_the_chance() -> None:
    here = room()
    leader = here.elect(A)
    leader.transfer.resign("the disk is full")
    ready = leader.ready()
    assert ready.deposed
    assert armed(ready, ElectionTimer.ELECTION).earliest == 1.0
    assert (leader.term, leader.leader, leader.state.fenced) == (1, None, False)


def test_who_resigns_says_so_to_all_and_nobody_waits_until_it_is_missed() -> None:
    here = room()
    leader = here.elect(A)
    follower = here.nodes[B]
    assert follower.state.promise.sticky_until > here.now
    leader.transfer.resign("the disk is full")
    assert leader.transfer.resigned == leader.term
    here.pump()
    assert (follower.leader, follower.state.promise.sticky_until) == (None, here.now)
    alarm = here.timers[B, "election"]
    assert alarm.latest <= GONE_LATEST_S
    follower.timer("election")
    here.pump()
    assert here.leaders() == [B]


def test_a_resignation_of_the_past_or_of_somebody_else_changes_nothing() -> None:
    raft = make(A)
    raft.observe(Term(3), C)
    raft.received(Resigned(term=Term(2), leader=C))
    raft.received(Resigned(term=Term(3), leader=B))
    assert (raft.term, raft.leader) == (3, C)
    assert raft.state.promise.sticky_until > raft.state.now


# ------------------------------------------------------------------------------------- transfer


def test_a_transfer_needs_nobody_to_miss_the_leader() -> None:
    here = room()
    leader = here.elect(A)
    leader.transfer.send_timeout_now(B)
    assert leader.transfer.target == B
    assert leader.transfer.is_lease_void
    here.minutes.clear()
    here.pump()
    assert here.minutes[0] == "1>2 campaign_now term=1 leader=1"
    assert here.leaders() == [B]
    assert here.nodes[B].term == 2
    assert leader.transfer.target is None


def test_a_transfer_that_nobody_takes_up_is_over_with_its_timer() -> None:
    here = room()
    leader = here.elect(A)
    here.away = {B}
    leader.transfer.send_timeout_now(B)
    here.pump()
    assert here.timers[A, "transfer"].earliest == 1.0
    leader.timer("transfer")
    assert leader.transfer.target is None
    assert leader.role is Role.LEADER
    # The order may still be on its way, so the loyalty of the others counts no more.
    assert leader.transfer.is_lease_void


def test_an_order_of_an_older_term_moves_nobody() -> None:
    raft = make(A)
    raft.observe(Term(3), C)
    raft.received(TimeoutNow(term=Term(2), leader=B))
    raft.received(TimeoutNow(term=Term(3), leader=B))
    assert (raft.term, raft.leader) == (3, C)


@pytest.mark.parametrize(
    "mode", [ElectionMode.OFF, ElectionMode.MANUAL, ElectionMode.CANDIDATE, ElectionMode.VOTER]
)
def test_all_but_a_voter_take_over_when_told_to(mode: ElectionMode) -> None:
    raft = make(A, mode=mode)
    raft.observe(Term(3), C)
    raft.received(TimeoutNow(term=Term(3), leader=C))
    assert raft.term == (3 if mode is ElectionMode.VOTER else 4)


def test_a_recruit_does_not_take_over() -> None:
    raft = make(A, ballot=RECRUIT)
    raft.received(TimeoutNow(term=Term(3), leader=C))
    assert (raft.term, raft.leader, raft.role) == (3, C, Role.FOLLOWER)


# ---------------------------------------------------------------------------------- membership


def test_a_larger_set_needs_more_votes() -> None:
    raft = make(A, mode=ElectionMode.MANUAL)
    raft.set_voters((A, B, C, Replica(4), Replica(5)), 3)
    raft.campaign.promote()
    drain(raft)
    raft.received(vote(1, voter=B))
    assert raft.role is Role.CANDIDATE
    raft.received(vote(1, voter=Replica(4)))
    assert leads(raft)


def test_an_election_quorum_is_never_below_the_majority() -> None:
    raft = make(A)
    raft.set_voters((A, B, C), 1)
    assert raft.electorate.quorum == 2


def test_a_leader_of_a_growing_set_gives_the_new_voter_time() -> None:
    raft = make(A, voters=(A,))
    drain(raft)
    raft.clock(50.0)
    raft.set_voters((A, B), 2)
    raft.clock(50.5)
    assert leads(raft)
    raft.clock(51.0)
    assert raft.state.fenced


# ----------------------------------------------------------------------------------- in the hot


def test_a_batch_without_an_election_costs_nothing() -> None:
    here = room()
    here.elect(A)
    for raft in here.nodes.values():
        raft.clock(here.now + 0.01)
        raft.heard(B)
        raft.set_last_position(at(1, 7))
        assert raft.ready() is NOTHING
    assert here.nodes[B].observe(Term(1), A)
    assert here.nodes[B].ready() is NOTHING


def test_a_timer_of_somebody_else_is_our_mistake() -> None:
    with pytest.raises(AssertionError, match="heartbeat"):
        make(A).timer("heartbeat")


def test_the_state_is_one_line() -> None:
    here = room()
    leader = here.elect(A)
    assert describe.state(leader) == "raft me=1 leader term=1 vote=1 leader=1 log=0:0"
    leader.transfer.send_timeout_now(B)
    assert describe.state(leader).endswith(" handing_to=2")
    here.advance(5.0)
    assert describe.state(leader).endswith("follower term=1 vote=1 leader=- log=0:0 fenced")
    assert describe.state(make(B, ballot=RECRUIT)).startswith(
        "raft me=2 follower term=0 vote=- recruit"
    )
