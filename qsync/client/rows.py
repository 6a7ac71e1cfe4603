"""Tuples, keys and receipts, as callers see them and on the wire."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import cbor2

from election.messages import Index, Term
from qsync.client.arguments import choice_of, refused
from qsync.consumer import Consumer, consumer_of
from qsync.core.consistency import Consistency
from qsync.errors import NoSuchIndex, NoSuchSpace, Outcome, ProtocolError, WrongKey, WrongTuple
from qsync.record import Lsn
from qsync.wire import cbor, limits, sendable
from qsync.wire.verbs import LINEARIZABLE, Name, ReadLevel

Row = list[object]
"""A tuple as it is read: the fields in order."""
Values = Sequence[object]
"""A tuple as it may be given."""
Key = object
"""A key as it may be given: one value, or a list or tuple of the parts."""
ReadConsistency = Literal["linearizable", "lease", "local"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Proof of a write: `(term, index)` names it for ever. `at_least=receipt` reads not before it.

    `duplicate`: an earlier attempt had done it already. `raw`: per operation the tuple, encoded.
    """

    term: Term
    index: Index
    lsn: Lsn
    acks: int
    seconds: float
    duplicate: bool = False
    raw: tuple[bytes | None, ...] = field(default=(), repr=False)

    @property
    def rows(self) -> list[Row | None]:
        """Per operation the tuple that it left (or took away), or None."""
        return [None if one is None else _done(one) for one in self.raw]

    @property
    def row(self) -> Row | None:
        """The result of the first operation: the tuple after an update, or the deleted one."""
        return _done(self.raw[0]) if self.raw and self.raw[0] is not None else None


def encode_row(row: Values) -> bytes:
    """Encode a tuple. Raises WrongTuple."""
    if not isinstance(row, list | tuple) and _is_no_list(row):
        raise WrongTuple(f"a tuple is a list of fields, not {type(row).__name__}")
    fields = row if isinstance(row, list) else list(row)
    sendable.check_depth(fields, WrongTuple)
    try:
        return cbor2.dumps(fields, canonical=False)
    except (cbor2.CBOREncodeError, ValueError, TypeError, OverflowError) as error:
        raise WrongTuple(f"a tuple with a value that cannot be stored: {error}") from error


def decode_row(data: bytes) -> Row:
    """Decode a tuple. Raises ProtocolError."""
    return cbor.loads_array(data)


def _done(data: bytes) -> Row:
    """Decode the tuple of a write that is committed, whatever its tuple is."""
    try:
        return decode_row(data)
    except ProtocolError as error:
        error.outcome = Outcome.COMMITTED
        raise


def consumer_in(row: Row, *, outcome: Outcome = Outcome.ROLLED_BACK) -> Consumer:
    """Return the consumer of a row. Raises ProtocolError: a later release may know other kinds.

    `outcome`: of the call that the row is the answer to.
    """
    try:
        return consumer_of(row)
    except (ValueError, TypeError) as error:
        failure = ProtocolError(f"not a consumer that this release knows: {error}")
        failure.outcome = outcome
        raise failure from None


def key_of(key: Key) -> list[object]:
    """Return the parts of a key; None is the empty key. Raises WrongKey."""
    if key is None:
        return []
    if isinstance(key, dict | set):
        raise WrongKey(f"a key is a value or a list of values, not a {type(key).__name__}")
    parts = list(key) if isinstance(key, list | tuple) else [key]
    if len(parts) > limits.KEY_PARTS_MAX:
        raise WrongKey(
            f"a key of {len(parts)} parts; no index has more than {limits.KEY_PARTS_MAX}"
        )
    sendable.check_values(parts, WrongKey)
    return parts


def named(space: Name) -> Name:
    """Return the name or number of a space, if it can be one. Raises NoSuchSpace.

    A node takes a request with anything else for a broken one, and hangs up.
    """
    if _is_name(space):
        return space
    raise NoSuchSpace(
        f"there is no space {space!r:.80}",
        hint=f"a space has a name of 1 to {limits.SPACE_CHARS_MAX} characters, and a number",
    )


def indexed(index: Name) -> Name:
    """Return the name or number of an index, if it can be one. Raises NoSuchIndex."""
    if _is_name(index):
        return index
    raise NoSuchIndex(f"there is no index {index!r:.80}", hint="an index has a name and a number")


def _is_name(value: object) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= limits.SPACE_CHARS_MAX
    return type(value) is int and 0 <= value <= limits.U32_MAX


def level_of(consistency: str, at_least: Receipt | None) -> ReadLevel:
    """Return how fresh a read must be. Raises ConfigError."""
    if at_least is not None:
        if not isinstance(at_least, Receipt):
            raise refused("at_least", "the receipt of a write", at_least)
        return ReadLevel(Consistency.AT_LEAST, at_least.term, at_least.index)
    if consistency == Consistency.LINEARIZABLE:
        return LINEARIZABLE
    return choice_of("consistency", consistency, _LEVELS, "linearizable, lease or local (a text)")


def changes_of(changes: Iterable[Sequence[object]]) -> list[object]:
    """Return update operations, `(operator, field, value...)` each. Raises WrongTuple."""
    if _is_no_list(changes):
        raise WrongTuple(f"{changes!r} is no list of update operations", hint=_CHANGES)
    found: list[object] = []
    for change in changes:
        parts = [] if _is_no_list(change) else list(change)
        if len(parts) < _CHANGE_PARTS_MIN or not isinstance(parts[0], str):
            raise WrongTuple(f"{change!r} is no update operation", hint=_CHANGES)
        sendable.check_values(parts, WrongTuple)
        found.append(parts)
    return found


def _is_no_list(value: object) -> bool:
    """Return whether it is a single value, or has no order or more than values."""
    return isinstance(value, _NO_LISTS) or not isinstance(value, Iterable)


_NO_LISTS: Final = (str, bytes, bytearray, memoryview, Mapping, set, frozenset)
_CHANGES: Final = 'a list of them, such as [("+", "count", 1)]'
_CHANGE_PARTS_MIN: Final = 2
_LEVELS: Final[dict[str, ReadLevel]] = {
    Consistency.LINEARIZABLE: LINEARIZABLE,
    Consistency.LEASE: ReadLevel(Consistency.LEASE),
    Consistency.LOCAL: ReadLevel(Consistency.LOCAL),
}


def sequence_value(receipt: Receipt) -> int:
    """Return the number that a sequence gave. Raises ProtocolError."""
    row = receipt.row
    if row and isinstance(row[-1], int):
        return row[-1]
    error = ProtocolError("not the row of a sequence")
    error.outcome = Outcome.COMMITTED
    raise error
