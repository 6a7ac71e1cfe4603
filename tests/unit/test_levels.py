"""Eight levels of isolation: each verdict on random histories is that of a brute force."""

from collections.abc import Iterable
from dataclasses import replace
from random import Random, SystemRandom

import pytest

from admin.checker.elle import IsolationLevel, check_appends, dependencies, understood
from admin.checker.elle.cycles import cycles
from admin.checker.elle.levels import PROHIBITED
from admin.checker.operation import FOREVER, Operation
from admin.checker.verdict import Result
from tests.examples import scaled
from tests.unit import naive_engines
from tests.unit.naive_levels import all_read, allowed
from tests.unit.test_elle import CASES, history

SERIAL = {
    IsolationLevel.SERIALIZABLE,
    IsolationLevel.STRONG_SESSION_SERIALIZABLE,
    IsolationLevel.STRICT_SERIALIZABLE,
}
UNCOMMITTED = {IsolationLevel.READ_UNCOMMITTED}
COMMITTED = {IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED}


def passed(operations: Iterable[Operation]) -> set[IsolationLevel]:
    known = list(operations)
    results = {level: check_appends(known, level=level).result for level in IsolationLevel}
    assert set(results.values()) <= {Result.PASS, Result.FAIL}
    return {level for level, result in results.items() if result is Result.PASS}


def test_own_appends_out_of_their_order_break_every_level() -> None:
    assert passed(history("ok ax1 ax2", "ok ax3", "ok rx213")) == set()
    assert passed(history("ok ax1 ax2", "ok ax3", "ok rx123")) == set(IsolationLevel)


def test_an_append_is_not_missing_where_a_later_one_of_the_same_was_read() -> None:
    assert passed(history("ok ax1 ax2", "ok rx2")) == set()


def test_what_was_taken_back_in_part_is_no_wrong_order() -> None:
    assert passed(history("fail ax1 ax2", "ok rx2", "ok ax3", "ok rx3")) == UNCOMMITTED


def test_a_fuzzy_read_is_allowed_below_snapshot_isolation() -> None:
    assert passed(history("ok rx rx1", "ok ax1", "ok rx1")) == COMMITTED


def test_an_own_append_that_is_not_read_breaks_every_level() -> None:
    assert passed(history("ok ax1 rx", "ok rx1")) == set()


def test_what_others_append_behind_an_own_append_is_read_uncommitted() -> None:
    assert passed(history("ok ax1 rx12", "ok ax2", "ok rx12")) == UNCOMMITTED


def test_an_update_of_what_failed_is_allowed_where_reading_it_is() -> None:
    assert passed(history("fail ax1", "ok ax2", "ok rx12")) == UNCOMMITTED


def test_what_failed_has_no_place_in_the_order_of_a_list() -> None:
    assert passed(history("fail ax1", "ok rx1", "ok ax2", "ok rx2")) == UNCOMMITTED
    assert passed(history("info ax1", "ok rx1", "ok ax2", "ok rx2")) == UNCOMMITTED


@pytest.mark.parametrize("ended", [None, FOREVER])
def test_who_gave_up_may_go_on_before_it_takes_effect(ended: int | None) -> None:
    first, second, third = history("info ax6", "ok rx", "ok rx6", together=False)
    first, second = replace(first, ended=ended), replace(second, process=0)
    assert passed([first, second, third]) == set(IsolationLevel)


def test_a_process_keeps_its_order_around_what_it_gave_up() -> None:
    one, lost, other = history("ok ax1", "info ay2", "ok rx", together=False)
    same = [replace(each, process=0, session="s") for each in (one, lost, other)]
    found = passed(same)
    assert IsolationLevel.SNAPSHOT_ISOLATION in found
    assert IsolationLevel.STRONG_SESSION_SNAPSHOT_ISOLATION not in found


def together(*parts: list[Operation]) -> list[Operation]:
    """Histories of different keys, clients and values as one, all at the same time."""
    return [
        replace(each, number=1000 * each.number + at, begun=1000 * each.begun + at, ended=ended)
        for at, part in enumerate(parts)
        for each in part
        for ended in (None if each.ended is None else 1000 * each.ended + at,)
    ]


