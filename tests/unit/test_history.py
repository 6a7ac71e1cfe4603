"""Lines of a history: written, read again, and paired to operations."""

import json
from pathlib import Path

import pytest

from admin.checker.operation import (
    ANOTHER,
    FOREVER,
    CompletionType,
    Operation,
    describe,
    operations,
    until,
)
from admin.workload.history import AnsweredBy, History, HistoryLine, OutcomeType, load, parse, save
from tests.unit.ends import OTHERS, SAME, End


def lines(*described: str) -> list[HistoryLine]:
    """Lines from words such as `0 invoke write k 1`."""
    built: list[HistoryLine] = []
    for index, each in enumerate(described):
        process, kind, f, key, *value = each.split()
        known = int(value[0]) if value else None
        built.append(
            HistoryLine(
                index=index,
                time=index,
                process=int(process),
                type=OutcomeType(kind),
                f=f,
                key=key,
                value=known,
            )
        )
    return built


def test_a_history_survives_a_file(tmp_path: Path) -> None:
    history = History(clock=iter(range(100)).__next__)
    history.invoke(history.new_process(), "write", key="k", value=[1, None])
    assert history.give_up("the run ended") == 1
    path = tmp_path / "history.jsonl"
    save(history.lines, path)
    assert load(path) == history.lines
    assert "session" not in path.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="line 2"):
        list(parse(["", "{}"]))


LINE: dict[str, object] = {"index": 0, "time": 0, "process": 1, "type": "ok", "f": "write"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (json.dumps({"process": 1, "type": "ok"}), "it lacks index, time, f"),
        ("[1]", "it lacks index, time, process, type, f"),
        (json.dumps(LINE | {"index": "a"}), "index is a whole number"),
        (json.dumps(LINE | {"index": None}), "index is a whole number"),
        (json.dumps(LINE | {"process": [1]}), "process is a whole number"),
        (json.dumps(LINE | {"process": None}), "process is a whole number"),
        (json.dumps(LINE | {"term": "x"}), "term is a whole number, not 'x'"),
        (json.dumps(LINE | {"log_index": True}), "log_index is a whole number, not True"),
        (json.dumps(LINE | {"session": []}), "session is a whole number or text"),
        (json.dumps(LINE | {"f": 5}), "f is text"),
        (json.dumps(LINE | {"node": 5}), "node is text"),
        (json.dumps(LINE)[:-1] + ', "value": ' + "[" * 100_000, "nested deeper than 200"),
        (json.dumps(LINE | {"type": "nope"}), "type is one of invoke, ok, fail, info, not 'nope'"),
        (json.dumps(LINE | {"type": ["ok"]}), "type is one of"),
        ("{", "Expecting property name"),
    ],
)
def test_what_is_wrong_with_a_line_is_said_in_its_own_words(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"line 1 is no history line: .*{why}"):
        list(parse([text]))


def test_an_operation_has_the_number_of_its_request_at_both_ends() -> None:
    history = History(clock=iter(range(100)).__next__)
    history.invoke(0, "write", key="k", value=1)
    history.invoke(1, "read", key="k", session="5e")
    history.invoke(2, "write", key="k", value=2)
    history.numbered(0, "5e", 7)
    history.complete(1, OutcomeType.OK, value=None)
    history.complete(0, OutcomeType.FAIL, told=AnsweredBy(error="CONFLICT"))
    history.give_up("the run ended")
    write, read, other = operations(history.lines)
    assert (write.session, write.seq) == ("5e", 7)
    assert (read.session, read.seq) == ("5e", None)
    assert (other.session, other.seq) == (None, None)
    requests = [(each.process, each.session, each.seq) for each in history.lines]
    assert requests == [
        (0, "5e", 7),
        (1, "5e", None),
        (2, None, None),
        (1, "5e", None),
        (0, "5e", 7),
        (2, None, None),
    ]
    assert [each.index for each in history.lines] == list(range(6))
    assert [each.time for each in history.lines] == list(range(6)), "a number takes no time"


def test_a_number_is_of_what_is_under_way() -> None:
    history = History()
    history.invoke(0, "write", key="k", value=1)
    history.complete(0, OutcomeType.OK)
    with pytest.raises(KeyError):
        history.numbered(0, "5e", 7)


