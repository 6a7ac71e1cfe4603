"""Histories that a register, a compare-and-set register and a bank could have given, or not."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admin.checker.linear import (
    Bank,
    CasRegister,
    Found,
    Linearity,
    Model,
    Operation,
    Register,
    check,
    search,
)
from admin.history import History, Type, load, parse, save


def op(
    number: int, f: str, value: object, begun: int, ended: int | None, process: int = 0
) -> Operation:
    return Operation(number=number, process=process, f=f, value=value, begun=begun, ended=ended)


def found(*operations: Operation, model: Model | None = None) -> Found:
    return search(operations, model or Register()).found


def test_a_read_after_a_write_sees_it() -> None:
    assert found(op(0, "write", 1, 0, 1), op(1, "read", 1, 2, 3)) is Found.ORDER
    assert found(op(0, "write", 1, 0, 1), op(1, "read", None, 2, 3)) is Found.NO_ORDER


def test_a_read_beside_a_write_may_see_either() -> None:
    for value in (None, 1):
        assert found(op(0, "write", 1, 0, 3), op(1, "read", value, 1, 2)) is Found.ORDER


def test_two_reads_beside_a_write_may_not_go_back() -> None:
    write = op(0, "write", 1, 0, 9)
    new, old = op(1, "read", 1, 1, 2), op(2, "read", None, 3, 4)
    assert found(write, new, old) is Found.NO_ORDER


def test_an_unknown_write_may_take_effect_late_or_never() -> None:
    unknown = op(0, "write", 1, 0, None)
    second = op(1, "write", 2, 1, 2)
    assert found(unknown, second, op(2, "read", 2, 3, 4), op(3, "read", 1, 5, 6)) is Found.ORDER
    assert found(unknown, second, op(2, "read", 2, 3, 4)) is Found.ORDER
    back = op(4, "read", 2, 7, 8)
    assert (
        found(unknown, second, op(2, "read", 2, 3, 4), op(3, "read", 1, 5, 6), back)
        is Found.NO_ORDER
    )


def test_a_cas_needs_what_it_compares_with() -> None:
    model = CasRegister()
    write, cas = op(0, "write", 1, 0, 1), op(1, "cas", [1, 2], 2, 3)
    assert found(write, cas, op(2, "read", 2, 4, 5), model=model) is Found.ORDER
    assert found(write, op(1, "cas", [3, 2], 2, 3), model=model) is Found.NO_ORDER
    twice = op(2, "cas", [1, 2], 2, 3)
    assert found(write, cas, twice, model=model) is Found.NO_ORDER


def test_a_bank_read_sees_one_moment() -> None:
    bank = Bank.of({"a": 5, "b": 5})
    move = op(0, "transfer", ["a", "b", 3], 0, 3)
    assert found(move, op(1, "read", {"a": 2, "b": 8}, 1, 2), model=bank) is Found.ORDER
    assert found(move, op(1, "read", {"a": 2, "b": 5}, 1, 2), model=bank) is Found.NO_ORDER
    assert found(op(0, "transfer", ["a", "b", 6], 0, 3), model=bank) is Found.NO_ORDER


def test_a_search_that_reaches_its_limit_does_not_know() -> None:
    writes = [op(n, "write", n, 2 * n, 2 * n + 1) for n in range(20)]
    assert search(writes, Register(), steps_max=5).found is Found.GAVE_UP


def test_the_explanation_is_short_and_still_fails() -> None:
    history = History()
    for value in range(40):
        history.invoke(0, "write", key="k", value=value)
        history.complete(0, Type.OK)
        history.invoke(1, "read", key="k")
        history.complete(1, Type.OK, value=30 if value == 35 else value)
    report = check(history.lines)
    assert report.verdict is Linearity.FAIL
    (failure,) = report.failures
    assert len(failure.witness) == 3, failure.describe()
    assert search(failure.witness, Register()).found is Found.NO_ORDER
    assert any("no order" in text for text in failure.describe())


def test_each_key_is_judged_alone_and_nothing_is_not_a_pass() -> None:
    history = History()
    assert check(history.lines).verdict is Linearity.UNKNOWN
    history.invoke(0, "write", key="a", value=1)
    history.complete(0, Type.OK)
    history.invoke(0, "read", key="b")
    history.complete(0, Type.OK, value=1)
    report = check(history.lines)
    assert [(each.key, each.verdict) for each in report.keys] == [
        ("a", Linearity.PASS),
        ("b", Linearity.FAIL),
    ]


def test_a_definite_failure_did_not_happen_and_an_open_write_may_have() -> None:
    history = History()
    history.invoke(0, "write", key="k", value=1)
    history.complete(0, Type.FAIL)
    history.invoke(1, "write", key="k", value=2)
    history.invoke(0, "read", key="k")
    history.complete(0, Type.OK, value=2)
    assert check(history.lines).verdict is Linearity.PASS
    history.invoke(0, "read", key="k")
    history.complete(0, Type.OK, value=1)
    assert check(history.lines).verdict is Linearity.FAIL


def test_a_history_survives_a_file(tmp_path: Path) -> None:
    history = History(clock=iter(range(100)).__next__)
    history.invoke(history.new_process(), "write", key="k", value=[1, None])
    assert history.give_up("the run ended") == 1
    path = tmp_path / "history.jsonl"
    save(history.lines, path)
    assert load(path) == history.lines
    with pytest.raises(ValueError, match="line 2"):
        list(parse(["", "{}"]))


def sequential(seed: int, size: int, processes: int) -> list[Operation]:
    """A history of a real register: each operation takes effect at one moment of its interval."""
    random = Random(seed)
    moments = sorted(random.sample(range(10, 10 * size + 10), size))
    free_from = dict.fromkeys(range(processes), 0)
    state: object = None
    built: list[Operation] = []
    for number, moment in enumerate(moments):
        ready = [p for p, at in free_from.items() if at < moment]
        if not ready:
            continue
        process = random.choice(ready)
        begun = random.randint(free_from[process], moment - 1)
        ended = moment + random.randint(1, 60)
        free_from[process] = ended + 1
        if random.random() < 0.5:
            state, f = number, "write"
        else:
            f = "read"
        lost = f == "write" and random.random() < 0.1
        built.append(op(number, f, state, begun, None if lost else ended, process))
    return built


@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 5))
def test_what_a_real_register_did_is_accepted(seed: int, size: int, processes: int) -> None:
    assert found(*sequential(seed, size, processes)) is Found.ORDER


@given(st.integers(0, 2**32), st.integers(2, 40))
def test_a_planted_stale_read_is_rejected(seed: int, size: int) -> None:
    history = sequential(seed, size, 3)
    end = max(each.ended or each.begun for each in history) + 1
    stale = [
        op(1000, "write", "old", end, end + 1),
        op(1001, "write", "new", end + 2, end + 3),
        op(1002, "read", "old", end + 4, end + 5),
    ]
    assert found(*history, *stale) is Found.NO_ORDER


@given(st.integers(0, 2**32))
def test_a_bank_run_one_after_another_is_accepted_and_lost_money_is_not(seed: int) -> None:
    random = Random(seed)
    balances = {"a": 10, "b": 10, "c": 10}
    bank = Bank.of(balances)
    history: list[Operation] = []
    for number in range(30):
        begun = 2 * number
        source, target = random.sample(sorted(balances), 2)
        amount = random.randint(1, 4)
        if random.random() < 0.5 and balances[source] >= amount:
            balances[source] -= amount
            balances[target] += amount
            history.append(op(number, "transfer", [source, target, amount], begun, begun + 1))
        else:
            history.append(op(number, "read", dict(balances), begun, begun + 1))
    assert found(*history, model=bank) is Found.ORDER
    wrong = op(99, "read", balances | {"a": balances["a"] - 1}, 100, 101)
    assert found(*history, wrong, model=bank) is Found.NO_ORDER
