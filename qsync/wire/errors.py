"""Errors as numbers on the wire, and back into the classes of `qsync.errors`."""

from typing import Final

import cbor2

from qsync.error_details import RETRY_AFTER
from qsync.errors import Outcome, QsyncError, error_of
from qsync.wire import cbor, limits


def error_fields(error: QsyncError) -> list[object]:
    """`[number, message, outcome, retryable, hint, leader, details]`."""
    return [
        error.number,
        error.message[: limits.TEXT_CHARS_MAX],
        error.outcome.value,
        error.retryable,
        error.hint[: limits.TEXT_CHARS_MAX],
        error.leader,
        _plain(error.details),
    ]


def read_error(number: int, fields: cbor.Fields) -> QsyncError:
    """The error after its number. Raises ProtocolError."""
    message = fields.text()
    outcome = fields.text()
    fields.flag()  # The class of the error says whether it is retryable; the bit is for others.
    hint = fields.text()
    leader = fields.text_or_none()
    error = error_of(number, message, hint=hint, leader=leader, details=fields.table())
    if outcome in _OUTCOMES:
        error.outcome = Outcome(outcome)
        return error
    raise fields.refused("an error with an outcome")


def pause_of(error: QsyncError) -> float:
    """After how many seconds to try again, by the refusing side; 0 if it did not say.

    Not more than the longest pause that nodes ask for: one would never hear that it is over.
    """
    after = error.details.get(RETRY_AFTER)
    if isinstance(after, int | float) and after > 0:
        return float(min(after, limits.PAUSE_S_MAX))
    return 0.0


def _plain(details: dict[str, object]) -> dict[str, object]:
    try:
        cbor2.dumps(details)
    except (cbor2.CBOREncodeError, ValueError, TypeError):
        return {key: str(value) for key, value in details.items()}
    return details


_OUTCOMES: Final = frozenset(outcome.value for outcome in Outcome)
