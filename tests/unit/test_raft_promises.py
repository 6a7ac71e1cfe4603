"""Staying the leader: pre-vote, loyalty, split votes, check-quorum and fencing."""

from dataclasses import replace

import pytest

from election.fencing import Fencing
from election.messages import Ballot, RejectReason, Replica, RequestVote, RequestVoteResponse, Term
from election.ready import NOTHING, ElectionTimer, TimerRequest
from election.roles import GONE_LATEST_S, ElectionMode, Role
from tests.unit.electing import MEMBER, A, B, C, answer, armed, ask, drain, leads, make, room, vote

# ---------------------------------------------------------------------- pre-vote and stickiness


def test_a_pre_vote_raises_no_term_anywhere() -> None:
    here = room()
    here.away = {B, C}
    for _ in range(5):
        here.advance(2.0)
        here.nodes[A].timer("election")
        here.pump()
    assert [raft.term for raft in here.nodes.values()] == [0, 0, 0]
    assert here.nodes[A].role is Role.FOLLOWER


def test_a_pre_vote_binds_nobody() -> None:
    raft = make(A)
    assert answer(raft, ask(1, candidate=B, pre=True)).granted
    assert answer(raft, ask(1, candidate=C, pre=True)).granted
    assert raft.ballot == MEMBER


def test_a_pre_vote_for_a_term_already_given_away_is_refused() -> None:
    raft = make(A)
    answer(raft, ask(3, candidate=C))
    assert answer(raft, ask(2, candidate=B, pre=True)).reason is RejectReason.STALE_TERM
    assert answer(raft, ask(3, candidate=B, pre=True)).reason is RejectReason.VOTED_FOR_OTHER
    assert answer(raft, ask(4, candidate=B, pre=True)).granted


def test_a_refused_pre_vote_teaches_the_newer_term() -> None:
    here = room()
    here.nodes[B].observe(Term(6), None)
    here.nodes[C].observe(Term(6), None)
    here.nodes[A].timer("election")
    here.pump()
    assert here.nodes[A].term == 6
    assert here.timers[A, "election"].latest <= 0.1


def test_a_node_that_comes_back_cannot_depose_a_healthy_leader() -> None:
    here = room()
    leader = here.elect(A)
    here.away = {C}
    here.advance(0.5)
    here.beat()
    here.advance(0.6)
    here.beat()
    here.nodes[C].timer("election")
    here.away = set()
    here.pump()
    assert here.leaders() == [A]
    assert leader.term == here.nodes[C].term == 1
    assert here.minutes[-1].endswith("NAY leader_alive term=1 asked=2 voter=2 pre")


def test_a_real_question_is_refused_too_while_the_leader_is_heard_and_raises_no_term() -> None:
    raft = make(A)
    raft.observe(Term(1), C)
    assert answer(raft, ask(8)).reason is RejectReason.LEADER_ALIVE
    assert (raft.term, raft.leader) == (1, C)
    raft.clock(0.99)
    assert answer(raft, ask(8)).reason is RejectReason.LEADER_ALIVE
    raft.clock(1.0)
    assert answer(raft, ask(8)).granted


def test_nobody_is_loyal_to_a_leader_against_itself() -> None:
    raft = make(A)
    raft.observe(Term(1), C)
    assert answer(raft, ask(2, candidate=B)).reason is RejectReason.LEADER_ALIVE
    assert answer(raft, ask(2, candidate=C)).granted
    assert answer(raft, ask(3, candidate=B)).reason is RejectReason.LEADER_ALIVE


def test_each_word_of_the_leader_renews_the_loyalty() -> None:
    raft = make(A)
    for now in (0.0, 0.9, 1.8):
        raft.clock(now)
        assert raft.observe(Term(1), C)
    raft.clock(2.7)
    assert answer(raft, ask(2)).reason is RejectReason.LEADER_ALIVE


def test_when_the_leader_was_heard_is_known_whatever_the_timeout_is_since_then() -> None:
    raft = make(A)
    raft.clock(3.0)
    raft.observe(Term(1), C)
    raft.clock(3.5)
    raft.state.set_timing(Fencing.SOFT, replace(raft.state.timing, election_timeout=60.0))
    assert raft.state.promise.heard_at == 3.0


