"""Being elected: what makes a leader, what is durable first, and why a vote is refused."""

import pytest

from election import describe
from election.messages import Ballot, Position, RejectReason, Replica, RequestVoteResponse, Term
from election.ready import NOTHING, ElectionTimer, TimerRequest
from election.roles import ElectionMode, Role
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

# ------------------------------------------------------------------------------- being elected


def test_one_node_asks_first_whether_it_could_win_and_then_wins() -> None:
    here = room()
    here.nodes[A].timer("election")
    here.pump()
    assert here.minutes == [
        "1>2 ask_vote term=1 candidate=1 log=0:0 pre",
        "1>3 ask_vote term=1 candidate=1 log=0:0 pre",
        "2>1 vote AYE term=0 asked=1 voter=2 pre",
        "3>1 vote AYE term=0 asked=1 voter=3 pre",
        "1>2 ask_vote term=1 candidate=1 log=0:0",
        "1>3 ask_vote term=1 candidate=1 log=0:0",
        "2>1 vote AYE term=1 asked=1 voter=2",
        "3>1 vote AYE term=1 asked=1 voter=3",
    ]
    assert here.leaders() == [A]


def test_there_is_one_leader_in_a_term_however_many_ask() -> None:
    here = room()
    for raft in here.nodes.values():
        raft.timer("election")
    here.pump()
    assert len(here.leaders()) <= 1
    assert {raft.term for raft in here.nodes.values()} == {1}


def test_a_new_leader_is_reported_once_and_its_loss_once() -> None:
    raft = make(A, voters=(A,))
    drain(raft)
    assert raft.ready().elected
    assert not raft.ready().elected
    raft.transfer.resign("disk")
    assert raft.ready().deposed
    assert raft.ready() is NOTHING


def test_losing_one_term_and_winning_the_next_between_two_readies_is_both() -> None:
    here = room()
    raft = here.elect(A)
    raft.observe(Term(5), None)
    assert raft.campaign.promote() is None
    raft.ballot_written(raft.ballot)
    raft.received(vote(6, voter=B))
    ready = raft.ready()
    assert ready.elected
    assert ready.deposed


def test_a_lone_voter_leads_as_soon_as_its_ballot_is_durable() -> None:
    raft = make(A, voters=(A,), ballot=RECRUIT)
    ready = raft.ready()
    assert ready.ballot == Ballot(term=Term(1), vote=A, member=True)
    assert raft.role is Role.CANDIDATE
    raft.ballot_written(ready.ballot)
    assert leads(raft)


def test_a_lone_leader_has_nobody_to_miss() -> None:
    raft = make(A, voters=(A,))
    drain(raft)
    raft.clock(1000.0)
    assert leads(raft)


def test_a_candidate_waits_one_full_timeout_after_the_start() -> None:
    timer = armed(make(A).ready(), ElectionTimer.ELECTION)
    assert timer == TimerRequest(kind="election", earliest=1.0, latest=2.0)


# --------------------------------------------------------------------------------- durability


def test_a_vote_is_durable_before_it_is_answered() -> None:
    raft = make(A)
    raft.received(ask(1))
    ready = raft.ready()
    assert ready.ballot == Ballot(term=Term(1), vote=B, member=True)
    assert ready.now == ()
    assert [to for to, _ in ready.after] == [B]


def test_a_question_asked_again_while_the_ballot_is_being_written_waits_for_it_too() -> None:
    raft = make(A)
    raft.received(ask(1))
    raft.ready()
    raft.received(ask(1))
    ready = raft.ready()
    assert ready.ballot == Ballot(term=Term(1), vote=B, member=True)
    assert ready.now == ()


def test_with_the_ballot_durable_answers_leave_at_once() -> None:
    raft = make(A)
    answer(raft, ask(1))
    raft.received(ask(1))
    ready = raft.ready()
    assert ready.ballot is None
    assert [to for to, _ in ready.now] == [B]


