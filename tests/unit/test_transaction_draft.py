"""What a client library keeps of a transaction until its commit."""

import pytest

from election.messages import Index, Position, Term
from qsync.client.draft import NoTransaction, TransactionDraft, retryable
from qsync.client.numbering import SEED_BYTES
from qsync.client.pending_request import PendingRequest, RetryKind
from qsync.client.rows import Receipt
from qsync.data.sessions import PLACE_BYTES
from qsync.errors import (
    Conflict,
    NotLeader,
    Outcome,
    OutcomeUnknown,
    Overloaded,
    QsyncError,
    QuorumTimeout,
    ReadOnly,
    RolledBack,
    Unanswered,
    Unavailable,
)
from qsync.record import Lsn
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


def committing() -> tuple[TransactionDraft, PendingRequest]:
    """A transaction whose commit is under way."""
    draft = TransactionDraft({})
    draft.write(["anything"])
    call = draft.end({})
    assert call is not None
    assert call.begun is not None
    ask = PendingRequest(RetryKind.WRITE, call.make(1), b"", now=0.0, deadline=1.0)
    call.begun(ask)
    return draft, ask


def use_after_the_end(draft: TransactionDraft) -> NoTransaction:
    with pytest.raises(NoTransaction, match="is over") as caught:
        draft.write(["more"])
    return caught.value


def test_a_committed_transaction_that_is_used_again_was_not_rolled_back() -> None:
    """A program that repeats what was rolled back would do it twice."""
    draft, _ = committing()
    draft.receipt = Receipt(term=Term(1), index=Index(2), lsn=Lsn(2), acks=2, seconds=0.1)
    error = use_after_the_end(draft)
    assert error.outcome is Outcome.COMMITTED
    assert not retryable(error)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (None, Outcome.UNKNOWN),
        (OutcomeUnknown("no answer"), Outcome.UNKNOWN),
        (Conflict("changed"), Outcome.ROLLED_BACK),
    ],
)
def test_a_use_after_a_commit_has_the_outcome_of_the_commit(
    answer: QsyncError | None, outcome: Outcome
) -> None:
    draft, ask = committing()
    ask.error = answer
    error = use_after_the_end(draft)
    assert error.outcome is outcome
    assert not retryable(error)


def test_a_use_after_a_rollback_was_rolled_back() -> None:
    draft = TransactionDraft({})
    draft.over = True
    assert use_after_the_end(draft).outcome is Outcome.ROLLED_BACK


@pytest.mark.parametrize(
    "error", [Unavailable("x"), Unanswered("x"), NotLeader("x"), ReadOnly("x"), Overloaded("x")]
)
def test_what_its_calls_met_until_their_time_was_over_begins_no_transaction_anew(
    error: QsyncError,
) -> None:
    assert not retryable(error)


@pytest.mark.parametrize("error", [Conflict("x"), RolledBack("x"), QuorumTimeout("x")])
def test_what_was_rolled_back_begins_a_transaction_anew(error: QsyncError) -> None:
    assert retryable(error)