def test_what_a_line_seldom_has_survives_a_file_too() -> None:
    line = HistoryLine(
        index=0, time=0, process=0, type=OutcomeType.OK, f="read", floor=7, log_index=9, session=3
    )
    assert list(parse([line.as_json()])) == [line]


def test_a_read_has_the_value_that_was_answered_and_a_write_the_one_that_was_asked() -> None:
    read, write = operations(
        lines("0 invoke read k", "1 invoke write k 5", "0 ok read k 4", "1 ok write k")
    )
    assert (read.value, read.begun, read.ended) == (4, 0, 2)
    assert (write.value, write.begun, write.ended) == (5, 1, 3)


def test_what_nobody_ended_is_unknown_like_what_ended_with_info() -> None:
    first, second = operations(
        lines("0 invoke write k 1", "0 info write k 1", "1 invoke write k 2")
    )
    for each in (first, second):
        assert (each.kind, each.ended) == (CompletionType.INFO, None)


def test_a_process_does_one_thing_at_a_time() -> None:
    with pytest.raises(ValueError, match="begins twice"):
        operations(lines("0 invoke read k", "0 invoke read k"))
    with pytest.raises(ValueError, match="never began"):
        operations(lines("0 ok read k"))


@pytest.mark.parametrize(("begun", "ended"), OTHERS)
def test_an_end_of_another_operation_is_refused(begun: End, ended: End) -> None:
    with pytest.raises(ValueError, match=f"process 7 {ANOTHER}, at line 1: "):
        operations(parse(ended_by(begun, ended)))


@pytest.mark.parametrize(("begun", "ended"), SAME)
def test_an_end_that_says_the_same_is_taken(begun: End, ended: End) -> None:
    (operation,) = operations(parse(ended_by(begun, ended)))
    assert operation.kind == ended.get("type", "ok")


def ended_by(begun: End, ended: End) -> list[str]:
    """Two lines of a file."""
    rows: list[End] = [begun | {"type": "invoke"}, {"type": "ok"} | ended]
    return [
        json.dumps(row | {"index": at, "time": at, "process": 7}) for at, row in enumerate(rows)
    ]


def test_brackets_in_texts_and_beside_each_other_are_not_deep() -> None:
    value = ["[" * 300, '"' + "{" * 300, *[[] for _ in range(300)]]
    (line,) = parse([json.dumps(LINE | {"value": value})])
    assert line.value == value


def test_lines_are_taken_by_their_indexes() -> None:
    """A file or a table may have them in any order; two with one index have none."""
    known = lines("0 invoke write k 1", "0 ok write k 1", "0 invoke read k", "0 ok read k 1")
    assert operations(reversed(known)) == operations(known)
    with pytest.raises(ValueError, match="two lines have the index 2"):
        operations([*known, known[2]])


def test_a_receipt_is_a_place_in_the_log() -> None:
    history = History(clock=iter(range(100)).__next__)
    for term, lsn in ((1, 900), (2, 5)):
        history.invoke(0, "write", key="k", value=lsn)
        history.complete(0, OutcomeType.OK, told=AnsweredBy(term=term, lsn=lsn))
    first, second = operations(history.lines)
    assert first.index is not None
    assert second.index is not None
    assert first.index < second.index, "a later term comes later, whatever its origin counts"


def test_a_history_cut_short_does_not_know_how_the_rest_ended() -> None:
    def made(number: int, f: str, ended: int) -> Operation:
        return Operation(number=number, process=number, f=f, value=1, begun=number, ended=ended)

    kept = until([made(0, "write", 3), made(1, "write", 9), made(2, "read", 8)], 5)
    assert [(each.number, each.ended, each.kind) for each in kept] == [
        (0, 3, CompletionType.OK),
        (1, None, CompletionType.INFO),
    ]


def test_an_operation_is_described_in_a_line() -> None:
    made = Operation(number=0, process=3, f="write", value=[1], begun=4, ended=None)
    assert describe(made) == "[4..?] process 3 write [1]"
    heard = Operation(number=0, process=3, f="add", value=1, begun=4, ended=FOREVER)
    assert describe(heard) == "[4..did happen] process 3 add 1"
