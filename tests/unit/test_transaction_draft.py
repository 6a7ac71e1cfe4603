"""What a client library keeps of a transaction until its commit."""

from election.messages import Index, Position, Term
from qsync.client.transaction import Draft
from qsync.wire.verbs import Write

ONE = ["k", "accounts", 0, [1]]
TWO = ["k", "accounts", 0, [2]]
EARLY, LATE = Position(Term(3), Index(7)), Position(Term(4), Index(9))


def test_a_single_look_needs_no_commit() -> None:
    draft = Draft({})
    draft.saw(ONE, EARLY)
    assert draft.end({}) is None


def test_looks_at_two_tuples_are_validated_together() -> None:
    draft = Draft({})
    draft.saw(ONE, EARLY)
    draft.saw(TWO, LATE)
    assert draft.end({}) is not None


def test_two_looks_at_one_tuple_are_validated_too() -> None:
    """It may have changed between them, and the transaction would have seen both states."""
    draft = Draft({})
    draft.saw(ONE, EARLY)
    draft.saw(ONE, LATE)
    assert draft.end({}) is not None


def test_a_commit_names_every_log_that_was_read() -> None:
    """One index may be two entries when an asynchronous tail was cut off between two looks."""
    draft = Draft({})
    draft.saw(ONE, EARLY)
    draft.saw(TWO, LATE)
    draft.saw(ONE, LATE)
    call = draft.end({})
    assert call is not None
    request = call.make(1)
    assert isinstance(request, Write)
    assert request.snapshot == EARLY.index
    assert list(request.reads) == [["p", 7, 3], ["p", 9, 4], ONE, TWO]
