"""Promises to one client: its own writes, no way back, nothing twice; unknown outcomes settled."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admin.checker.facts import check_bank_total, check_failures
from admin.checker.linear import check_register
from admin.checker.operation import FOREVER, CompletionType, Operation
from admin.checker.resolve import ResolvedLog, resolve, token
from admin.checker.sessions import (
    AppliedRequest,
    check_answers,
    check_monotonic_reads,
    check_read_your_writes,
)
from admin.checker.verdict import Result
from tests.unit import histories


def op(number: int, f: str, value: object, *, at: int | None = None) -> Operation:
    return Operation(
        number=number,
        process=0,
        f=f,
        key="k",
        value=value,
        begun=2 * number,
        ended=2 * number + 1,
        index=at,
    )


def test_a_read_with_a_receipt_shows_at_least_that() -> None:
    write, old = op(0, "write", "a", at=5), op(1, "write", "b", at=7)
    fine = replace(op(2, "read", "b", at=7), floor=7)
    assert check_read_your_writes([write, old, fine]).result is Result.PASS
    said = replace(op(2, "read", "b", at=6), floor=7)
    assert check_read_your_writes([write, old, said]).result is Result.FAIL
    stale = replace(op(2, "read", "a"), floor=7)
    verdict = check_read_your_writes([write, old, stale])
    assert verdict.result is Result.FAIL
    assert verdict.violations[0].witness == (stale,)


def test_a_receipt_of_another_key_asks_for_nothing_newer_than_there_is() -> None:
    here, there = op(0, "write", "a", at=5), replace(op(1, "write", "b", at=7), key="other")
    read = replace(op(2, "read", "a", at=7), floor=7)
    assert check_read_your_writes([here, there, read]).result is Result.PASS
    since = op(3, "write", "c", at=6)
    assert check_read_your_writes([here, there, since, read]).result is Result.FAIL


def test_what_a_later_term_wrote_at_the_index_of_a_receipt_is_not_asked_for() -> None:
    """The receipt was of an asynchronous entry, which is cut later: its place is taken again."""
    old = replace(op(0, "write", "a", at=5), term=1)
    taken = replace(op(1, "write", "b", at=7), term=3)
    shown = replace(op(2, "read", "a", at=7), floor=7, term=2)
    assert check_read_your_writes([old, taken, shown]).result is Result.PASS
    assert check_read_your_writes([old, taken, replace(shown, term=3)]).result is Result.FAIL
    assert check_read_your_writes([old, replace(taken, term=2), shown]).result is Result.FAIL


def test_a_read_shows_the_very_entry_that_it_was_given_not_another_one_at_its_index() -> None:
    given = replace(op(0, "read", None, at=7), floor=7, floor_term=2)
    for index, term in ((7, 2), (9, 2), (9, 3)):
        shown = replace(given, index=index, term=term)
        assert check_read_your_writes([shown]).result is Result.PASS
    for index, term in ((7, 1), (7, 3), (9, 1), (6, 3)):
        shown = replace(given, index=index, term=term)
        verdict = check_read_your_writes([shown])
        assert verdict.result is Result.FAIL, shown
        assert "7 of term 2" in verdict.violations[0].message
    unsaid = replace(given, index=9, term=None)
    assert check_read_your_writes([unsaid]).result is Result.PASS


def test_what_an_older_term_wrote_before_a_receipt_is_asked_for() -> None:
    """Not what a later term wrote there: the log of the receipt may have been cut."""
    old = replace(op(0, "write", "a", at=3), term=1)
    new = replace(op(1, "write", "b", at=5), term=2)
    last = replace(op(2, "write", "x", at=8), key="other", term=2)
    read = replace(op(3, "read", "a", at=8), floor=7, floor_term=2)
    assert check_read_your_writes([old, new, last, read]).result is Result.FAIL
    assert check_read_your_writes([old, replace(new, term=3), last, read]).result is Result.PASS


def test_a_tail_that_a_deposed_leader_ended_with_a_rollback_lacks_what_its_successor_confirms() -> (
    None
):
    """The leader rolled 71 back in its own log only, and was read there: 72 is the ROLLBACK."""
    before = replace(op(0, "write", "a", at=63), term=1)
    confirmed = replace(op(1, "write", "b", at=71), term=1)
    shown = replace(op(2, "read", "a", at=72), term=1, floor=72, floor_term=1)
    assert check_read_your_writes([before, confirmed, shown]).result is Result.PASS
    kept = replace(op(3, "write", "x", at=73), key="other", term=1)
    assert check_read_your_writes([before, confirmed, shown, kept]).result is Result.FAIL
    doubtful = replace(kept, kind=CompletionType.INFO)
    assert check_read_your_writes([before, confirmed, shown, doubtful]).result is Result.PASS
    other = replace(shown, index=71)
    assert check_read_your_writes([before, confirmed, other]).result is Result.FAIL


@pytest.mark.parametrize("at", [8, 9])
def test_a_session_is_not_shown_the_log_of_an_older_term(at: int) -> None:
    first, second = op(0, "read", 1, at=8), op(1, "read", 2, at=at)
    for term, count in ((1, 1), (2, 0), (3, 0)):
        shown = [replace(first, term=2), replace(second, term=term)]
        assert check_monotonic_reads(shown).count == count


def test_the_log_of_a_later_term_may_lack_an_asynchronous_tail_that_a_session_saw() -> None:
    """A new leader cut 107 of term 1, which only its predecessor had; 106 is confirmed."""
    places = [(107, 1), (106, 2), (105, 2)]
    tail, cut, back = (
        replace(op(number, "read", "a", at=index), term=term)
        for number, (index, term) in enumerate(places)
    )
    assert check_monotonic_reads([tail, cut]).result is Result.PASS
    found = check_monotonic_reads([tail, cut, back])
    assert (found.count, found.violations[0].witness) == (1, (cut, back))


def test_confirmed_values_do_not_go_back_in_a_later_term() -> None:
    writes = [op(0, "write", "a", at=5), op(1, "write", "b", at=7)]
    first, second = op(2, "read", "b", at=107), op(3, "read", "a", at=106)
    shown = [replace(first, term=1), replace(second, term=2)]
    assert check_monotonic_reads([*writes, *shown]).count == 1


def test_reads_without_receipts_were_promised_nothing() -> None:
    steps = [op(0, "write", "a", at=5), op(1, "read", "z")]
    assert check_read_your_writes(steps).result is Result.SKIPPED
    undated = [*steps, replace(op(2, "read", "z"), floor=5)]
    assert check_read_your_writes(undated).result is Result.UNKNOWN


def test_what_a_session_was_shown_does_not_go_back() -> None:
    writes = [op(0, "write", "a", at=5), op(1, "write", "b", at=7)]
    forth = [op(2, "read", "a"), op(3, "read", "b")]
    back = [op(2, "read", "b"), op(3, "read", "a")]
    assert check_monotonic_reads([*writes, *forth]).result is Result.PASS
    verdict = check_monotonic_reads([*writes, *back])
    assert verdict.result is Result.FAIL
    assert verdict.violations[0].witness == tuple(back)
    others = [back[0], replace(back[1], process=1)]
    assert check_monotonic_reads([*writes, *others]).result is Result.SKIPPED
    named = [replace(each, session="s") for each in others]
    assert check_monotonic_reads([*writes, *named]).result is Result.FAIL


def test_places_in_the_log_do_not_go_back_either() -> None:
    assert check_monotonic_reads([op(0, "read", 1, at=8), op(1, "read", 2, at=7)]).count == 1


def test_reads_at_the_same_time_have_no_order() -> None:
    first = replace(op(0, "read", 1, at=8), ended=50)
    assert check_monotonic_reads([first, op(1, "read", 2, at=7)]).result is Result.SKIPPED


def test_a_value_written_twice_has_no_date() -> None:
    writes = [op(0, "write", "a", at=5), op(1, "write", "b", at=7), op(2, "write", "a", at=9)]
    reads = [op(3, "read", "b"), op(4, "read", "a")]
    assert check_monotonic_reads([*writes, *reads]).result is Result.SKIPPED


def test_what_was_acknowledged_is_in_the_log_where_the_receipt_says() -> None:
    write = replace(op(0, "write", "a", at=5), session="s", seq=1)
    assert (
        check_answers([write], [AppliedRequest(session="s", seq=1, index=5)]).result is Result.PASS
    )
    assert (
        check_answers([write], [AppliedRequest(session="s", seq=1, index=6)]).result is Result.FAIL
    )
    assert check_answers([write], []).result is Result.FAIL


def test_balances_that_do_not_add_up_are_found() -> None:
    reads = [op(0, "read", {"a": 5, "b": 5}), op(1, "read", {"a": 4, "b": 6})]
    assert check_bank_total(reads).result is Result.PASS
    assert check_bank_total(reads, total=11).count == 2
    assert check_bank_total([*reads, op(2, "read", {"a": 4, "b": 5})]).count == 1
    assert check_bank_total([op(0, "read", 1)]).result is Result.SKIPPED


def test_what_failed_is_not_seen_unless_somebody_else_wrote_it() -> None:
    failed = replace(op(0, "write", 1), kind=CompletionType.FAIL)
    read = op(2, "read", 1)
    assert check_failures([failed, read]).result is Result.FAIL
    assert check_failures([failed, op(1, "write", 1), read]).result is Result.PASS
    assert check_failures([op(1, "write", 1), read]).result is Result.SKIPPED
    elsewhere = replace(read, key="y")
    assert check_failures([failed, elsewhere]).result is Result.SKIPPED
    assert check_failures([failed, op(1, "write", 1), read, elsewhere]).facts == 1


# ---------------------------------------------------------------------- unknown outcomes


def unknown(number: int, value: object) -> Operation:
    return replace(op(number, "write", value), ended=None, kind=CompletionType.INFO)


def test_the_log_says_what_became_of_an_unknown_write() -> None:
    there, gone = unknown(0, "a"), unknown(1, "b")
    partly = ResolvedLog(applied=frozenset({token(there)}))
    assert [each.kind for each in resolve([there, gone], partly)] == [
        CompletionType.OK,
        CompletionType.INFO,
    ]
    whole = replace(partly, complete=True)
    settled = resolve([there, gone], whole)
    assert [each.kind for each in settled] == [CompletionType.OK, CompletionType.FAIL]
    assert settled[0].ended == FOREVER


def test_a_write_that_happened_must_be_explained() -> None:
    # Nobody saw `a`, and yet it is in the log: then the register cannot still be empty.
    steps = [replace(unknown(0, "a"), begun=0), op(1, "read", None), op(2, "read", "a")]
    stale = [*steps, op(3, "read", None)]
    assert check_register(steps).result is Result.PASS
    settled = resolve([*stale[:2], stale[3]], ResolvedLog(applied=frozenset(), complete=True))
    assert check_register(settled).result is Result.PASS
    assert check_register(resolve(stale, ResolvedLog(applied=frozenset()))).result is Result.FAIL


def test_values_written_twice_name_nothing() -> None:
    twins = [unknown(0, "a"), unknown(1, "a")]
    decided = ResolvedLog(applied=frozenset({token(twins[0])}), complete=True)
    assert resolve(twins, decided) == twins
    numbered = [replace(each, session="s", seq=at) for at, each in enumerate(twins)]
    decided = ResolvedLog(applied=frozenset({("s", 1)}), complete=True)
    assert [each.kind for each in resolve(numbered, decided)] == [
        CompletionType.FAIL,
        CompletionType.OK,
    ]


@given(st.integers(0, 2**32))
def test_a_settled_history_of_a_real_register_still_passes(seed: int) -> None:
    operations = histories.lived(
        Random(seed),
        40,
        histories.register(values=None, cas=False),
        histories.Clients(unknown=0.2),
    )
    # Everything in these histories did happen, also what nobody heard of.
    applied = frozenset(token(each) for each in operations)
    settled = resolve(operations, ResolvedLog(applied=applied, complete=True))
    assert all(each.kind is CompletionType.OK for each in settled)
    assert check_register(settled).result is Result.PASS