def test_a_candidate_asks_only_when_its_own_vote_is_durable() -> None:
    raft = make(A, mode=ElectionMode.MANUAL)
    assert raft.campaign.promote() is None
    ready = raft.ready()
    assert ready.ballot == Ballot(term=Term(1), vote=A, member=True)
    assert ready.now == ()
    assert len(ready.after) == 2


def test_its_own_vote_counts_only_when_it_is_durable() -> None:
    raft = make(A, mode=ElectionMode.MANUAL)
    raft.campaign.promote()
    ballot = raft.ready().ballot
    assert ballot is not None
    raft.received(vote(1, voter=B))
    assert raft.role is Role.CANDIDATE
    raft.ballot_written(ballot)
    assert leads(raft)


def test_an_older_ballot_becoming_durable_does_not_count_for_a_newer_campaign() -> None:
    raft = make(A, mode=ElectionMode.MANUAL)
    raft.campaign.promote()
    first = raft.ready().ballot
    assert first is not None
    raft.observe(Term(4), None)
    raft.campaign.promote()
    raft.received(vote(5, voter=B))
    raft.ballot_written(first)
    assert raft.role is Role.CANDIDATE
    raft.ballot_written(raft.ballot)
    assert leads(raft)


def test_after_a_restart_the_vote_is_remembered() -> None:
    raft = make(A, ballot=Ballot(term=Term(3), vote=B, member=True))
    raft.clock(5.0)
    assert answer(raft, ask(3, candidate=C)).reason is RejectReason.VOTED_FOR_OTHER
    assert answer(raft, ask(3, candidate=B)).granted


def test_after_a_restart_a_node_owes_loyalty_to_a_leader_it_has_forgotten() -> None:
    """Otherwise that leader could serve a read on the strength of it, and another one write."""
    raft = make(A, ballot=Ballot(term=Term(3), vote=B, member=True))
    assert answer(raft, ask(4, candidate=C)).reason is RejectReason.LEADER_ALIVE
    raft.clock(1.0)
    assert answer(raft, ask(4, candidate=C)).granted


# --------------------------------------------------------------------------- reasons to refuse


def test_stale_term_is_refused_and_the_answer_names_the_newer_one() -> None:
    raft = make(A)
    raft.observe(Term(7), None)
    said = answer(raft, ask(6))
    assert (said.reason, said.term, said.asked_term) == (RejectReason.STALE_TERM, 7, 6)


def test_a_second_candidate_of_a_term_is_refused() -> None:
    raft = make(A)
    assert answer(raft, ask(1, candidate=B)).granted
    assert answer(raft, ask(1, candidate=C)).reason is RejectReason.VOTED_FOR_OTHER
    assert answer(raft, ask(1, candidate=B)).granted


@pytest.mark.parametrize(
    ("own", "theirs", "granted"),
    [
        (at(2, 5), at(2, 5), True),
        (at(2, 5), at(2, 4), False),
        (at(2, 5), at(3, 1), True),
        (at(2, 5), at(1, 99), False),
    ],
)
def test_only_a_log_that_reaches_as_far_is_voted_for(
    own: Position, theirs: Position, granted: bool
) -> None:
    raft = make(A, position=own)
    said = answer(raft, ask(4, position=theirs))
    assert said.granted is granted
    assert said.reason is (None if granted else RejectReason.LOG_BEHIND)
    assert raft.term == 4


def test_what_was_appended_since_the_start_counts_as_own_log() -> None:
    raft = make(A)
    raft.set_last_position(at(1, 1))
    assert answer(raft, ask(2)).reason is RejectReason.LOG_BEHIND
    raft.set_last_position(at(0, 0))
    assert answer(raft, ask(2)).granted


def test_a_recruit_refuses_and_does_not_campaign() -> None:
    raft = make(A, ballot=RECRUIT)
    assert answer(raft, ask(1, pre=True)).reason is RejectReason.RECRUIT
    assert answer(raft, ask(1)).reason is RejectReason.RECRUIT
    raft.clock(9.0)
    raft.timer("election")
    assert not [said for _, said in raft.ready().after]
    assert raft.campaign.promote() is not None


