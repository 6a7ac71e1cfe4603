"""Transactions that append to lists: every anomaly by its name, none where there is an order."""

import itertools
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admin.checker.elle import IsolationLevel, anomalies, check_appends
from admin.checker.elle.graph import FREE, Edge, Graph, add_time
from admin.checker.operation import CompletionType, Operation
from admin.checker.verdict import Result
from tests.examples import scaled

KINDS = {"ok": CompletionType.OK, "fail": CompletionType.FAIL, "info": CompletionType.INFO}


def history(*described: str, together: bool = True) -> list[Operation]:
    """Transactions from words such as `ok ax1 ry12`: append 1 to x, read 1 and 2 of y.

    All at the same time, or each after the one before. Each is another process.
    """
    built: list[Operation] = []
    for at, each in enumerate(described):
        kind, *words = each.split()
        steps: list[object] = []
        for word in words:
            values = [int(digit) for digit in word[2:]]
            steps.append(
                ["append", word[1], values[0]] if word[0] == "a" else ["r", word[1], values]
            )
        ended = (100 + at if together else 2 * at + 1) if kind != "info" else None
        built.append(
            Operation(
                number=at,
                process=at,
                f="txn",
                value=steps,
                begun=at if together else 2 * at,
                ended=ended,
                kind=KINDS[kind],
            )
        )
    return built