def test_a_timer_that_comes_while_the_leader_is_heard_is_armed_for_the_rest() -> None:
    raft = make(A)
    raft.observe(Term(1), C)
    raft.ready()
    raft.clock(1.5)
    raft.observe(Term(1), C)
    raft.clock(1.75)
    raft.timer("election")
    assert armed(raft.ready(), ElectionTimer.ELECTION) == TimerRequest(
        kind="election", earliest=0.75, latest=1.75
    )
    raft.clock(2.5)
    raft.timer("election")
    assert any(isinstance(said, RequestVote) for _, said in raft.ready().after)


def test_of_the_past_is_what_an_older_leader_says() -> None:
    raft = make(A)
    assert raft.observe(Term(3), C)
    assert not raft.observe(Term(2), B)
    assert raft.leader == C


def test_a_second_leader_of_one_term_is_not_followed() -> None:
    raft = make(A)
    raft.observe(Term(3), C)
    raft.ready()
    assert not raft.observe(Term(3), B)
    assert raft.leader == C
    assert [name for name, _ in raft.ready().notes] == ["two_leaders"]


def test_a_candidate_follows_the_leader_of_its_term() -> None:
    raft = make(A, mode=ElectionMode.MANUAL)
    raft.campaign.promote()
    assert raft.observe(Term(1), B)
    assert (raft.role, raft.leader) == (Role.FOLLOWER, B)
    raft.ballot_written(raft.ballot)
    raft.received(vote(1, voter=C))
    assert raft.role is Role.FOLLOWER


def test_a_dead_leader_is_replaced_after_a_moment() -> None:
    here = room()
    here.elect(A)
    here.away = {A}
    for me in (B, C):
        here.nodes[me].campaign.leader_gone()
    here.pump()
    assert here.timers[B, "election"].latest == GONE_LATEST_S
    here.nodes[B].timer("election")
    here.pump()
    assert here.nodes[B].role is Role.LEADER


# ---------------------------------------------------------------------------------- split votes


def test_a_split_vote_ends_early() -> None:
    raft = make(A, mode=ElectionMode.MANUAL)
    raft.campaign.promote()
    drain(raft)
    raft.received(vote(1, voter=B, nay=RejectReason.VOTED_FOR_OTHER))
    assert raft.ready() is NOTHING
    raft.received(vote(1, voter=C, nay=RejectReason.VOTED_FOR_OTHER))
    assert armed(raft.ready(), ElectionTimer.ELECTION) == TimerRequest(
        kind="election", earliest=0.0, latest=0.1
    )


def test_after_a_split_vote_the_next_term_elects() -> None:
    here = room()
    for raft in here.nodes.values():
        raft.campaign.promote()  # All at once, so each has voted for itself before it is asked.
    here.pump()
    assert here.leaders() == []
    assert all(here.timers[me, "election"].latest == pytest.approx(0.1) for me in here.nodes)
    here.nodes[C].timer("election")
    here.pump()
    assert here.leaders() == [C]
    assert here.nodes[C].term == 2


def test_a_log_that_is_behind_does_not_hurry() -> None:
    raft = make(A, mode=ElectionMode.MANUAL)
    raft.campaign.promote()
    drain(raft)
    for voter in (B, C):
        raft.received(vote(1, voter=voter, nay=RejectReason.LOG_BEHIND))
    assert raft.ready() is NOTHING


def test_a_refusal_that_comes_late_does_not_take_a_vote_back() -> None:
    raft = make(A, voters=(A, B, C, Replica(4), Replica(5)), mode=ElectionMode.MANUAL)
    raft.campaign.promote()
    drain(raft)
    raft.received(vote(1, voter=B))
    raft.received(vote(1, voter=B, nay=RejectReason.LEADER_ALIVE))
    raft.received(vote(1, voter=C))
    assert leads(raft)


