"""What a client library keeps of a transaction until its commit."""

from qsync.client.transaction import Draft

ONE = ["k", "accounts", 0, [1]]
TWO = ["k", "accounts", 0, [2]]


def test_a_single_look_needs_no_commit() -> None:
    draft = Draft({})
    draft.saw(ONE, 7)
    assert draft.end({}) is None


def test_looks_at_two_tuples_are_validated_together() -> None:
    draft = Draft({})
    draft.saw(ONE, 7)
    draft.saw(TWO, 9)
    assert draft.end({}) is not None


def test_two_looks_at_one_tuple_are_validated_too() -> None:
    """It may have changed between them, and the transaction would have seen both states."""
    draft = Draft({})
    draft.saw(ONE, 7)
    draft.saw(ONE, 9)
    assert draft.end({}) is not None
