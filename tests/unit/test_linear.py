"""Histories that a register, a text, a set, a counter and a bank could have given, or not."""

import ast
from collections.abc import Callable, Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admin.checker.linear import (
    Bank,
    CasRegister,
    Counter,
    GrowingSet,
    Model,
    Register,
    SearchConclusion,
    Text,
    check,
    check_bank,
    check_cas_register,
    check_counter,
    check_kv,
    check_register,
    check_set,
    explain,
    search,
    sets,
    zones,
)
from admin.checker.linear.coding import Coding
from admin.checker.operation import FOREVER, CompletionType, Operation
from admin.checker.verdict import Result
from tests.examples import scaled
from tests.unit import histories
from tests.unit.naive import (
    BANKS,
    COUNTERS,
    REGISTERS,
    SETS,
    TEXTS,
    Naive,
    has_order,
    naive_bank,
    naive_counter,
    naive_register,
    naive_set,
    naive_text,
    op,
    small,
    spans,
)


def found(*operations: Operation, model: Model | None = None) -> SearchConclusion:
    return search(operations, model or Register()).found


# ------------------------------------------------------------------------------ by hand


def test_a_read_after_a_write_sees_it() -> None:
    assert found(op(0, "write", 1, 0, 1), op(1, "read", 1, 2, 3)) is SearchConclusion.ORDER
    assert found(op(0, "write", 1, 0, 1), op(1, "read", None, 2, 3)) is SearchConclusion.NO_ORDER


def test_a_read_beside_a_write_may_see_either() -> None:
    for value in (None, 1):
        assert found(op(0, "write", 1, 0, 3), op(1, "read", value, 1, 2)) is SearchConclusion.ORDER


def test_two_reads_beside_a_write_may_not_go_back() -> None:
    write = op(0, "write", 1, 0, 9)
    new, old = op(1, "read", 1, 1, 2), op(2, "read", None, 3, 4)
    assert found(write, new, old) is SearchConclusion.NO_ORDER


def test_an_unknown_write_may_take_effect_late_or_never() -> None:
    unknown = op(0, "write", 1, 0, None)
    second = op(1, "write", 2, 1, 2)
    assert (
        found(unknown, second, op(2, "read", 2, 3, 4), op(3, "read", 1, 5, 6))
        is SearchConclusion.ORDER
    )
    assert found(unknown, second, op(2, "read", 2, 3, 4)) is SearchConclusion.ORDER
    back = op(4, "read", 2, 7, 8)
    assert (
        found(unknown, second, op(2, "read", 2, 3, 4), op(3, "read", 1, 5, 6), back)
        is SearchConclusion.NO_ORDER
    )


def test_a_write_that_happened_unheard_must_have_its_place() -> None:
    late = op(0, "add", 1, 0, FOREVER)
    seen, after = op(1, "read", 0, 2, 3), op(2, "read", 1, 4, 5)
    assert found(late, seen, after, model=Counter()) is SearchConclusion.ORDER
    assert found(late, op(3, "add", 1, 0, 1), seen, model=Counter()) is SearchConclusion.NO_ORDER


def test_a_write_of_what_is_there_already_may_still_wait_for_its_turn() -> None:
    same = op(2, "write", 4, 5, 12)
    assert (
        found(op(0, "write", 4, 0, 1), op(1, "write", 0, 4, 8), same, op(3, "read", 4, 10, 11))
        is SearchConclusion.ORDER
    )


def test_a_cas_needs_what_it_compares_with() -> None:
    model = CasRegister()
    write, cas = op(0, "write", 1, 0, 1), op(1, "cas", [1, 2], 2, 3)
    assert found(write, cas, op(2, "read", 2, 4, 5), model=model) is SearchConclusion.ORDER
    assert found(write, op(1, "cas", [3, 2], 2, 3), model=model) is SearchConclusion.NO_ORDER
    assert found(write, cas, op(2, "cas", [1, 2], 2, 3), model=model) is SearchConclusion.NO_ORDER