def test_votes_of_an_older_term_and_pre_votes_elect_nobody() -> None:
    raft = make(A, mode=ElectionMode.MANUAL)
    raft.campaign.promote()
    drain(raft)
    raft.observe(Term(1), None)
    raft.received(vote(1, voter=B, pre=True))
    raft.received(
        RequestVoteResponse(
            term=Term(0), asked_term=Term(0), voter=C, pre=False, granted=True, reason=None
        )
    )
    assert raft.role is Role.CANDIDATE


# ------------------------------------------------------------------------ check-quorum, fencing


@pytest.mark.parametrize(
    ("fencing", "silence", "fenced"),
    [
        (Fencing.SOFT, 0.79, False),
        (Fencing.SOFT, 0.81, True),
        (Fencing.STRICT, 0.39, False),
        (Fencing.STRICT, 0.41, True),
        (Fencing.OFF, 100.0, False),
    ],
)
def test_a_leader_that_hears_no_quorum_is_fenced(
    fencing: Fencing, silence: float, fenced: bool
) -> None:
    here = room(fencing=fencing)
    leader = here.elect(A)
    here.advance(silence)
    assert leader.state.fenced is fenced
    assert leader.role is (Role.FOLLOWER if fenced else Role.LEADER)
    assert leader.leader == (None if fenced else A)
    assert leader.term == 1


def test_one_answering_voter_of_three_is_a_quorum() -> None:
    here = room()
    leader = here.elect(A)
    for _ in range(10):
        here.advance(0.5)
        leader.heard(B)
    assert leader.role is Role.LEADER


def test_answers_of_strangers_are_no_quorum() -> None:
    here = room()
    leader = here.elect(A)
    for _ in range(3):
        leader.heard(Replica(7))
        here.advance(0.5)
    assert leader.state.fenced


def test_a_leader_has_the_clock_looked_at_while_nothing_else_happens() -> None:
    here = room()
    leader = here.elect(A)
    assert here.timers[A, "check_quorum"].latest <= 0.8 / 2
    leader.timer("check_quorum")
    assert armed(leader.ready(), ElectionTimer.CHECK_QUORUM).earliest is not None
    here.advance(2.0)
    leader.ready()
    leader.timer("check_quorum")
    assert leader.ready() is NOTHING


def test_a_paused_leader_steps_down_before_it_answers_anything() -> None:
    here = room()
    leader = here.elect(A)
    leader.clock(here.now + 30.0)  # The process was stopped; these waited in its sockets.
    leader.heard(B)
    leader.heard(C)
    assert leader.state.fenced
    assert answer(leader, ask(2)).granted
    assert not leader.state.fenced


def test_a_fenced_leader_keeps_its_term_and_waits_one_timeout() -> None:
    here = room()
    leader = here.elect(A)
    here.advance(0.9)
    assert armed(leader.ready(), ElectionTimer.ELECTION).earliest == 1.0
    assert leader.ballot == Ballot(term=Term(1), vote=A, member=True)


def test_a_fenced_leader_that_finds_a_quorum_again_leads_in_a_new_term() -> None:
    here = room()
    leader = here.elect(A)
    here.advance(0.9)
    assert leader.state.fenced
    here.elect(A)
    assert not leader.state.fenced
    assert leader.term == 2


def test_turning_fencing_on_counts_the_silence_that_has_passed() -> None:
    here = room(fencing=Fencing.OFF)
    leader = here.elect(A)
    here.advance(5.0)
    leader.state.set_timing(Fencing.SOFT)
    assert leader.state.fenced


def test_a_leader_that_is_never_fenced_is_no_obstacle_once_it_has_lost_its_quorum() -> None:
    here = room(fencing=Fencing.OFF)
    leader = here.elect(A)
    assert answer(leader, ask(2)).reason is RejectReason.LEADER_ALIVE
    here.advance(5.0)
    assert answer(leader, ask(2)).granted


def test_a_higher_term_deposes_a_leader() -> None:
    here = room()
    leader = here.elect(A)
    leader.observe(Term(9), None)
    ready = leader.ready()
    assert ready.deposed
    assert ready.ballot == Ballot(term=Term(9), vote=None, member=True)
    assert armed(ready, ElectionTimer.CHECK_QUORUM).earliest is None
    assert armed(ready, ElectionTimer.ELECTION).earliest == 1.0
