"""Exactly once: what is known of a request after folds, rollbacks, cuts and restarts."""

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from election.messages import Index
from qsync.data import keys, schema
from qsync.data.execute import FULL_SESSION_PAUSE_S
from qsync.data.request import EXPIRED, NEW, STALE, KnownRequest, Limits, Request
from qsync.data.state import DataState
from qsync.error_details import OUTCOMES_MAX, RETRY_AFTER
from qsync.errors import Overloaded, ProtocolError, SessionExpired
from tests.unit.book import OPEN, SEED, Book, pack, session

SESSION = session(2)
PUT: list[object] = [2, "t", pack(1)]


@pytest.fixture
def book() -> Book:
    book = Book()
    book.space()
    book.write(OPEN)
    return book


def stored_rows(book: Book) -> list[list[object]]:
    return [cbor2.loads(row) for _, row in book.store.scan(*schema.keys_of(schema.SESSION))]


def test_a_request_is_new_then_known(book: Book) -> None:
    assert book.state.known_request(SESSION, 1) is NEW
    book.pend(PUT, seq=1)
    assert book.state.known_request(SESSION, 1) == KnownRequest(book.last, 1, False)
    assert book.follower().known_request(SESSION, 1) == KnownRequest(book.last, 1, False)


def test_without_a_session_everything_is_new(book: Book) -> None:
    book.write(PUT)
    assert book.state.known_request(b"", 1) is NEW


def test_a_session_nobody_opened_is_expired(book: Book) -> None:
    assert book.state.known_request(b"other", 1) is EXPIRED
    with pytest.raises(SessionExpired):
        book.state.execute(Request(b"other", 1, 0, [PUT]))


def test_a_request_does_not_open_its_own_session(book: Book) -> None:
    with pytest.raises(SessionExpired):
        book.append(Request(b"mine", 1, 0, [[30, b"mine"], PUT]))


def test_an_opening_tells_the_id_that_is_born(book: Book) -> None:
    (row,) = book.write([30, b"mine"])
    assert row is not None
    assert cbor2.loads(row) == [session(book.last, b"mine")]
    assert book.state.known_request(session(book.last, b"mine"), 1) is NEW
    assert book.follower().known_request(session(book.last, b"mine"), 1) is NEW


def test_a_request_below_low_is_stale(book: Book) -> None:
    for seq, low in ((1, 0), (2, 0), (3, 3)):
        book.write(PUT, seq=seq, low=low)
    assert [book.state.known_request(SESSION, seq) for seq in (1, 2)] == [STALE, STALE]
    assert isinstance(book.state.known_request(SESSION, 3), KnownRequest)


def test_a_late_copy_of_an_opening_opens_another_session(book: Book) -> None:
    book.write(PUT, seq=1)
    book.write(OPEN)
    assert isinstance(book.state.known_request(SESSION, 1), KnownRequest)
    assert book.state.known_request(session(book.last), 1) is NEW
    book.write([31, SESSION])
    book.write(OPEN)
    for state in (book.state, book.follower()):
        assert state.known_request(SESSION, 1) is EXPIRED
        assert state.known_request(session(book.last), 1) is NEW


def test_an_expired_session_is_gone_from_memory_and_store(book: Book) -> None:
    book.write(PUT, seq=1)
    book.fold()
    assert len(stored_rows(book)) == 1
    book.write([31, SESSION])
    assert book.state.known_request(SESSION, 1) is EXPIRED
    book.fold()
    assert stored_rows(book) == []


def test_a_session_opened_and_expired_in_one_fold_leaves_no_row(book: Book) -> None:
    book.write([30, b"brief"])
    book.write([31, session(book.last, b"brief")])
    book.write([31, b"never"])
    book.fold()
    assert [row[0] for row in stored_rows(book)] == [SESSION]


@pytest.mark.parametrize("ops", ["30 31", "31 31", "31 30", "30 31 30", "31 30 31"])
def test_a_session_may_change_more_than_once_in_a_transaction(book: Book, ops: str) -> None:
    """A client that knows where its entry will be can name what is born there."""
    name = session(book.last + 1)
    book.write(*([int(op), SEED if op == "30" else name] for op in ops.split()))
    known = NEW if ops.endswith("30") else EXPIRED
    assert book.state.known_request(name, 1) is known
    book.fold()
    assert book.state.known_request(name, 1) is known
    assert book.follower(book.store).known_request(name, 1) is known
    assert (name in [row[0] for row in stored_rows(book)]) is (known is NEW)


def test_a_rolled_back_request_is_known_as_that_for_ever(book: Book) -> None:
    book.pend(PUT, seq=1)
    place = book.last
    book.state.roll_back(place, place)
    gone = KnownRequest(place, 1, True)
    assert book.state.known_request(SESSION, 1) == gone
    book.write(PUT, seq=2)
    book.fold()
    assert book.state.known_request(SESSION, 1) == gone
    assert book.follower(book.store).known_request(SESSION, 1) == gone


def test_a_restored_request_is_known_as_that(book: Book) -> None:
    book.pend(PUT, seq=1)
    place = book.last
    book.state.roll_back(place, place)
    book.state.restore(place, place)
    assert book.state.known_request(SESSION, 1) == KnownRequest(place, 1, False)


