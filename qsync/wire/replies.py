"""Replies to clients, as bytes and back: `[id, 0, ...]`, or `[id, number of an error, ...]`.

Encoders give whole frames, `decode` takes a payload. The replies to writes and gets are packed by
hand: a general encoder costs as much as the rest of the request.
"""

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

import cbor2

from election.messages import Index, Position, Term
from qsync.errors import ProtocolError, QsyncError, TooLarge
from qsync.record import Lsn
from qsync.wire import cbor, limits
from qsync.wire.errors import error_fields, read_error
from qsync.wire.frames import LENGTH_SIZE, frame

# Length, array of 8, id, 0, term, index, lsn; then acks, results and "was it a duplicate?".
_COMMITTED = struct.Struct(">IB BQ B BQ BQ BQ")
# Length, array of 5, id, 0; then the row, index and term of what it was read from, 8 bytes each.
_READ = struct.Struct(">IB BQ B")
_FROM = struct.Struct(">BQ BQ")
_COMMITTED_SIZE: Final = 6
SUCCEEDED: Final = 0
"""What stands where an error has its number."""
PACKED_ID: Final = struct.Struct(">Q")
PACKED_ID_AT: Final = 2
PACKED_STATUS_AT: Final = 10
"""In the payload of a reply that was packed by hand: whose it is, then SUCCEEDED."""
_U64: Final = cbor.U64
_FLAGS: Final = (b"\xf4", b"\xf5")
_ONE_NIL: Final = b"\x81\xf6"
_READ_REST: Final = _READ.size - LENGTH_SIZE + _FROM.size


class CommittedReply(NamedTuple):
    """The answer to a write. `results`: per operation the tuple it left or took, or None.

    `duplicate`: an earlier attempt with the same session and number had already done it.
    """

    term: Term
    at: Index
    lsn: Lsn
    acks: int
    results: list[bytes | None]
    duplicate: bool


def committed(
    id: int,
    *,
    term: int,
    index: int,
    lsn: int,
    acks: int,
    results: Sequence[bytes | None],
    duplicate: bool,
) -> bytes:
    """The reply to a Write that succeeded."""
    nothing = len(results) == 1 and results[0] is None
    left = _ONE_NIL if nothing else _array(results)
    tail = cbor.head(0, acks) + left + _FLAGS[duplicate]
    length = _COMMITTED.size - LENGTH_SIZE + len(tail)
    head = _COMMITTED.pack(
        length, cbor.ARRAY | 8, _U64, id, SUCCEEDED, _U64, term, _U64, index, _U64, lsn
    )
    return head + tail


def row(id: int, found: bytes | None, *, read_from: Position) -> bytes:
    """The reply to a Get or TxGet. `read_from`: the last entry of what it was read from."""
    body = cbor.raw_or_nil(found)
    head = _READ.pack(_READ_REST + len(body), cbor.ARRAY | 5, _U64, id, SUCCEEDED)
    return b"".join((head, body, _from(read_from)))


def rows(
    id: int,
    found: Sequence[bytes],
    *,
    read_from: Position,
    bytes_max: int = limits.CLIENT_FRAME_BYTES_MAX,
) -> bytes:
    """The reply to a Select. Raises TooLarge when it does not fit into a frame."""
    body = _array(found)
    length = _READ_REST + len(body)
    if length > bytes_max:
        raise TooLarge(
            f"{len(found)} tuples make an answer of {length} bytes; the limit is {bytes_max}",
            hint="ask for fewer with `limit`, and go on with `after`",
        )
    head = _READ.pack(length, cbor.ARRAY | 5, _U64, id, SUCCEEDED)
    return b"".join((head, body, _from(read_from)))


def counted(id: int, number: int, *, read_from: Position) -> bytes:
    """The reply to a Count."""
    body = cbor.head(0, number)
    head = _READ.pack(_READ_REST + len(body), cbor.ARRAY | 5, _U64, id, SUCCEEDED)
    return b"".join((head, body, _from(read_from)))


def reply(id: int, *values: object) -> bytes:
    """Any other reply that is no error."""
    return frame(cbor2.dumps([id, SUCCEEDED, *values]))


def failed(id: int, error: QsyncError) -> bytes:
    """The reply that carries an error."""
    return frame(cbor2.dumps([id, *error_fields(error)]))


def decode(payload: bytes) -> tuple[int, list[object] | QsyncError]:
    """Return the id of a reply, and its values or its error. Raises ProtocolError."""
    values = cbor.loads_array(payload)
    if len(values) > 1:
        id, number = values[:2]
        if type(id) is int and number == SUCCEEDED:
            return id, values[2:]
        if type(id) is int and type(number) is int and number > SUCCEEDED:
            return id, read_error(number, cbor.Fields(values[2:], "error"))
    raise ProtocolError("a reply without an id or a number")


def read_committed(values: list[object]) -> CommittedReply:
    """Return the values of `committed`. Raises ProtocolError."""
    if len(values) == _COMMITTED_SIZE:
        term, at, lsn, acks, results, duplicate = values
        if (
            type(term) is type(at) is type(lsn) is type(acks) is int
            and type(duplicate) is bool
            and type(results) is list
            and min(term, at, lsn, acks) >= 0
            and (len(results) == 1 and (results[0] is None or type(results[0]) is bytes))
        ):
            return CommittedReply(Term(term), Index(at), Lsn(lsn), acks, results, duplicate)
    fields = cbor.Fields(values, "reply to a write")
    term, at, lsn = fields.term(), fields.index(), Lsn(fields.uint())
    acks, results, duplicate = fields.uint(), fields.array(limits.OPS_MAX), fields.flag()
    return CommittedReply(term, at, lsn, acks, _raw_or_none(results), duplicate)


def read_row(values: list[object]) -> tuple[bytes | None, Position]:
    """The tuple (or None) and the entry up to which the log was read. Raises ProtocolError."""
    fields = cbor.Fields(values, "reply to a get")
    found = fields.raw() if fields.present() else None
    return found, _position(fields)


def read_rows(values: list[object]) -> tuple[list[bytes], Position]:
    """The tuples and the entry up to which the log was read. Raises ProtocolError."""
    fields = cbor.Fields(values, "reply to a select")
    items = fields.array(limits.U32_MAX)  # as many as fit into a frame
    inner = cbor.Fields(items, "rows")
    return [inner.raw() for _ in items], _position(fields)


def read_count(values: list[object]) -> tuple[int, Position]:
    """The number and the entry up to which the log was read. Raises ProtocolError."""
    fields = cbor.Fields(values, "reply to a count")
    return fields.uint(), _position(fields)


def read_map(values: list[object]) -> dict[str, object]:
    """The map of a STATUS, SCHEMA or DRY_RUN. Raises ProtocolError."""
    return cbor.Fields(values, "reply").table()


def _from(position: Position) -> bytes:
    return _FROM.pack(_U64, position.index, _U64, position.term)


def _position(fields: cbor.Fields) -> Position:
    index, term = fields.index(), fields.term()
    return Position(term, index)


def _array(items: Sequence[bytes | None]) -> bytes:
    head, raw_or_nil = cbor.head(cbor.MAJOR_ARRAY, len(items)), cbor.raw_or_nil
    return head + b"".join([raw_or_nil(item) for item in items])


def _raw_or_none(items: list[object]) -> list[bytes | None]:
    inner = cbor.Fields(items, "results")
    return [inner.raw() if inner.present() else None for _ in items]
