"""One user does not take all sessions that a cluster keeps, whichever node leads."""

import pytest

from qsync.data.request import Limits, Request
from qsync.data.session_holders import SessionHolders
from qsync.errors import Overloaded
from tests.unit.book import Book

MOST = 3
LIMITS = Limits(sessions_max=2 * MOST, sessions_per_user_max=MOST)


@pytest.fixture
def book() -> Book:
    found = Book()
    found.state.limits = LIMITS
    return found


def open_sessions(book: Book, user: str | None, *, count: int = 1) -> list[bytes]:
    ops = [[30, bytes([len(book.log), each])] for each in range(count)]
    return [each.session for each in book.append(Request(ops=ops, user=user)).changes]


def test_a_user_at_the_limit_opens_no_more_and_others_do(book: Book) -> None:
    for _ in range(MOST):
        open_sessions(book, "mallory")
    with pytest.raises(Overloaded, match="'mallory' has 3 sessions already") as refused:
        open_sessions(book, "mallory")
    assert refused.value.details == {"limit": "limits.sessions_per_user_max", "most": MOST}
    open_sessions(book, "ann")


def test_many_in_one_transaction_are_no_way_round_it(book: Book) -> None:
    with pytest.raises(Overloaded, match="has 0 sessions already"):
        open_sessions(book, "mallory", count=MOST + 1)
    open_sessions(book, "mallory", count=MOST)


def test_what_was_closed_does_not_count(book: Book) -> None:
    for _ in range(5 * MOST):
        (session,) = open_sessions(book, "ann")
        book.append(Request(ops=[[31, session]], user="ann"))
    open_sessions(book, "ann", count=MOST)


@pytest.mark.parametrize("nobody", [None, ""])
def test_without_users_only_the_limit_of_the_cluster_counts(book: Book, nobody: str | None) -> None:
    open_sessions(book, nobody, count=2 * MOST)
    with pytest.raises(Overloaded, match="6 sessions already, the limit"):
        open_sessions(book, nobody)


def test_rows_that_are_made_anew_change_nothing_about_it(book: Book) -> None:
    open_sessions(book, "mallory", count=MOST)
    again = book.state.anew(book.state.folded)
    again.apply(book.log)
    book.state = again
    with pytest.raises(Overloaded, match="'mallory'"):
        open_sessions(book, "mallory")


def test_a_new_leader_counts_the_sessions_that_it_sees_used(book: Book) -> None:
    sessions = open_sessions(book, "mallory", count=MOST)
    book.state.holders = SessionHolders()
    for session in sessions:
        book.state.holders.note_use("mallory", session)
        book.state.holders.note_use("ann", session)
    with pytest.raises(Overloaded, match="'mallory'"):
        open_sessions(book, "mallory")
    open_sessions(book, "ann", count=MOST)


def test_what_is_closed_takes_no_memory(book: Book) -> None:
    holders = book.state.holders
    (kept,) = open_sessions(book, "ann")
    (closed,) = open_sessions(book, "bob")
    book.append(Request(ops=[[31, closed]], user="bob"))
    holders.forget_closed(book.state.sessions.head)
    assert holders._users == {kept: "ann"}
    assert holders._held == {"ann": {kept}}