def test_a_cut_request_is_new_again(book: Book) -> None:
    book.write(PUT, seq=1, low=1)
    kept = book.last
    book.pend(PUT, seq=2, low=2)
    book.pend([30, b"other"])
    book.state.cut(kept)
    assert book.state.known_request(SESSION, 1) == KnownRequest(kept, 1, False)
    assert book.state.known_request(SESSION, 2) is NEW
    assert book.state.known_request(b"other", 1) is EXPIRED


def test_the_row_of_a_session_says_all(book: Book) -> None:
    opened = book.last
    for seq in (5, 6, 300):
        book.pend(PUT, seq=seq, low=5)
    book.state.roll_back(book.last, book.last)
    book.state.see(book.last)
    book.fold()
    outcomes = [[5, opened + 1, 1, False], [6, opened + 2, 1, False], [300, opened + 3, 1, True]]
    assert stored_rows(book) == [[SESSION, 5, opened, outcomes]]


def test_folding_a_part_leaves_later_outcomes_in_memory_only(book: Book) -> None:
    for seq in (1, 2, 3):
        book.write(PUT, seq=seq)
    book.fold(book.last - 1)
    (row,) = stored_rows(book)
    assert [outcome[0] for outcome in row[3]] == [1, 2]  # type: ignore[attr-defined]  # a list
    again = book.follower(book.store)
    for state in (book.state, again):
        assert [type(state.known_request(SESSION, seq)) for seq in (1, 2, 3)] == [KnownRequest] * 3


def test_numbers_below_low_or_nonsense_are_refused(book: Book) -> None:
    with pytest.raises(ProtocolError):
        book.pend(PUT, seq=1, low=2)
    with pytest.raises(ProtocolError):
        book.pend(PUT, seq=2**64)


def test_number_zero_asks_for_no_memory(book: Book) -> None:
    for _ in range(2):
        book.append(Request(SESSION, 0, 0, [PUT]))
    assert book.state.known_request(SESSION, 0) is NEW


def test_the_limits_of_sessions_are_reached(book: Book) -> None:
    book.state.limits = Limits(sessions_max=2, outcomes_max=3)
    book.write([30, b"second"])
    with pytest.raises(Overloaded, match="2 sessions"):
        book.write([30, b"second"])
    for seq in (1, 2, 3):
        book.write(PUT, seq=seq)
    with pytest.raises(Overloaded, match="3 unforgotten"):
        book.write(PUT, seq=4)


def test_a_full_session_takes_a_request_that_lets_it_forget_another(book: Book) -> None:
    book.state.limits = Limits(outcomes_max=3)
    for seq in (1, 2, 3):
        book.write(PUT, seq=seq)
    with pytest.raises(Overloaded) as full:
        book.write(PUT, seq=4, low=1)
    assert full.value.details == {OUTCOMES_MAX: 3, RETRY_AFTER: FULL_SESSION_PAUSE_S}
    book.write(PUT, seq=4, low=2)
    assert isinstance(book.state.known_request(SESSION, 4), KnownRequest)
    with pytest.raises(Overloaded, match="3 unforgotten"):
        book.write(PUT, seq=5, low=2)
    book.write(PUT, seq=9, low=9)


@given(st.binary(min_size=1, max_size=48))
def test_any_bytes_begin_the_id_of_a_session(seed: bytes) -> None:
    book = Book()
    book.write([30, seed])
    state = book.follower()
    assert state.known_request(session(1, seed), 1) is NEW
    book.write([31, session(1, seed)])
    state.apply(book.log[-1:])
    assert state.known_request(session(1, seed), 1) is EXPIRED


@given(
    st.lists(st.tuples(st.integers(1, 12), st.integers(0, 12), st.booleans()), max_size=25),
    st.integers(1, 5),
    st.integers(0, 25),
)
def test_folding_in_slices_is_as_folding_at_once(
    requests: list[tuple[int, int, bool]], slice_: int, cut: int
) -> None:
    """And a node that starts from the rows and the rest of the log knows what the others know."""
    book = Book()
    book.space()
    book.write(OPEN)
    for seq, low, rolled in requests:
        if book.state.known_request(SESSION, seq) is not NEW:
            continue
        book.pend([2, "t", pack(seq)], seq=seq, low=min(seq, low))
        if rolled:
            book.state.roll_back(book.last, book.last)
    book.state.see(book.last)
    expected = [book.state.known_request(SESSION, seq) for seq in range(13)]
    cut = min(cut, book.last)
    whole = Book()
    whole.log = book.log
    whole.state = DataState(whole.store, folded=Index(0))
    whole.state.apply(whole.log)
    for txn in list(book.state.overlay.unfolded()):
        if txn.index in book.state._rolled:
            whole.state.roll_back(Index(txn.index), Index(txn.index))
    whole.state.see(whole.last)
    while book.fold(cut, rows_max=slice_) < cut:
        pass
    whole.fold(cut)
    everything = (b"", b"\xff" * 8)
    assert list(book.store.scan(*everything)) == list(whole.store.scan(*everything))
    for state in (book.state, whole.state):
        assert [state.known_request(SESSION, seq) for seq in range(13)] == expected


def test_session_names_survive_the_way_through_a_key() -> None:
    prefix = keys.prefix(schema.SESSION, 0)
    book = Book()
    book.write([30, b"\0\xff\0"])
    book.fold()
    ((key, _),) = book.store.scan(*schema.keys_of(schema.SESSION))
    rest = b"\0\xff" * 7 + b"\x01" + b"\0\xff" * 7 + b"\x01"
    assert key == prefix + b"\x08\0\xff\xff\0\xff" + rest + b"\0"
