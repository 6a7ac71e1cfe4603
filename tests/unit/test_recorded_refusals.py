"""A refusal as an entry of the log: what is kept of it, and which refusals take a number."""

from dataclasses import replace

import cbor2
import pytest

from admin.cluster.logs import as_members
from admin.evidence import opening
from qsync.accepting import trimmed
from qsync.core.logindex import LogIndex
from qsync.data import body
from qsync.data.request import KnownRequest, Request
from qsync.data.sessions import IN_THE_LOG, ROLLED_BACK, Session, Sessions, write
from qsync.error_details import RECORDED
from qsync.errors import (
    Damaged,
    DuplicateKey,
    GivenUp,
    NotLeader,
    OutcomeUnknown,
    Overloaded,
    ProtocolError,
    QsyncError,
    Rebuilding,
    SessionExpired,
)
from tests.unit.book import OPEN, Book, pack, session
from tests.unit.logs import some, start_behind

ASKED = (b"s" * 23, 7, 3)
DETAILS: dict[str, object] = {"space": "t", "index": "primary"}
REFUSED = DuplicateKey("there is a tuple with this key", hint="look", details=DETAILS)
SESSION = session(2)
DOUBTED = Request(SESSION, 1, 0, [[1, "t", pack(1)]], doubted=True)


@pytest.fixture
def book() -> Book:
    book = Book()
    book.space()
    book.write(OPEN)
    return book


def recorded(error: QsyncError) -> QsyncError:
    found = body.refusal(body.encode_refusal(ASKED, error))
    assert found is not None
    return found


def test_a_recorded_refusal_reads_as_what_it_was_and_says_that_it_is_recorded() -> None:
    found = recorded(REFUSED)
    assert isinstance(found, DuplicateKey)
    assert (found.message, found.hint) == (REFUSED.message, REFUSED.hint)
    assert found.details == {**DETAILS, RECORDED: True}


def test_it_has_no_effects_and_no_results() -> None:
    text = body.encode_refusal(ASKED, REFUSED)
    session_, seq, low, effects, *_ = body.decode(text)
    assert (session_, seq, low, effects) == (*ASKED, [])
    assert body.results(text) == []


def test_a_transaction_records_no_refusal() -> None:
    assert body.refusal(body.encode(ASKED, [[512, b"k", b"v"]], [])) is None


def test_what_is_kept_of_it_is_bounded() -> None:
    most = body.REFUSAL_TEXT_CHARS_MAX
    found = recorded(
        DuplicateKey("m" * 10_000, hint="h" * 10_000, details={"problems": "p" * 10_000})
    )
    assert (len(found.message), len(found.hint)) == (most, most)
    assert found.details == {RECORDED: True}
    fitting = "p" * (body.REFUSAL_DETAILS_BYTES_MAX - 20)
    assert (
        recorded(DuplicateKey("no", details={"problems": fitting})).details["problems"] == fitting
    )


def test_details_that_no_reader_could_take_are_kept_as_text() -> None:
    found = recorded(DuplicateKey("no", details={"odd": object, "many": [1]}))
    assert found.details["odd"] == str(object)
    assert found.details["many"] == "[1]"


@pytest.mark.parametrize(
    "parts",
    [
        [*ASKED, [], [], [23, "m", "h", {}]],
        [*ASKED, None, None, [23, "m", "h"]],
        [*ASKED, None, None, [23, "m", "h", {}], "and more"],
    ],
)
def test_what_is_longer_than_a_transaction_and_no_refusal_is_damage(parts: list[object]) -> None:
    with pytest.raises(Damaged):
        body.decode_all([cbor2.dumps(parts)])


def test_who_knows_of_no_such_entries_finds_no_effects_to_read() -> None:
    assert cbor2.loads(body.encode_refusal(ASKED, REFUSED))[3] is None


def test_in_the_log_it_is_shown_as_a_refusal(book: Book) -> None:
    shown = as_members(book.entry(body.encode_refusal(ASKED, REFUSED)))
    assert shown["refused"] == "DUPLICATE_KEY"
    assert shown["message"] == REFUSED.message
    assert (shown["seq"], shown["effects"]) == (7, [])


def test_checkers_count_it_as_nothing_that_its_request_did() -> None:
    assert opening.read(body.encode_refusal(ASKED, REFUSED)) is None


def test_a_doubted_refusal_takes_the_number_and_is_synchronous(book: Book) -> None:
    done = book.state.refuse(DOUBTED, REFUSED)
    assert done.sync
    assert (done.writes, done.results) == ([], [])
    entry = book.entry(done.body)
    book.state.applied(entry.index, entry.term, done)
    known = KnownRequest(book.last, 1, False, DuplicateKey.number)
    assert book.state.known_request(SESSION, 1) == known
    assert book.follower().known_request(SESSION, 1) == known


def test_a_refusal_whose_entry_was_trimmed_is_told_with_its_error() -> None:
    log = LogIndex(start_behind(some(9)[-1]))
    told = trimmed(log, KnownRequest(7, 1, rolled_back=False, refused=DuplicateKey.number))
    assert isinstance(told, DuplicateKey)
    assert told.details[RECORDED]
    unknown = trimmed(log, KnownRequest(7, 1, rolled_back=False))
    assert isinstance(unknown, OutcomeUnknown)


@pytest.mark.parametrize("fate", [IN_THE_LOG, ROLLED_BACK, DuplicateKey.number, 300, 70_000])
def test_the_row_of_a_session_says_by_which_error_a_request_was_refused(fate: int) -> None:
    """As releases before did where it was not; and they read a number as "rolled back"."""
    one = Session(opened=3)
    one.outcomes = {5: (10, 2, IN_THE_LOG), 6: (11, 2, fate), 7: (12, 2, ROLLED_BACK)}
    _, row = write(SESSION, one)
    assert row is not None
    *_, outcomes = cbor2.loads(row)
    stored = min(fate, 0xFFFF) if fate > 0 else fate == ROLLED_BACK
    assert outcomes == [[5, 10, 2, False], [6, 11, 2, stored], [7, 12, 2, True]]
    known = Sessions([row]).known_request(SESSION, 6, ())
    assert known == KnownRequest(11, 2, fate == ROLLED_BACK, min(max(fate, 0), 0xFFFF))


@pytest.mark.parametrize(
    "error", [NotLeader(""), Overloaded(""), Rebuilding(""), SessionExpired("")]
)
def test_what_is_about_this_moment_or_this_node_is_not_recorded(
    book: Book, error: QsyncError
) -> None:
    with pytest.raises(type(error)):
        book.state.refuse(DOUBTED, error)


@pytest.mark.parametrize(
    "request_",
    [replace(DOUBTED, doubted=False), replace(DOUBTED, seq=0), replace(DOUBTED, session=b"")],
)
def test_a_refusal_of_what_is_not_numbered_or_not_in_doubt_is_not_recorded(
    book: Book, request_: Request
) -> None:
    with pytest.raises(DuplicateKey):
        book.state.refuse(request_, REFUSED)


def test_what_has_no_number_to_take_cannot_be_given_up(book: Book) -> None:
    with pytest.raises(ProtocolError):
        book.state.refuse(replace(DOUBTED, doubted=False), GivenUp(""))


def test_a_number_that_cannot_be_taken_says_why(book: Book) -> None:
    with pytest.raises(SessionExpired):
        book.state.refuse(replace(DOUBTED, session=b"other"), REFUSED)
    with pytest.raises(ProtocolError):
        book.state.refuse(replace(DOUBTED, low=2), REFUSED)