CASES: dict[str, tuple[list[str], set[str]]] = {
    "nothing wrong": (["ok ax1", "ok rx1 ax2", "ok rx12"], set()),
    "two that wrote over each other": (["ok ax1 ay1", "ok ax2 ay2", "ok rx12 ry21"], {"G0"}),
    "a read of what failed": (["fail ax1", "ok rx1"], {"G1a"}),
    "a read in the middle": (["ok ax1 ax2", "ok rx1", "ok rx12"], {"G1b", "G-single"}),
    "each read the other": (["ok ax1 ry1", "ok ay1 rx1"], {"G1c"}),
    "a read of an older and a newer state": (["ok ax1 ay1", "ok rx1 ry", "ok ry1"], {"G-single"}),
    "write skew": (["ok ax1 ry", "ok ay1 rx", "ok rx1 ry1"], {"G2-item"}),
    "two who each saw one of two writes": (
        ["ok ax1", "ok ay1", "ok rx1 ry", "ok ry1 rx"],
        {"G-nonadjacent"},
    ),
    "a lost update": (["ok rx ax1", "ok rx ax2", "ok rx12"], {"G-single", "lost-update"}),
    "it did not see its own append": (["ok ax1 rx", "ok rx1"], {"own-append-missing"}),
    "it saw what it was yet to append": (["ok rx1 ax1", "ok rx1"], {"future-read"}),
    "its appends in another order": (["ok ax1 ax2", "ok ax3", "ok rx213"], {"own-order"}),
    "it saw its list change": (["ok ax1", "ok rx rx1"], {"internal", "G-single"}),
    "two that do not agree on the order": (
        ["ok ax1", "ok ax2", "ok rx12", "ok rx21"],
        {"incompatible-order"},
    ),
    "a value twice": (["ok ax1", "ok rx11"], {"duplicate-elements"}),
    "a value of nobody": (["ok ax1", "ok rx17"], {"garbage"}),
    "committed on top of what failed": (["fail ax1", "ok ax2", "ok rx12"], {"G1a", "dirty-update"}),
    "unknown, and somebody read it": (["info ax1", "ok rx1"], set()),
    "unknown, seen, and not seen": (["info ax1 ay1", "ok rx1 ry", "ok ry1"], {"G-single"}),
    "unknown, and nobody read it": (["info ax1 ay1", "ok rx ry"], set()),
    "an append that nobody read comes last": (
        ["ok ax1 ry1", "ok rx1", "ok ax2 ay1"],
        {"G1c", "G-single"},
    ),
    "so do several that nobody read": (
        ["ok ax1 ry1", "ok rx1", "ok ax2 ay1", "ok ax3"],
        {"G1c", "G-single"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_anomaly_has_its_name(name: str) -> None:
    described, wanted = CASES[name]
    found = anomalies(history(*described))
    assert set(found) == wanted, {kind: [a.message for a in all_] for kind, all_ in found.items()}


def test_what_time_alone_forbids_breaks_only_the_strict_level() -> None:
    late = history("ok ax1", "ok rx", together=False)
    assert set(anomalies(late)) == {"G-single-realtime"}
    assert check_appends(late).result is Result.FAIL
    assert check_appends(late, level=IsolationLevel.STRONG_SNAPSHOT_ISOLATION).result is Result.FAIL
    assert check_appends(late, level=IsolationLevel.SERIALIZABLE).result is Result.PASS


def test_a_session_that_forgets_breaks_the_session_level() -> None:
    first, second = history("ok ax1", "ok rx", together=False)
    same = [first, Operation(**{n: getattr(second, n) for n in NAMES} | {"process": 0})]
    assert "G-single-process" in anomalies(same)
    assert (
        check_appends(same, level=IsolationLevel.STRONG_SESSION_SERIALIZABLE).result is Result.FAIL
    )
    assert check_appends(same, level=IsolationLevel.SERIALIZABLE).result is Result.PASS


NAMES = list(Operation.__dataclass_fields__)


def test_a_value_appended_twice_proves_nothing() -> None:
    verdict = check_appends(history("ok ax1", "ok ax1", "ok rx1"))
    assert verdict.result is Result.UNKNOWN
    assert "twice" in verdict.note


def test_no_transactions_are_no_pass() -> None:
    assert check_appends([]).result is Result.UNKNOWN
    assert check_appends(history("fail ax1")).result is Result.UNKNOWN


def test_single_appends_and_reads_are_transactions_too() -> None:
    steps = [
        Operation(number=0, process=0, f="append", key="x", value=1, begun=0, ended=1),
        Operation(number=2, process=1, f="read", key="x", value=[], begun=2, ended=3),
    ]
    assert set(anomalies(steps)) == {"G-single-realtime"}


def test_other_operations_between_transactions_say_nothing() -> None:
    other = Operation(number=5, process=9, f="warm-up", value=7, begun=5, ended=6)
    assert set(anomalies([*history("ok ax1", "ok rx1"), other])) == set()
    stale = Operation(number=9, process=8, f="read", key="x", value=[], begun=900, ended=901)
    assert "G-single-realtime" in anomalies([*history("ok ax1", "ok rx1"), other, stale])


def test_what_is_no_transaction_is_refused() -> None:
    wrong = Operation(number=0, process=0, f="txn", value=[["w", "x", 1]], begun=0, ended=1)
    with pytest.raises(ValueError, match="a step is"):
        check_appends([wrong])


def test_a_cycle_is_told_with_its_keys() -> None:
    verdict = check_appends(history("ok ax1 ry", "ok ay1 rx", "ok rx1 ry1"))
    (violation,) = verdict.violations
    assert "T1 -rw-> T2 -rw-> T1" in violation.message
    assert "key 'y'" in violation.message
    assert [each.number for each in violation.witness] == [0, 1]


# ---------------------------------------------------------- against a naive second opinion


def replays(order: Sequence[Operation]) -> bool:
    """Whether these transactions, one after another, read what they read."""
    lists: dict[object, list[object]] = {}
    for each in order:
        assert isinstance(each.value, list)
        for f, key, value in each.value:
            if f == "append":
                lists.setdefault(key, []).append(value)
            elif lists.get(key, []) != value:
                return False
    return True


def has_order(operations: Sequence[Operation], *, strict: bool) -> bool:
    def in_time(order: Sequence[Operation]) -> bool:
        return not any(
            later.ended is not None and later.ended < earlier.begun
            for earlier, later in itertools.combinations(order, 2)
        )

    return any(
        replays(order) and (not strict or in_time(order))
        for order in itertools.permutations(operations)
    )


@st.composite
def runs(draw: st.DrawFn) -> list[Operation]:
    """A few transactions of a real database, some of whose reads are then made older or newer.

    The last one reads everything, so the order of every list is known.
    """
    random = Random(draw(st.integers(0, 2**32)))
    faults = draw(st.sampled_from([0.0, 0.3, 0.8]))
    size = draw(st.integers(2, 5))
    places = sorted(random.sample(range(40), 2 * size))
    lists: dict[str, list[int]] = {"x": [], "y": []}
    asked: list[list[list[object]]] = []
    for at in range(size):
        steps: list[list[object]] = []
        for number in range(random.randint(1, 3)):
            key = random.choice("xy")
            if random.random() < 0.5:
                lists[key].append(10 * at + number)
                steps.append(["append", key, 10 * at + number])
            else:
                steps.append(["r", key, list(lists[key])])
        asked.append(steps)
    for steps in asked:
        for step in steps:
            if step[0] == "r" and random.random() < faults:
                whole = lists[str(step[1])]
                step[2] = whole[: random.randint(0, len(whole))]
    asked.append([["r", "x", lists["x"]], ["r", "y", lists["y"]]])
    spans = [(places[at], places[at] + random.randint(1, 30)) for at in range(size)]
    spans.append((80, 81))
    return [
        Operation(number=at, process=at, f="txn", value=steps, begun=begun, ended=ended)
        for at, (steps, (begun, ended)) in enumerate(zip(asked, spans, strict=True))
    ]


@settings(max_examples=scaled(500))
@given(runs())
def test_histories_are_judged_as_a_naive_checker_does(operations: list[Operation]) -> None:
    for level, strict in (
        (IsolationLevel.SERIALIZABLE, False),
        (IsolationLevel.STRICT_SERIALIZABLE, True),
    ):
        verdict = check_appends(operations, level=level)
        assert (verdict.result is Result.PASS) == has_order(operations, strict=strict), [
            each.message for each in verdict.violations
        ]


@settings(max_examples=scaled(300))
@given(
    st.integers(1, 7),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.sampled_from([1, 2, 4]))),
)
def test_components_are_what_each_reaches_from_each(
    size: int, arrows: list[tuple[int, int, int]]
) -> None:
    graph = Graph(size)
    for start, end, kind in arrows:
        if start < size and end < size:
            graph.add(start, end, Edge(kind))
    reach = {(a, b) for a in range(size) for b, kinds in graph.kinds[a].items() if kinds & FREE}
    for _ in range(size):
        reach |= {(a, d) for a, b in reach for c, d in reach if b == c}
    wanted = {
        frozenset(b for b in range(size) if b == a or {(a, b), (b, a)} <= reach)
        for a in range(size)
    }
    assert set(graph.components(FREE)) == {each for each in wanted if len(each) > 1}


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=8))
def test_edges_of_time_imply_all_that_time_says(spans: list[tuple[int, int]]) -> None:
    known = [(at, begun, begun + length) for at, (begun, length) in enumerate(spans)]
    graph = Graph(len(known))
    add_time(graph, known)
    reach = {(a, b) for a in range(len(known)) for b in graph.kinds[a]}
    for _ in known:
        reach |= {(a, d) for a, b in reach for c, d in reach if b == c}
    assert reach == {(a, b) for a, _, ended in known for b, begun, _ in known if ended < begun}


def test_thousands_of_transactions_are_judged_in_a_moment() -> None:
    random = Random(1)
    lists: dict[str, list[int]] = {f"k{number}": [] for number in range(200)}
    operations: list[Operation] = []
    for at in range(5000):
        steps: list[object] = []
        for key in random.sample(sorted(lists), 3):
            if random.random() < 0.4 and len(lists[key]) < 60:
                lists[key].append(at)
                steps.append(["append", key, at])
            else:
                steps.append(["r", key, list(lists[key])])
        operations.append(
            Operation(number=at, process=at % 10, f="txn", value=steps, begun=at, ended=at + 5)
        )
    assert check_appends(operations).result is Result.PASS
    late = Operation(
        number=9000, process=99, f="txn", value=[["r", "k7", []]], begun=9000, ended=9001
    )
    assert "G-single-realtime" in anomalies([*operations, late])
