"""A quorum is a formula over N that never falls below a majority unnoticed."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from election.messages import Index, Replica
from election.quorum import Quorum, QuorumError, describe, majority, parse, reached

INDEXES = st.lists(st.integers(0, 20).map(Index), max_size=9)


def naive_reached(indexes: list[Index], quorum: int) -> Index:
    best = Index(0)
    for index in indexes:
        if sum(1 for other in indexes if other >= index) >= quorum and index > best:
            best = index
    return best


@given(INDEXES, st.integers(1, 9))
def test_reached_is_what_so_many_have(indexes: list[Index], quorum: int) -> None:
    assert reached(indexes, quorum) == naive_reached(indexes, quorum)


@given(INDEXES, st.integers(1, 9), st.data())
def test_reached_never_falls_when_somebody_advances(
    indexes: list[Index], quorum: int, data: st.DataObject
) -> None:
    advanced = [Index(index + data.draw(st.integers(0, 3))) for index in indexes]
    assert reached(advanced, quorum) >= reached(indexes, quorum)


@given(st.integers(1, 31))
def test_two_majorities_have_a_member_in_common_and_nothing_smaller_does(voters: int) -> None:
    assert 2 * majority(voters) > voters
    assert 2 * (majority(voters) - 1) <= voters


# The naive side is integer arithmetic.
CASES: dict[str, Callable[[int], int]] = {
    "N / 2 + 1": lambda n: n // 2 + 1,
    "N // 2 + 1": lambda n: n // 2 + 1,
    "N": lambda n: n,
    "min(N, N / 2 + 2)": lambda n: min(n, n // 2 + 2),
    "(N - N % 2) / 2 + 1": lambda n: n // 2 + 1,
    "max(N // 2 + 1, N - 3 + 1 / 3)": lambda n: max(n // 2 + 1, n - 3),
    "ceil((N + 1) / 2)": lambda n: -(-(n + 1) // 2),
    "floor(abs(-N) * 0.5) + 1": lambda n: n // 2 + 1,
    "2 * N / 2": lambda n: n,
}


@pytest.mark.parametrize("expression", CASES)
def test_expressions_are_exact_arithmetic_rounded_down(expression: str) -> None:
    quorum = parse(expression)
    assert [quorum.of(n) for n in range(1, 32)] == [CASES[expression](n) for n in range(1, 32)]


@given(
    st.recursive(
        st.integers(1, 9).map(str) | st.just("N"),
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from("+-*/%"), inner).map(
                lambda t: f"({t[0]} {t[1]} {t[2]})"
            ),
            st.tuples(inner, inner).map(lambda t: f"min({t[0]}, {t[1]})"),
        ),
        max_leaves=6,
    )
)
def test_any_arithmetic_is_either_refused_or_never_below_the_majority(expression: str) -> None:
    try:
        quorum = parse(expression)
    except QuorumError:
        return
    for voters in range(1, 32):
        assert majority(voters) <= quorum.of(voters) <= 31


@pytest.mark.parametrize(
    "expression",
    ["", "N +", "aaa", "N - 1", "N + 1", "N ** 2", "1 / (N - 3)", "0", "32", "-1", "True", "'3'",
     "N.real", "__import__('os')", "max()", "floor(N, N)", "N if N else 1", "[N][0]", "1e999",
     "min(N, key=N)", "(lambda: N)()", "N\n1", "1 +" * 80 + " N", "(" * 150, "99999999 * N"],
)  # fmt: skip
def test_what_is_not_arithmetic_between_1_and_31_is_refused(expression: str) -> None:
    with pytest.raises(QuorumError):
        parse(expression, unsafe=True)


def test_below_the_majority_is_refused_unless_said_to_be_unsafe() -> None:
    with pytest.raises(QuorumError, match="below the majority 2"):
        parse("N / 2 + 1 / 2")
    quorum = parse("max(1, N / 2)", unsafe=True)
    assert quorum.of(4) == 2
    assert quorum.is_unsafe_for(4)
    assert not quorum.is_unsafe_for(1)


def test_a_plain_number_is_lifted_to_the_majority_of_a_larger_set() -> None:
    quorum = parse(2)
    assert [quorum.of(n) for n in (1, 2, 3, 4, 5)] == [2, 2, 2, 3, 3]
    assert not quorum.is_unsafe_for(31)
    assert parse(2, unsafe=True).of(5) == 2


def test_a_quorum_prints_its_expression_and_equals_by_it() -> None:
    assert str(parse("N / 2 + 1")) == "N / 2 + 1"
    assert parse("N / 2 + 1") == Quorum("N / 2 + 1")


def test_the_chart_marks_who_has_what_the_quorum_has() -> None:
    indexes = {Replica(1): Index(20), Replica(2): Index(10), Replica(3): Index(0)}
    assert describe(indexes, 2).splitlines() == [
        "quorum 2 of 3 reaches 10",
        " 1 * #################### 20",
        " 2 * ##########           10",
        " 3                        0",
    ]
    assert describe({Replica(1): Index(0)}, 1).startswith("quorum 1 of 1 reaches 0")
