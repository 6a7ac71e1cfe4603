"""What a client library keeps of a transaction until its commit."""

from election.messages import Index, Position, Term
from qsync.client.draft import TransactionDraft
from qsync.client.numbering import SEED_BYTES
from qsync.client.pending_request import PendingRequest, RetryKind
from qsync.data.sessions import PLACE_BYTES
from qsync.wire.verbs import WriteRequest

ONE = ["k", "accounts", 0, [1]]
TWO = ["k", "accounts", 0, [2]]
EARLY, LATE = Position(Term(3), Index(7)), Position(Term(4), Index(9))


def test_a_single_look_needs_no_commit() -> None:
    draft = TransactionDraft({})
    draft.saw(ONE, EARLY)
    assert draft.end({}) is None


def test_looks_at_two_tuples_are_validated_together() -> None:
    draft = TransactionDraft({})
    draft.saw(ONE, EARLY)
    draft.saw(TWO, LATE)
    assert draft.end({}) is not None


def test_two_looks_at_one_tuple_are_validated_too() -> None:
    """It may have changed between them, and the transaction would have seen both states."""
    draft = TransactionDraft({})
    draft.saw(ONE, EARLY)
    draft.saw(ONE, LATE)
    assert draft.end({}) is not None


def test_a_commit_names_every_log_that_was_read() -> None:
    """One index may be two entries when an asynchronous tail was cut off between two looks."""
    draft = TransactionDraft({})
    draft.saw(ONE, EARLY)
    draft.saw(TWO, LATE)
    draft.saw(ONE, LATE)
    call = draft.end({})
    assert call is not None
    request = call.make(1)
    assert isinstance(request, WriteRequest)
    assert request.snapshot == EARLY.index
    assert list(request.reads) == [["p", 7, 3], ["p", 9, 4], ONE, TWO]


def test_a_transaction_has_the_number_that_its_commit_has_now() -> None:
    """A commit that was never sent gets another number when its session is gone."""
    draft = TransactionDraft({})
    draft.write(["anything"])
    assert draft.token is None
    call = draft.end({})
    assert call is not None
    assert call.begun is not None
    assert draft.token is None, "nothing was asked yet"
    request = call.make(1)
    assert isinstance(request, WriteRequest)
    seed, place = b"beginning"[:SEED_BYTES], bytes(PLACE_BYTES)
    ask = PendingRequest(
        RetryKind.WRITE, request._replace(session=seed, seq=7), b"", now=0.0, deadline=1.0
    )
    call.begun(ask)
    assert draft.token is None, "no node knows a session by the beginning of its name"
    ask.request = request._replace(session=seed + place, seq=7)
    assert draft.token == f"{(seed + place).hex()}:7"
    ask.request = request._replace(session=seed[::-1] + place, seq=1)
    assert draft.token == f"{(seed[::-1] + place).hex()}:1"
