"""Histories of other projects: every format is read, detected and checked."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admin.checker.kinds import Hints, ObjectKind, hints
from admin.checker.operation import CompletionType as Ended
from admin.checker.operation import Operation, freeze
from admin.checker.quick import HistoryReport, check_file
from admin.checker.readers import FORMATS, HistoryFormat, read, recognised
from admin.checker.readers.edn import EdnError, Keyword, Symbol, parse
from admin.checker.verdict import Result
from admin.workload.history import DEPTH_MAX
from tests.unit import histories, written
from tests.unit.naive import REGISTERS, TEXTS, has_order, naive_register, naive_text, spans

# ------------------------------------------------------------------------------------- EDN


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("nil true false", [None, True, False]),
        ("1 -2 +3 4N 1.5 2e3 7M", [1, -2, 3, 4, 1.5, 2000.0, 7]),
        (r'"a\n\"b\" \\ \u0041 ;no comment"', ['a\n"b" \\ A ;no comment']),
        (":a :b/c-d?", ["a", "b/c-d?"]),
        ("a foo/bar - +", ["a", "foo/bar", "-", "+"]),
        ("[1 [2 nil] ()]", [[1, [2, None], []]]),
        ("{:a 1, [1 2] #{3 4}}", [{"a": 1, (1, 2): frozenset({3, 4})}]),
        ("1 ; a remark\n 2 #_ 3 #_[4 5] 6", [1, 2, 6]),
        ('#inst "2020-01-01" #jepsen.history.Op{:f :r}', ["2020-01-01", {"f": "r"}]),
        (r"\a \newline", ["a", "\n"]),
        ("", []),
    ],
)
def test_notation_is_read(text: str, wanted: list[object]) -> None:
    assert parse(text) == wanted


def test_keywords_and_symbols_are_told_from_texts() -> None:
    keyword, symbol, text = parse(':x x "x"')
    assert isinstance(keyword, Keyword)
    assert isinstance(symbol, Symbol)
    assert type(text) is str


@pytest.mark.parametrize("text", ["[1", "1]", "{1 2 3}", "[1}", '"open', "#_", "{:a #_ 1}"])
def test_what_is_no_notation_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(EdnError, match="line 3"):
        parse("\n\n" + text)


def test_nesting_has_a_limit() -> None:
    assert parse("[" * DEPTH_MAX + "]" * DEPTH_MAX)
    with pytest.raises(EdnError, match="nested"):
        parse("[" * (DEPTH_MAX + 1) + "]" * (DEPTH_MAX + 1))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(values)
def test_what_is_written_is_read_again(value: object) -> None:
    assert parse(written.edn(value)) == [value]


# ----------------------------------------------------------------------- one format after another


def told(operations: Sequence[Operation]) -> list[tuple[object, ...]]:
    """What must survive a file: who, what, in which order of events."""
    events = sorted(
        place
        for each in operations
        for place in (each.begun, each.ended)
        if place is not None and place < 1 << 60
    )
    rank = {place: at for at, place in enumerate(events)}
    return [
        (e.process, e.f, e.key, e.value, e.kind, rank[e.begun], rank.get(e.ended or -1))
        for e in operations
    ]


REGISTER_FORMATS: dict[str, Callable[[Sequence[Operation]], str]] = {
    "vector": lambda operations: written.jepsen_maps(operations, vector=True),
    "maps": lambda operations: written.jepsen_maps(operations, vector=False),
    "log": written.jepsen_log,
    "ours": written.our_lines,
}


def own_processes(operations: Sequence[Operation]) -> list[Operation]:
    """Each operation by a process of its own, since their places are at random."""
    return [replace(each, process=at) for at, each in enumerate(operations)]


@given(spans(REGISTERS), st.sampled_from(sorted(REGISTER_FORMATS)))
def test_operations_survive_a_file(operations: list[Operation], name: str) -> None:
    if name != "log":
        operations = [each for each in operations if each.f != "cas-unequal"]
    if operations:
        operations = own_processes(operations)
        again = read(REGISTER_FORMATS[name](operations)).operations
        assert told(again) == told(operations)


def maps(*lines: str) -> str:
    """What one process did, by its lines from the type on."""
    return "\n".join(f"{{:process 0 :type :{line}}}" for line in lines)


def judged(text: str, folder: Path, hints: Hints | None = None) -> HistoryReport:
    path = folder / "any name at all"
    path.write_text(text, encoding="utf-8")
    return check_file(path, hints)


def test_a_history_of_every_format_is_judged_like_a_naive_checker_does(tmp_path: Path) -> None:
    seen: set[tuple[str, Result]] = set()

    @settings(max_examples=200)
    @given(spans(REGISTERS), st.sampled_from(sorted(REGISTER_FORMATS)))
    def each(operations: list[Operation], name: str) -> None:
        if name != "log":
            operations = [each for each in operations if each.f != "cas-unequal"]
        if not operations:
            return
        report = judged(REGISTER_FORMATS[name](own_processes(operations)), tmp_path)
        wanted = has_order(operations, None, naive_register)
        assert report.result is (Result.PASS if wanted else Result.FAIL)
        seen.add((name, report.result))

    each()
    assert seen == set(itertools.product(REGISTER_FORMATS, (Result.PASS, Result.FAIL)))


def test_a_log_of_a_store_is_judged_like_a_naive_checker_does(tmp_path: Path) -> None:
    seen: set[Result] = set()

    @settings(max_examples=200)
    @given(spans(TEXTS))
    def each(operations: list[Operation]) -> None:
        keyed = [replace(each, key="k") for each in own_processes(operations)]
        report = judged(written.store_log(keyed), tmp_path)
        wanted = has_order(operations, "", naive_text)
        assert report.result is (Result.PASS if wanted else Result.FAIL)
        assert report.kinds == (ObjectKind.TEXT,)
        seen.add(report.result)

    each()
    assert seen == {Result.PASS, Result.FAIL}


def test_many_keys_in_one_file_are_judged_apart(tmp_path: Path) -> None:
    made: list[Operation] = []
    keys = histories.many_keys(3, 3, 30, lambda: histories.register(values=4, cas=True))
    for key, found in enumerate(keys):
        # Lines of three objects in turns, by processes of their own.
        for each in found:
            ended = None if each.ended is None else 3 * each.ended + key
            moved = replace(each, begun=3 * each.begun + key, ended=ended)
            made.append(replace(moved, process=1000 * key + each.process))
    report = judged(written.jepsen_keyed(made), tmp_path)
    assert report.result is Result.PASS
    assert {each.key for each in report.operations} == {0, 1, 2}
    last = max(each.begun for each in made) + 1000
    wrong = replace(made[0], f="read", value=77, begun=last, ended=last + 1, process=9999)
    assert judged(written.jepsen_keyed([*made, wrong]), tmp_path).result is Result.FAIL


def test_a_pair_that_is_a_value_is_not_taken_for_a_key(tmp_path: Path) -> None:
    only_cas = maps("invoke :f :cas :value [1 2]", "info :f :cas :value [1 2]")
    (operation,) = judged(only_cas, tmp_path).operations
    assert (operation.key, operation.value) == (None, [1, 2])


def test_objects_of_every_kind_are_recognised_in_our_own_histories(tmp_path: Path) -> None:
    makers: dict[ObjectKind, Callable[[], histories.Apply]] = {
        ObjectKind.REGISTER: lambda: histories.register(values=None, cas=False),
        ObjectKind.CAS_REGISTER: lambda: histories.register(values=4, cas=True),
        ObjectKind.TEXT: histories.text,
        ObjectKind.SET: histories.growing_set,
        ObjectKind.COUNTER: histories.counter,
        ObjectKind.BANK: histories.bank,
    }
    for kind, make in makers.items():
        operations = histories.lived(Random(4), 50, make(), histories.Clients(key="k"))
        report = judged(written.our_lines(operations), tmp_path)
        assert report.kinds == (kind,)
        assert report.result is Result.PASS
        end = max(each.ended or each.begun for each in operations) + 1000
        look = "get" if kind is ObjectKind.TEXT else "read"
        answers: dict[ObjectKind, object] = {
            ObjectKind.TEXT: "lost",
            ObjectKind.SET: [-1],
            ObjectKind.COUNTER: -10_000,
            ObjectKind.BANK: {"a0": 1, "a1": 2, "a2": 3, "a3": 4},
        }
        wrong = replace(
            operations[0],
            f=look,
            value=answers.get(kind, -5),
            begun=end,
            ended=end + 1,
            process=999,
            kind=Ended.OK,
        )
        assert judged(written.our_lines([*operations, wrong]), tmp_path).result is Result.FAIL


@pytest.mark.parametrize(
    ("others", "answer", "wanted"),
    [
        ([("add", 3)], [], Result.PASS),
        ([("add", "a")], [], Result.PASS),
        ([("add", "a")], ["b"], Result.FAIL),
        ([("add", 3)], 0, Result.PASS),
        ([("add", 3)], 1, Result.FAIL),
        ([("add", 3), ("write", 1)], 0, Result.PASS),
        ([("add", 3), ("write", 1)], 1, Result.FAIL),
        ([("write", 1)], 0, Result.FAIL),
        ([("write", 1)], None, Result.PASS),
    ],
)
def test_what_was_only_read_is_of_a_kind_that_the_history_has(
    others: list[tuple[str, object]], answer: object, wanted: Result, tmp_path: Path
) -> None:
    """A set or a counter to which nobody added anything is empty, and not a register."""
    done = [
        Operation(number=2 * at, process=1, f=f, value=v, begun=2 * at, ended=2 * at + 1, key=f)
        for at, (f, v) in enumerate([*others, ("read", answer)])
    ]
    assert judged(written.our_lines(done), tmp_path).result is wanted


def test_an_object_is_no_list_of_pairs() -> None:
    members, pairs = freeze({"a": 1}), freeze([["a", 1]])
    assert members != pairs
    assert pairs != members
    assert not members == pairs  # noqa: SIM201 - both ways are asked
    assert members == freeze({"a": 1})
    assert len({members, freeze(members), pairs}) == 2


def test_transactions_are_recognised_and_judged(tmp_path: Path) -> None:
    def made(at: int, *steps: list[object]) -> Operation:
        return Operation(
            number=at, process=at, f="txn", value=list(steps), begun=2 * at, ended=2 * at + 1
        )

    good = [made(0, ["append", "x", 1]), made(1, ["r", "x", [1]])]
    stale = [made(0, ["append", "x", 1]), made(1, ["r", "x", []])]
    for write in (REGISTER_FORMATS["vector"], REGISTER_FORMATS["maps"], REGISTER_FORMATS["ours"]):
        assert judged(write(good), tmp_path).kinds == (ObjectKind.LIST_APPEND,)
        assert judged(write(good), tmp_path).result is Result.PASS
        assert judged(write(stale), tmp_path).result is Result.FAIL


# ------------------------------------------------------------------------------ what words mean


def test_a_failure_in_a_printed_log_has_its_meanings() -> None:
    text = "".join(
        f"INFO  jepsen.util - {line}\n"
        for line in (
            "0 :invoke :cas [1 2]",
            "0 :fail :cas [1 2]",
            "0 :invoke :read nil",
            "0 :fail :read :timed-out",
            "0 :invoke :write 3",
            "0 :fail :write :timed-out",
            "1 :invoke :write 4",
            "1 :fail :write 4",
            "2 :invoke :write 5",
            "2 :info :write clojure.lang.ExceptionInfo: {not closed",
            "3 :invoke :write 6",
            "3 :fail :write :connection-refused",
        )
    )
    found = [(each.f, each.value, each.kind) for each in read(text).operations]
    assert found == [
        ("cas-unequal", [1, 2], Ended.OK),
        ("read", None, Ended.FAIL),
        ("write", 3, Ended.INFO),
        ("write", 4, Ended.FAIL),
        ("write", 5, Ended.INFO),
        ("write", 6, Ended.FAIL),
    ]
    with pytest.raises(ValueError, match="line 1"):
        read("INFO  jepsen.util - 0 :invoke :write {not closed")


def test_a_failure_in_maps_did_not_happen() -> None:
    text = maps("invoke :f :cas :value [1 2]", "fail :f :cas :value [1 2]")
    (operation,) = read(text).operations
    assert (operation.f, operation.kind) == ("cas", Ended.FAIL)


def test_formats_are_told_apart_by_their_content() -> None:
    made = histories.lived(
        Random(1), 10, histories.register(values=3, cas=True), histories.Clients(unknown=0)
    )
    texts = histories.lived(Random(1), 10, histories.text(), histories.Clients(unknown=0, key="k"))
    vector = written.jepsen_maps(made, vector=True)
    assert recognised("; a remark\n\n" + vector) is HistoryFormat.JEPSEN_EDN
    assert recognised(written.jepsen_maps(made, vector=False)) is HistoryFormat.JEPSEN_EDN
    assert recognised("(" + vector[1:]) is HistoryFormat.JEPSEN_EDN
    assert recognised(written.jepsen_log(made)) is HistoryFormat.JEPSEN_TEXT
    assert recognised(written.store_log(texts)) is HistoryFormat.PORCUPINE_KV
    assert recognised(written.our_lines(made)) is HistoryFormat.OURS
    assert set(FORMATS) == set(HistoryFormat)
    for text in ("", "hello", "file,format\n", "<xml/>"):
        with pytest.raises(ValueError, match="not a history"):
            recognised(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"type": "invoke"}\n', "line 1"),
        ("[1 2]", "not a map"),
        ("{:type :odd :f :read :process 1}", "type"),
        ("{:type :ok :f :read :process 1}", "never began"),
        ("{:type :invoke :f :read :process 1}" * 2, "begins twice"),
        (maps("invoke :f :write :value 1", "ok :f :write :value 2"), "line 1: .*another operation"),
        (maps("invoke :f :cas :value [1 2]", "ok :f :write :value [1 2]"), "line 1: .*another"),
        ("[{:type :invoke", "jepsen-edn"),
    ],
)
def test_a_broken_history_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(text)


def test_values_that_an_operation_cannot_have_are_the_fault_of_the_file(tmp_path: Path) -> None:
    wrong = maps("invoke :f :cas :value 7", "ok :f :cas :value 7")
    with pytest.raises(ValueError, match="cas is"):
        judged(wrong, tmp_path)


def test_what_no_kind_of_object_does_is_undecided(tmp_path: Path) -> None:
    odd = maps("invoke :f :dance :value 7", "ok :f :dance :value 7")
    report = judged(odd, tmp_path)
    assert report.result is Result.UNKNOWN
    assert "dance" in report.checked[0].verdict.note


def test_a_history_in_which_nothing_happened_is_undecided(tmp_path: Path) -> None:
    nothing = maps("invoke :f :read :value nil", "fail :f :read")
    report = judged(nothing, tmp_path)
    assert (report.result, report.empty) == (Result.UNKNOWN, True)
    assert judged("[]", tmp_path).result is Result.UNKNOWN


def test_words_of_a_published_list_are_understood() -> None:
    assert hints("jepsen text log, one cas-register, initial nil") == Hints(
        format=HistoryFormat.JEPSEN_TEXT, kind=ObjectKind.CAS_REGISTER
    )
    assert hints("a register, initial 5").initial == 5
    assert hints("EDN-like maps, get/put/append on string keys") == Hints(
        format=HistoryFormat.PORCUPINE_KV, kind=ObjectKind.TEXT
    )
    assert hints("json get/put/append") == Hints(format=HistoryFormat.OURS, kind=ObjectKind.TEXT)
    assert hints("Jepsen EDN, list-append").kind is ObjectKind.LIST_APPEND
    assert hints("porcupine-kv") == Hints(format=HistoryFormat.PORCUPINE_KV)
    assert hints("something else") == Hints()


def test_a_kind_that_is_named_is_not_guessed(tmp_path: Path) -> None:
    text = maps("invoke :f :read :value nil", "ok :f :read :value 5")
    assert judged(text, tmp_path).result is Result.FAIL
    assert judged(text, tmp_path, Hints(initial=5)).result is Result.PASS
    assert judged(text, tmp_path, Hints(kind=ObjectKind.COUNTER, initial=5)).kinds == (
        ObjectKind.COUNTER,
    )