@pytest.mark.parametrize("f", ["read", "cas"])
def test_a_value_of_nobody_is_told_by_the_one_operation_that_saw_it(f: str) -> None:
    """Also where compare-and-set is used; the rest of the history has nothing to do with it."""
    odd = op(7, f, 9 if f == "read" else [9, 3], 20, 21)
    others = [op(0, "write", 1, 0, 1), op(1, "cas", [1, 2], 2, 3), op(2, "read", 2, 4, 5)]
    verdict = check_register([*others, odd, op(8, "write", 2, 30, 31)])
    (violation,) = verdict.violations
    assert violation.message == "nobody wrote 9"
    assert [each.number for each in violation.witness] == [7]
    assert check_register([*others, op(8, "write", 9, 6, 40), odd]).result is Result.PASS


def test_a_cas_that_compared_unequal_saw_something_else() -> None:
    write, unequal = op(0, "write", 1, 0, 1), op(1, "cas-unequal", [1, 2], 2, 3)
    assert found(write, unequal) is SearchConclusion.NO_ORDER
    assert found(write, op(2, "write", 7, 0, None), unequal) is SearchConclusion.ORDER


def test_true_is_not_one() -> None:
    assert found(op(0, "write", True, 0, 1), op(1, "read", 1, 2, 3)) is SearchConclusion.NO_ORDER
    assert found(op(0, "write", True, 0, 1), op(1, "read", True, 2, 3)) is SearchConclusion.ORDER


def test_a_bank_read_sees_one_moment() -> None:
    bank = Bank.of({"a": 5, "b": 5})
    move = op(0, "transfer", ["a", "b", 3], 0, 3)
    assert found(move, op(1, "read", {"a": 2, "b": 8}, 1, 2), model=bank) is SearchConclusion.ORDER
    assert (
        found(move, op(1, "read", {"a": 2, "b": 5}, 1, 2), model=bank) is SearchConclusion.NO_ORDER
    )
    assert found(op(0, "transfer", ["a", "b", 6], 0, 3), model=bank) is SearchConclusion.NO_ORDER


def test_a_bank_without_opening_balances_learns_them_from_the_first_read() -> None:
    move = op(1, "transfer", ["a", "b", 3], 4, 5)
    first, then = op(0, "read", {"a": 7, "b": 1}, 0, 1), op(2, "read", {"a": 4, "b": 4}, 6, 7)
    assert check_bank([first, move, then]).result is Result.PASS
    assert check_bank([first, then]).result is Result.FAIL


def test_a_text_grows_at_its_end_until_it_is_put_anew() -> None:
    steps = [op(0, "append", "a", 0, 1), op(1, "append", "b", 2, 3), op(2, "get", "ab", 4, 5)]
    assert check_kv(steps).result is Result.PASS
    assert check_kv([*steps, op(3, "put", "c", 6, 7), op(4, "get", "c", 8, 9)]).count == 0
    assert check_kv([*steps, op(3, "put", "c", 6, 7), op(4, "get", "abc", 8, 9)]).count == 1


def test_pieces_that_mean_the_same_are_not_taken_apart() -> None:
    steps = [op(0, "append", "a", 0, 1), op(1, "append", "aa", 2, 3)]
    assert check_kv([*steps, op(2, "get", "aaa", 4, 5)]).result is Result.PASS
    assert check_kv([*steps, op(2, "get", "aa", 4, 5)]).result is Result.FAIL


def test_a_set_answers_all_that_was_added_and_nothing_else() -> None:
    steps = [op(0, "add", 1, 0, 1), op(1, "add", 2, 0, 5)]
    assert check_set([*steps, op(2, "read", [1], 2, 3)]).result is Result.PASS
    assert check_set([*steps, op(2, "read", [2], 2, 3)]).result is Result.FAIL
    assert check_set([*steps, op(2, "read", [3, 1], 2, 3)]).result is Result.FAIL


# ------------------------------------------------------------------------- limits and verdicts


