"""Which role may follow which, and with what step of the term: the figure of Raft's paper."""

import itertools
from dataclasses import replace

import pytest

from election.messages import Ballot, Replica, Term
from election.raft_state import RaftState
from election.roles import ROLE_CHANGES, Role, TermStep
from tests.unit.electing import A, B, make

PAIRS = list(itertools.product(Role, Role))
CASES = list(itertools.product(PAIRS, TermStep))


def standing(role: Role) -> RaftState:
    """A node of term 3, in that role."""
    state = make(A, ballot=Ballot(term=Term(3), vote=A, member=True)).state
    state.role, state.leader = role, A if role is Role.LEADER else None
    return state


def change(state: RaftState, role: Role, step: TermStep) -> None:
    ballot = state.ballot
    if step is TermStep.HIGHER:
        ballot = replace(ballot, term=Term(ballot.term + 1), vote=None)
    leader: Replica | None = A if role is Role.LEADER else None
    state._become(role, leader, ballot)


def test_every_pair_of_roles_is_in_the_table() -> None:
    assert set(ROLE_CHANGES) == set(PAIRS)


@pytest.mark.parametrize(("pair", "step"), CASES)
def test_a_role_follows_another_only_as_the_table_says(
    pair: tuple[Role, Role], step: TermStep
) -> None:
    before, after = pair
    state = standing(before)
    if step in ROLE_CHANGES[pair]:
        change(state, after, step)
        assert state.role is after
    else:
        with pytest.raises(AssertionError):
            change(state, after, step)
        assert state.role is before


def test_only_a_candidate_of_the_same_term_becomes_leader() -> None:
    ways = {pair: steps for pair, steps in ROLE_CHANGES.items() if pair[1] is Role.LEADER}
    assert {pair for pair, steps in ways.items() if steps} == {(Role.CANDIDATE, Role.LEADER)}
    assert ways[Role.CANDIDATE, Role.LEADER] == {TermStep.SAME}


def test_a_campaign_always_raises_the_term() -> None:
    ways = [steps for pair, steps in ROLE_CHANGES.items() if pair[1] is Role.CANDIDATE]
    assert frozenset().union(*ways) == {TermStep.HIGHER}


def test_no_role_is_left_without_a_way_back_to_follower() -> None:
    assert all(ROLE_CHANGES[role, Role.FOLLOWER] == set(TermStep) for role in Role)


def test_a_term_does_not_go_back() -> None:
    state = standing(Role.FOLLOWER)
    with pytest.raises(AssertionError):
        state._become(Role.FOLLOWER, None, Ballot(term=Term(2), vote=None, member=True))


def test_a_second_vote_in_one_term_is_refused_whoever_asks_for_it() -> None:
    state = standing(Role.FOLLOWER)
    with pytest.raises(AssertionError):
        state._become(Role.FOLLOWER, None, replace(state.ballot, vote=B))


def test_a_node_is_its_own_leader_exactly_when_it_leads() -> None:
    with pytest.raises(AssertionError):
        standing(Role.CANDIDATE)._become(Role.LEADER, B)
    with pytest.raises(AssertionError):
        standing(Role.CANDIDATE)._become(Role.FOLLOWER, A)
