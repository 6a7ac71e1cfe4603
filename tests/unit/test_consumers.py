"""Who still needs the log is written in the log: rows that only operations of their own change."""

import cbor2
import pytest

from election.messages import Index
from qsync import consumer
from qsync.consumer import Consumer, ConsumerKind, consumer_of
from qsync.data import consumers, schema
from qsync.data.operation_kinds import Op
from qsync.errors import Compacted, Overloaded, WrongOperation, WrongSchema
from tests.unit.book import Book, pack

REGISTER, ADVANCE, MOVE, LET_GO, DROP = (
    Op.REGISTER_CONSUMER,
    Op.ADVANCE_CONSUMER,
    Op.MOVE_REPLICA,
    Op.LET_GO_CONSUMER,
    Op.DROP_CONSUMER,
)


@pytest.fixture
def book() -> Book:
    book = Book()
    book.space()
    for number in range(8):
        book.write([1, "t", pack(number, "a", 10)])
    return book


def write(book: Book, *op: object) -> object:
    """The row that is left."""
    (result,) = book.write(list(op))
    return None if result is None else cbor2.loads(result)


def stored(book: Book) -> list[Consumer]:
    return consumers.consumers_of(book.state.select(schema.GC_CONSUMERS))


def test_a_consumer_begins_where_the_log_ends_and_moves_forward_only(book: Book) -> None:
    last = book.last
    assert write(book, REGISTER, "s", "subscriber", None, "host 1") == [
        *("s", "subscriber", last, "host 1", False)
    ]
    assert write(book, ADVANCE, "s", last + 1) == ["s", "subscriber", last + 1, "host 1", False]
    assert write(book, ADVANCE, "s", 2) == ["s", "subscriber", last + 1, "host 1", False]
    assert stored(book) == [Consumer("s", ConsumerKind.SUBSCRIBER, Index(last + 1), "host 1")]


def test_who_comes_back_stays_where_it_was(book: Book) -> None:
    write(book, REGISTER, "s", "backup", 3, "")
    assert write(book, REGISTER, "s", "backup", None, "again") == ["s", "backup", 3, "", False]
    assert write(book, REGISTER, "s", "backup", 7, "again") == ["s", "backup", 3, "", False]


def test_who_was_let_go_must_say_from_where_on(book: Book) -> None:
    write(book, REGISTER, "s", "archive", 3, "")
    assert write(book, LET_GO, "s") == ["s", "archive", 3, "", True]
    for op in ([ADVANCE, "s", 5], [REGISTER, "s", "archive", None, ""]):
        with pytest.raises(Compacted, match="let go at index 3") as refused:
            book.write(op)
        assert "register it again" in refused.value.hint
    assert write(book, REGISTER, "s", "archive", 6, "") == ["s", "archive", 6, "", False]


def test_nobody_moves_who_is_not_registered(book: Book) -> None:
    with pytest.raises(Compacted, match="no consumer is registered"):
        book.write([ADVANCE, "s", 5])
    assert write(book, DROP, "s") is None
    write(book, REGISTER, "s", "archive", 3, "")
    assert write(book, DROP, "s") == ["s", "archive", 3, "", False]
    assert stored(book) == []


def test_a_member_is_held_again_by_being_moved(book: Book) -> None:
    assert write(book, LET_GO, "uuid") == ["uuid", "replica", 0, "", True]
    assert write(book, MOVE, "uuid", 5) == ["uuid", "replica", 5, "", False]


def test_a_member_is_moved_by_the_leader_and_by_no_reader(book: Book) -> None:
    """The log is trimmed behind it: who said that a member has it would take it from that one."""
    write(book, MOVE, "uuid", 2)
    for op in ([ADVANCE, "uuid", 7], [REGISTER, "uuid", "subscriber", 7, ""]):
        with pytest.raises(WrongOperation, match="the leader moves it"):
            book.write(op)
    write(book, LET_GO, "uuid")
    for op in ([ADVANCE, "uuid", 7], [REGISTER, "uuid", "subscriber", 7, ""]):
        with pytest.raises(WrongOperation, match="the leader moves it"):
            book.write(op)
    assert stored(book) == [Consumer("uuid", ConsumerKind.REPLICA, Index(2), "", let_go=True)]


def test_an_effect_and_the_place_behind_it_are_one_transaction(book: Book) -> None:
    write(book, REGISTER, "s", "subscriber", 3, "")
    book.write([1, "t", pack(100, "b", 1)], [ADVANCE, "s", 4])
    with pytest.raises(WrongOperation, match="ahead of the log"):
        book.write([1, "t", pack(101, "b", 1)], [ADVANCE, "s", 1000])
    assert stored(book)[0].index == 4
    assert book.state.get("t", None, [101]) is None


@pytest.mark.parametrize(
    "op",
    [
        [REGISTER, "", "subscriber", None, ""],
        [REGISTER, "s" * (consumer.NAME_CHARACTERS_MAX + 1), "subscriber", None, ""],
        [REGISTER, 7, "subscriber", None, ""],
        [REGISTER, "s", "replica", None, ""],
        [REGISTER, "s", "reader", None, ""],
        [REGISTER, "s", "subscriber", -1, ""],
        [REGISTER, "s", "subscriber", True, ""],
        [REGISTER, "s", "subscriber", None, "a" * (consumer.ABOUT_CHARACTERS_MAX + 1)],
        [MOVE, None, 1],
        [MOVE, "uuid", "1"],
        [ADVANCE, "", 1],
        [LET_GO, None],
        [DROP, 7],
    ],
)
def test_nonsense_is_refused_as_an_argument_and_not_as_a_broken_protocol(
    book: Book, op: list[object]
) -> None:
    with pytest.raises(WrongOperation, match=r"consumer|of a directory|index of the log"):
        book.write(op)
    assert stored(book) == []


def test_the_refusal_of_an_unknown_kind_names_those_there_are(book: Book) -> None:
    write(book, REGISTER, "s", "backup", None, "")
    for name in ("s", "new"):
        with pytest.raises(WrongOperation) as refused:
            book.write([REGISTER, name, "reader", None, ""])
        assert refused.value.message == (
            "a consumer of the log is a subscriber, a backup or an archive, not 'reader'"
        )


def test_the_rows_are_changed_in_no_other_way(book: Book) -> None:
    row = Consumer("s", ConsumerKind.REPLICA, book.last).row()
    with pytest.raises(WrongSchema, match="operations of its own"):
        book.write([Op.REPLACE, "_gc_consumers", pack(*row)])
    assert consumer_of(row).row() == row


@pytest.mark.pure
def test_there_are_not_more_than_so_many(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "CONSUMERS_MAX", 3)
    for number in range(3):
        write(book, REGISTER, f"s{number}", "subscriber", None, "")
    with pytest.raises(Overloaded, match="3 consumers"):
        book.write([REGISTER, "s3", "subscriber", None, ""])
    write(book, REGISTER, "s1", "subscriber", None, "")