def test_a_search_that_reaches_its_limit_does_not_know() -> None:
    operations = histories.lived(
        Random(3), 40, histories.register(values=3, cas=False), histories.Clients()
    )
    assert search(operations, Register(), steps_max=5).found is SearchConclusion.GAVE_UP
    verdict = check_register(operations, steps_max=5)
    assert verdict.result is Result.UNKNOWN
    assert "after" in verdict.note


def test_each_key_is_judged_alone_and_nothing_is_not_a_pass() -> None:
    assert check([]).result is Result.UNKNOWN
    a = Operation(number=0, process=0, f="write", value=1, begun=0, ended=1, key="a")
    b = Operation(number=2, process=0, f="read", value=1, begun=2, ended=3, key="b")
    verdict = check([a, b])
    assert verdict.result is Result.FAIL
    assert [each.key for each in verdict.violations] == ["b"]
    assert check([a]).result is Result.PASS
    assert check([a, b], lambda key: Register() if key == "a" else None).facts == 1


def test_a_definite_failure_did_not_happen_and_an_open_write_may_have() -> None:
    failed = Operation(
        number=0,
        process=0,
        f="write",
        value=1,
        begun=0,
        ended=1,
        kind=CompletionType.FAIL,
        key=None,
    )
    opened = op(1, "write", 2, 2, None)
    assert check([failed, opened, op(2, "read", 2, 3, 4)]).result is Result.PASS
    assert check([failed, opened, op(2, "read", 1, 3, 4)]).result is Result.FAIL


# ------------------------------------------------------------- against a naive second opinion


def agrees(operations: list[Operation], model: Model, start: object, step: Naive) -> None:
    wanted = (
        SearchConclusion.ORDER if has_order(operations, start, step) else SearchConclusion.NO_ORDER
    )
    assert search(operations, model).found is wanted
    verdict = check(operations, lambda _: model)
    assert (verdict.result is Result.PASS) == (wanted is SearchConclusion.ORDER)
    for each in verdict.violations:
        if not each.opening:
            assert not has_order(each.witness, start, step), "an explanation must fail by itself"


@settings(max_examples=scaled(400))
@given(spans(REGISTERS))
def test_registers_are_judged_as_a_naive_checker_does(operations: list[Operation]) -> None:
    agrees(operations, Register(), None, naive_register)


@settings(max_examples=scaled(400))
@given(spans(TEXTS))
def test_texts_are_judged_as_a_naive_checker_does(operations: list[Operation]) -> None:
    agrees(operations, Text(), "", naive_text)


@settings(max_examples=scaled(200))
@given(spans(SETS))
def test_sets_are_judged_as_a_naive_checker_does(operations: list[Operation]) -> None:
    agrees(operations, GrowingSet(), frozenset(), naive_set)


@settings(max_examples=scaled(200))
@given(spans(COUNTERS))
def test_counters_are_judged_as_a_naive_checker_does(operations: list[Operation]) -> None:
    agrees(operations, Counter(), 0, naive_counter)


@settings(max_examples=scaled(200))
@given(spans(BANKS))
def test_banks_are_judged_as_a_naive_checker_does(operations: list[Operation]) -> None:
    agrees(operations, Bank.of({"a": 5, "b": 5}, overdraft=True), (5, 5), naive_bank)


def unique_writes(operations: list[Operation]) -> Iterator[Operation]:
    """The same with every written value written once; reads may be of any of them."""
    written = 0
    for each in operations:
        if each.f == "write":
            written += 1
            yield op(each.number, "write", written, each.begun, each.ended)
        elif each.f == "read":
            yield each


@settings(max_examples=scaled(400))
@given(spans(st.one_of(*[REGISTERS] * 2, st.tuples(st.just("read"), st.integers(1, 3)))))
def test_the_zone_test_agrees_with_a_naive_checker(operations: list[Operation]) -> None:
    unique = list(unique_writes(operations))
    if unique:
        assert zones.applies(unique)
        assert (zones.clash(unique) is None) == has_order(unique, None, naive_register)