def of_keys(at: int, *described: str) -> list[Operation]:
    """A history whose keys x and y are those of one number."""
    return [
        replace(
            each,
            process=10 * at + each.process,
            value=[[f, f"{key}{at}", value] for f, key, value in steps],
        )
        for each in history(*described)
        for steps in (each.value if isinstance(each.value, list) else [],)
    ]


WRITE_SKEW = ("ok ax1 ry", "ok ay1 rx", "ok rx1 ry1")
READ_SKEW = ("ok rx ry1", "ok ax1 ay1", "ok rx1 ry1")


@pytest.mark.parametrize("count", [0, 7, 8, 20])
@pytest.mark.parametrize("first", [False, True])
def test_a_read_skew_is_found_beside_any_number_of_write_skews(count: int, first: bool) -> None:
    skews = [of_keys(at, *WRITE_SKEW) for at in range(1, count + 1)]
    if count:
        assert passed(together(*skews)) == set(IsolationLevel) - SERIAL
    wrong = of_keys(0 if first else count + 1, *READ_SKEW)
    assert passed(together(*([wrong, *skews] if first else [*skews, wrong]))) == COMMITTED


def test_a_read_skew_is_found_behind_thousands_of_edges_of_allowed_cycles() -> None:
    count = 1200
    steps: list[list[list[object]]] = [
        [["append", "c", at], ["r", "z", []]] for at in range(1, count + 1)
    ]
    steps.append([["append", "z", 1], ["append", "w", 0]])
    steps += [[["append", "w", at]] for at in range(1, count + 1)]
    steps[-1].append(["r", "q", []])
    steps.append([["append", "q", 1], ["r", "c", []]])
    everything: dict[object, list[object]] = {}
    for f, key, value in (step for each in steps for step in each):
        if f == "append":
            everything.setdefault(key, []).append(value)
    steps.append([["r", key, values] for key, values in everything.items()])
    busy = [
        Operation(number=at, process=at, f="txn", value=each, begun=at, ended=10_000 + at)
        for at, each in enumerate(steps)
    ]
    level = IsolationLevel.SNAPSHOT_ISOLATION
    assert check_appends(busy, level=level).result is Result.PASS
    wrong = [
        replace(each, number=5000 + at, process=5000 + at, begun=5000 + at, ended=20_000)
        for at, each in enumerate(of_keys(7, *READ_SKEW))
    ]
    assert check_appends([*busy, *wrong], level=level).result is Result.FAIL


@pytest.mark.parametrize("name", CASES)
def test_without_time_to_search_there_is_a_cycle_for_every_level(name: str) -> None:
    graph = dependencies(understood(history(*CASES[name][0])))
    for level in IsolationLevel:
        long = any(each.name in PROHIBITED[level] for each in cycles(graph))
        short = any(each.name in PROHIBITED[level] for each in cycles(graph, visits_max=0))
        assert short == long, level


# ---------------------------------------------------------- against a naive second opinion


def judged_alike(seed: int) -> None:
    """One history, or several beside each other, at all levels."""
    random = Random(seed)
    size, parts = 5, 1
    if random.random() < 0.2:
        size, parts = 3, random.randint(2, 12)
    each_ = [
        naive_engines.history(
            random, size=size, keys=chr(97 + 2 * at) + chr(98 + 2 * at), first=1000 * at
        )
        for at in range(parts)
    ]
    operations, exact = together(*each_), all(map(all_read, each_))
    for level in IsolationLevel:
        wanted = all(allowed(part, level) for part in each_)
        verdict = check_appends(operations, level=level)
        said = [each.message for each in verdict.violations]
        where = f"seed {seed}, {level}: {said}"
        if verdict.facts:
            assert verdict.result is not Result.UNKNOWN, where
        if verdict.result is Result.FAIL:
            assert not wanted, f"a false alarm, {where}"
        elif exact:
            assert wanted, f"a miss, {where}"


def fresh(count: int) -> range:
    first = SystemRandom().randrange(1 << 32)
    return range(first, first + count)


def test_histories_of_good_and_bad_databases_are_judged_as_by_brute_force() -> None:
    for seed in (*range(scaled(150)), *fresh(scaled(150))):
        judged_alike(seed)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_many_histories_are_judged_as_by_brute_force() -> None:
    for seed in (*range(5_000), *fresh(5_000)):
        judged_alike(seed)
