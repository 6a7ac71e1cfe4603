"""Folding: however it is sliced, the store holds what a replay of the confirmed log gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from election.messages import Index
from qsync.data.fold import TXNS_PER_ROW_MAX
from qsync.data.state import DataState
from qsync.errors import Damaged
from qsync.store.memory import MemorySpaces
from tests.unit.book import OPEN, Book, pack, rows

EVERYTHING = (b"", b"\xff" * 8)
NUMBERS = st.integers(0, 6)
OPS = st.lists(
    st.one_of(
        st.builds(
            lambda n, t, v: [2, "t", pack(n, t, v)], NUMBERS, st.text("ab", max_size=1), NUMBERS
        ),
        st.builds(lambda n: [5, "t", 0, [n]], NUMBERS),
        st.builds(lambda n: [4, "t", pack(n, "u"), [["=", 2, "v"]]], NUMBERS),
        st.just([6, "t"]),
    ),
    min_size=1,
    max_size=4,
)
SCHEMA_CHANGES = st.sampled_from(
    [
        [[13, "t", "tag", {"parts": ["tag"], "unique": False, "if_not_exists": True}]],
        [[10, "other", {"if_not_exists": True}]],
        [[11, "t", {"is_sync": True}]],
    ]
)


def history(transactions: list[list[list[object]]]) -> Book:
    book = Book()
    book.space()
    book.write(OPEN)
    for number, ops in enumerate(transactions, 1):
        book.write(*ops, seq=number, low=max(0, number - 3))
    return book


@given(
    st.lists(OPS | SCHEMA_CHANGES, max_size=12),
    st.lists(st.tuples(st.floats(0, 1), st.integers(1, 8)), max_size=6),
)
def test_fold_then_reopen_equals_replay(
    transactions: list[list[list[object]]], slices: list[tuple[float, int]]
) -> None:
    book = history(transactions)
    whole = book.follower()
    for part, rows_max in slices:
        book.fold(round(book.last * part), rows_max=rows_max)
        again = book.follower(book.store)
        for state in (book.state, again):
            assert state.digests() == whole.digests()
            assert state.spaces().keys() == whole.spaces().keys()
            for index in state.spaces()["t"].indexes:
                assert state.select("t", index.id, "all") == whole.select("t", index.id, "all")
    once = MemorySpaces()
    other = book.follower(once)
    fold = other.fold(book.last, 10**6)
    once.fold(fold)
    while book.fold(rows_max=2) < book.last:
        pass
    assert list(book.store.scan(*EVERYTHING)) == list(once.scan(*EVERYTHING))
    assert book.state.overlay_rows == book.state.overlay_bytes == 0
    assert DataState(once, folded=once.folded).digests() == whole.digests()


def test_of_each_key_only_the_last_value_is_written() -> None:
    book = history([[[2, "t", pack(1, "a", n)]] for n in range(50)])
    fold = book.state.fold(book.last, 1000)
    tuples = [value for key, value in fold.puts if key.startswith(b"\0\0\2\0")]
    assert rows(tuples) == [[1, "a", 49]]


def test_slices_end_between_transactions() -> None:
    book = Book()
    book.space()
    book.fold()
    for base in (0, 10, 20):
        book.write(*[[1, "t", pack(base + n)] for n in range(3)])
    start = book.state.folded
    assert [book.fold(rows_max=5), book.fold(rows_max=6)] == [start + 1, start + 3]
    book.write(*[[1, "t", pack(100 + n)] for n in range(9)])
    assert book.fold(rows_max=2) == book.last


def test_a_slice_has_a_limit_of_transactions_too() -> None:
    book = history([[[2, "t", pack(1, "a", n)]] for n in range(3 * TXNS_PER_ROW_MAX)])
    start = book.state.folded
    assert book.fold(rows_max=2) <= start + 2 * TXNS_PER_ROW_MAX


def test_nothing_to_fold_still_moves_the_index() -> None:
    book = Book()
    state = book.state
    state.see(Index(7))
    fold = state.fold(Index(7), 100)
    assert (fold.folded, fold.puts, fold.deletes) == (7, [], [])
    state.folded_to(fold)
    assert state.fold(Index(3), 100).folded == 7


def test_a_fold_that_was_not_stored_can_be_asked_for_again() -> None:
    book = history([[[2, "t", pack(n)]] for n in range(5)])
    one, two = (book.state.fold(book.last, 100) for _ in range(2))
    assert (one.folded, one.puts, one.deletes) == (two.folded, two.puts, two.deletes)


def test_rolled_back_transactions_are_not_folded() -> None:
    book = history([[[2, "t", pack(1, "a")]]])
    book.pend([2, "t", pack(1, "b")], [2, "t", pack(2, "b")], seq=50)
    book.state.roll_back(book.last, book.last)
    book.state.see(book.last)
    book.fold()
    assert book.all() == [[1, "a"]]
    assert DataState(book.store, folded=book.store.folded).digests() == book.state.digests()


def test_pending_transactions_stay_above_the_fold() -> None:
    book = history([[[2, "t", pack(1, "a")]]])
    confirmed = book.last
    book.pend([2, "t", pack(1, "b")])
    assert book.fold(confirmed) == confirmed
    assert book.all() == [[1, "a"]]
    book.state.see(book.last)
    assert book.all() == [[1, "b"]]


def test_history_goes_on_between_a_fold_and_its_end() -> None:
    book = history([[[2, "t", pack(1, "a")]]])
    fold = book.state.fold(book.last, 100)
    book.pend([2, "t", pack(1, "b")])
    gone = book.last
    book.pend([2, "t", pack(1, "c")])
    book.store.fold(fold)
    assert book.all() == [[1, "a"]]
    book.state.roll_back(gone, book.last)
    book.state.folded_to(fold)
    assert book.all() == [[1, "a"]]
    book.state.restore(gone, gone)
    book.state.see(gone)
    assert book.all() == [[1, "b"]]


def test_a_confirmed_transaction_that_does_not_follow_is_damage() -> None:
    """A follower may hold it for a while; it must not reach the store."""
    book = history([])
    book.pend([10, "gone", {"primary": [[1, "unsigned"]]}])
    dropped = book.log.pop()
    follower = book.follower()
    book.entry(dropped.body)
    book.pend([1, "gone", pack(1)])
    orphan = book.log.pop()
    follower.apply([orphan])
    follower.see(orphan.index)
    with pytest.raises(Damaged, match="not there"):
        follower.fold(orphan.index, 100)


def test_a_body_that_cannot_be_read_is_damage() -> None:
    book = Book()
    with pytest.raises(Damaged):
        book.state.apply([book.entry(b"\x84\x40")])