@settings(max_examples=scaled(400))
@given(spans(st.one_of(SETS, st.tuples(st.just("read"), st.lists(small)))))
def test_the_order_of_answers_agrees_with_a_naive_checker(operations: list[Operation]) -> None:
    first = {each.value: each for each in reversed(operations) if each.f == "add"}
    once = [e for e in operations if e.f == "read" or first[e.value] is e]
    assert sets.applies(once)
    found = sets.torn(once)
    assert (found is None) == has_order(once, frozenset(), naive_set)
    if found is not None:
        verdict = check_set(once)
        assert verdict.result is Result.FAIL
        assert not has_order(verdict.violations[0].witness, frozenset(), naive_set)


def test_a_set_shows_no_element_twice() -> None:
    verdict = check_set([op(0, "add", 1, 0, 1), op(1, "read", [1, 1], 2, 3)])
    assert [each.message for each in verdict.violations] == ["an answer holds 1 twice"]
    added_twice = [op(0, "add", 1, 0, 1), op(1, "add", 1, 2, 3), op(2, "read", [1, 1], 4, 5)]
    assert check_set(added_twice).result is Result.FAIL


# -------------------------------------------------------------------- real objects, then faults

OBJECTS: dict[str, tuple[Callable[[], histories.Apply], Model]] = {
    "register": (lambda: histories.register(values=None, cas=False), Register()),
    "small register": (lambda: histories.register(values=3, cas=False), Register()),
    "cas": (lambda: histories.register(values=4, cas=True), CasRegister()),
    "text": (histories.text, Text()),
    "set": (histories.growing_set, GrowingSet()),
    "counter": (histories.counter, Counter()),
    "bank": (
        histories.bank,
        Bank.of({f"a{number}": 100 for number in range(4)}, overdraft=True),
    ),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_what_a_real_object_did_is_accepted(name: str) -> None:
    make, model = OBJECTS[name]
    for seed in range(20):
        clients = histories.Clients(processes=1 + seed % 6, unknown=0.05)
        operations = histories.lived(Random(seed), 60, make(), clients)
        assert check(operations, lambda _: model).result is Result.PASS, seed


@pytest.mark.parametrize("name", OBJECTS)
def test_an_answer_that_went_back_is_rejected_and_explained_in_a_few_lines(name: str) -> None:
    make, model = OBJECTS[name]
    rejected = 0
    for seed in range(10):
        operations = histories.lived(Random(seed), 60, make(), histories.Clients(unknown=0.03))
        looks = [each for each in operations if each.f in {"read", "get"}]
        end = max(each.ended for each in operations if each.ended is not None)
        newest, stale = looks[-1], looks[0]
        before = op(9001, newest.f, newest.value, end + 1, end + 2)
        again = op(9000, stale.f, stale.value, end + 3, end + 4)
        verdict = check([*operations, before, again], lambda _: model)
        # Unknown writes, or values that come again, may explain it after all.
        rejected += verdict.result is Result.FAIL
        for violation in verdict.violations:
            assert len(violation.witness) <= 20, violation.describe()
            if not violation.opening:
                assert found(*violation.witness, model=model) is SearchConclusion.NO_ORDER
    assert rejected >= 6


def test_a_hundred_writes_shrink_to_the_three_that_matter() -> None:
    steps: list[Operation] = []
    for value in range(40):
        steps.append(op(4 * value, "write", value, 4 * value, 4 * value + 1))
        seen = 30 if value == 35 else value
        steps.append(op(4 * value + 2, "read", seen, 4 * value + 2, 4 * value + 3, process=1))
    for verdict in (check_register(steps), check_cas_register([*steps, unequal(999)])):
        (violation,) = verdict.violations
        first, between, last = (each.value for each in violation.witness)
        assert (first, last) == (30, 30)
        assert between in {31, 32, 33, 34, 35}
        assert any("no order" in text for text in violation.describe())


def unequal(place: int) -> Operation:
    return op(place, "cas-unequal", [-1, -2], place, place + 1)


def test_a_proof_that_begins_late_fails_from_every_state_there_could_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(explain, "SHORT", 0)
    late = 0
    for seed in range(300):
        random = Random(seed)
        apply = histories.register(values=2, cas=True)
        clients = histories.Clients(processes=3, unknown=0.15, spread=4)
        operations = histories.lived(random, 8, apply, clients)
        place = 2 * len(operations)
        operations.append(op(place, "read", random.randrange(3), place, place + 1))
        for violation in check_cas_register(operations).violations:
            if violation.opening:
                late += 1
                start = min(e.begun for e in violation.witness if e.ended is not None)
                before = [e for e in operations if e.ended is not None and e.ended < start]
                assert not has_order([*before, *violation.witness], None, naive_register)
                for state in violation.opening.removeprefix("the state was ").split(" or "):
                    known = object() if "nobody" in state else ast.literal_eval(state)
                    assert not has_order(violation.witness, known, naive_register)
    assert late > 50


def test_a_lost_element_is_shown_alone() -> None:
    steps = [op(2 * n, "add", n, 2 * n, 2 * n + 1) for n in range(50)]
    verdict = check_set([*steps, op(200, "read", [n for n in range(50) if n != 17], 200, 201)])
    (violation,) = verdict.violations
    assert [(each.f, each.value) for each in violation.witness] == [("add", 17), ("read", [])]
    assert "as far as they concern" in violation.message, "the read was of all the others"


def test_an_explanation_may_begin_late_and_then_says_with_what() -> None:
    steps = [op(2 * n, "add", 1, 2 * n, 2 * n + 1) for n in range(30)]
    verdict = check_counter([*steps, op(200, "read", 29, 200, 201)])
    (violation,) = verdict.violations
    assert [each.f for each in violation.witness] == ["read"]
    assert violation.opening == "the state was 30"


@pytest.mark.parametrize(
    ("model", "steps", "wanted"),
    [
        (Text(), [("put", "b"), ("append", "c"), ("get", "bc")], "'bc'"),
        (Text(), [("append", "a"), ("append", "a"), ("get", "aa")], "'aa'"),
        (Register(), [("write", [1, 2]), ("read", [1, 2])], "[1, 2]"),
        (Register(), [("write", 5), ("read", 6)], "something that nobody read"),
        (Counter(), [("add", 3), ("read", 3)], "3"),
        (GrowingSet(), [("add", 1), ("read", [1])], "[1]"),
        (
            Bank.of({"a": 1, "b": 0}),
            [("transfer", ["a", "b", 1]), ("read", {"a": 0, "b": 1})],
            "{'a': 0, 'b': 1}",
        ),
    ],
)
def test_states_are_told_in_the_words_of_the_object(
    model: Model, steps: list[tuple[str, object]], wanted: str
) -> None:
    operations = [op(n, f, value, 2 * n, 2 * n + 1) for n, (f, value) in enumerate(steps)]
    coding = Coding(operations, model)
    state = coding.start
    for each in operations[:-1]:
        state = coding.step(state, coding.code(each))
    assert coding.name(state) == wanted


def test_a_broad_history_of_texts_is_decided_in_a_moment() -> None:
    clients = histories.Clients(processes=50, unknown=0, spread=100)
    operations = histories.lived(Random(5), 400, histories.text(), clients)
    assert check_kv(operations).result is Result.PASS
    gets = [each for each in operations if each.f == "get" and each.value]
    lost = str(gets[-1].value)
    cut = lost[: lost.index("y") + 1] + lost[lost.index("y") + 1 :].partition("y")[2]
    changed = [op(e.number, e.f, cut, e.begun, e.ended) if e is gets[-1] else e for e in operations]
    assert cut != lost
    verdict = check_kv(changed)
    assert verdict.result is Result.FAIL
    assert verdict.steps < 20_000