def test_a_recruit_that_became_a_member_votes_with_the_membership_in_the_ballot() -> None:
    raft = make(A, ballot=RECRUIT)
    raft.state.become_member()
    raft.received(ask(1))
    assert raft.ready().ballot == Ballot(term=Term(1), vote=B, member=True)


def test_the_first_election_of_a_new_cluster_does_not_wait_for_a_leader_that_never_was() -> None:
    raft = make(A)
    raft.ready()
    raft.everybody_is_there()
    assert armed(raft.ready(), ElectionTimer.ELECTION).latest <= 0.1


def test_who_is_a_voter_is_decided_by_the_configuration_of_the_candidate() -> None:
    raft = make(A)
    assert answer(raft, ask(9, candidate=Replica(7))).granted
    assert raft.term == 9


def test_who_is_no_voter_does_not_campaign() -> None:
    raft = make(Replica(7))
    assert raft.campaign.promote() is not None
    raft.clock(9.0)
    raft.timer(ElectionTimer.ELECTION)
    assert not raft.ready().now


def test_another_directory_under_the_id_of_a_voter_does_not_campaign() -> None:
    raft = make(A)
    raft.set_voters((A, B, C), 2, named=False)
    assert raft.campaign.promote() is not None
    raft.clock(9.0)
    raft.timer(ElectionTimer.ELECTION)
    assert not raft.ready().now


def test_the_vote_of_a_stranger_is_not_counted() -> None:
    raft = make(A, mode=ElectionMode.MANUAL)
    raft.campaign.promote()
    drain(raft)
    raft.received(vote(1, voter=Replica(7)))
    assert raft.role is Role.CANDIDATE


def test_a_vote_that_contradicts_itself_is_not_counted() -> None:
    raft = make(A, mode=ElectionMode.MANUAL)
    raft.campaign.promote()
    drain(raft)
    raft.received(
        RequestVoteResponse(
            term=Term(1),
            asked_term=Term(1),
            voter=B,
            pre=False,
            granted=True,
            reason=RejectReason.RECRUIT,
        )
    )
    assert raft.role is Role.CANDIDATE


def test_every_reason_is_kept_on_both_sides() -> None:
    raft = make(A, position=at(1, 3))
    raft.observe(Term(2), None)
    raft.received(ask(1))
    raft.received(ask(3, candidate=Replica(7)))
    raft.received(ask(3))
    raft.received(ask(4, candidate=C, position=at(1, 3)))
    raft.received(ask(4, candidate=B, position=at(1, 3)))
    raft.observe(Term(4), C)
    raft.received(ask(5, pre=True))
    raft.ready()
    assert [describe.votes(each) for each in raft.history] == [
        "term=1 candidate=2 1:stale_term",
        "term=3 candidate=7 1:log_behind",
        "term=3 candidate=2 1:log_behind",
        "term=4 candidate=3 1:AYE",
        "term=4 candidate=2 1:voted_for_other",
        "term=5 candidate=2 1:leader_alive pre",
    ]
    asker = make(B, mode=ElectionMode.MANUAL)
    asker.campaign.promote()
    drain(asker)
    asker.received(vote(1, voter=A, nay=RejectReason.LOG_BEHIND))
    asker.received(vote(1, voter=C, nay=RejectReason.RECRUIT))
    tallies = [describe.votes(each) for each in asker.history]
    assert tallies == ["term=1 candidate=2 1:log_behind 2:AYE 3:recruit"]


def test_an_answer_that_comes_after_the_election_is_kept_too() -> None:
    raft = make(A, mode=ElectionMode.MANUAL)
    raft.campaign.promote()
    drain(raft)
    raft.received(vote(1, voter=B))
    raft.received(vote(1, voter=C, nay=RejectReason.LOG_BEHIND))
    assert leads(raft)
    assert [describe.votes(each) for each in raft.history] == [
        "term=1 candidate=1 1:AYE 2:AYE 3:log_behind"
    ]


def test_the_reasons_kept_are_bounded() -> None:
    raft = make(A)
    for term in range(1, 200):
        answer(raft, ask(term))
    assert len(raft.history) == 64
    assert next(iter(raft.history)).term == 136
