"""The body of a transaction in the log: who asked, and the effects. Written by hand, read by cbor2.

    [session, seq, low, [[space id, primary key, tuple or nil], ...]]

and, only when the results are not simply the tuples of the effects in order, a fifth element with
one item an operation: nil, the number of the effect whose tuple it is, or the bytes themselves.
That is how a retry gets the results of the first attempt.

    [session, seq, low, nil, nil, [number of the error, message, hint, details]]

is a refusal that was recorded under the number of its request (protocol.md section 5): it has no
effects. A release that does not know such entries stops at the nil in place of the effects.
"""

import struct
from collections.abc import Sequence
from typing import Any

import cbor2

from qsync.error_details import RECORDED
from qsync.errors import Damaged, QsyncError, error_of

REFUSAL_TEXT_CHARS_MAX = 500
"""How much of the message and of the hint of a recorded refusal is kept."""
REFUSAL_DETAILS_BYTES_MAX = 1000
"""Details that are larger are left out of a recorded refusal."""

Effect = list[object]
"""`[space id, primary key bytes, tuple bytes or None]`, as in the log."""

_U16 = struct.Struct(">BH").pack
_U32 = struct.Struct(">BI").pack
_U64 = struct.Struct(">BQ").pack
_UINT, _BYTES, _ARRAY = 0x00, 0x40, 0x80
_NIL = b"\xf6"
_FOUR, _FIVE, _SIX = b"\x84", b"\x85", b"\x86"
_EFFECT = b"\x83"
_ONE_EFFECT = b"\x81\x83"
_NO_DETAILS = b"\xa0"

Asked = tuple[bytes, int, int]
"""Session, number of the request, and the number below which the session needs no outcome."""
Body = list[Any]
"""A decoded body: session, number, low, and a list of effects; perhaps more, as told above."""


def head(major: int, number: int) -> bytes:
    """A CBOR head: the major type in the upper three bits, and its argument."""
    if number < 24:
        return bytes((major | number,))
    if number < 1 << 8:
        return bytes((major | 24, number))
    if number < 1 << 16:
        return _U16(major | 25, number)
    if number < 1 << 32:
        return _U32(major | 26, number)
    return _U64(major | 27, number)


# Nearly all byte strings on the hot path are short.
_BYTES_HEADS = tuple(head(_BYTES, length) for length in range(1024))


def text(data: bytes) -> bytes:
    """A byte string."""
    length = len(data)
    return (_BYTES_HEADS[length] if length < 1024 else head(_BYTES, length)) + data


def uint(number: int) -> bytes:
    """An unsigned integer."""
    return head(_UINT, number)


def array(count: int) -> bytes:
    """The head of an array."""
    return head(_ARRAY, count)


def encode_one(asked: Asked, space: bytes, key: bytes, row: bytes) -> bytes:
    """A transaction of one put, the commonest of all. `space` is the id as CBOR."""
    session, seq, low = asked
    return b"".join((
        _FOUR, text(session), uint(seq), uint(low), _ONE_EFFECT, space, text(key), text(row),
    ))  # fmt: skip


def encode(asked: Asked, effects: Sequence[Effect], results: Sequence[bytes | None]) -> bytes:
    """A transaction. A request without a session can have no retry, so its results are left out."""
    session, seq, low = asked
    rows = [effect[2] for effect in effects]
    plain = not session or (
        len(rows) == len(results)
        and all(one is two for one, two in zip(rows, results, strict=True))
    )
    parts = [_FOUR if plain else _FIVE, text(session), uint(seq), uint(low), array(len(effects))]
    for space, key, row in effects:
        assert isinstance(space, int)
        assert isinstance(key, bytes)
        assert row is None or isinstance(row, bytes)
        parts += (_EFFECT, uint(space), text(key), _NIL if row is None else text(row))
    if not plain:
        parts.append(_answers(rows, results))
    return b"".join(parts)


def encode_refusal(asked: Asked, error: QsyncError) -> bytes:
    """A request that was refused for good. Long texts are cut, details that are too large go."""
    session, seq, low = asked
    details = cbor2.dumps({key: _plain(value) for key, value in error.details.items()})
    return b"".join((
        _SIX, text(session), uint(seq), uint(low), _NIL, _NIL, array(4), uint(error.number),
        cbor2.dumps(error.message[:REFUSAL_TEXT_CHARS_MAX]),
        cbor2.dumps(error.hint[:REFUSAL_TEXT_CHARS_MAX]),
        details if len(details) <= REFUSAL_DETAILS_BYTES_MAX else _NO_DETAILS,
    ))  # fmt: skip


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | bytes | None) else str(value)


def _answers(rows: Sequence[object], results: Sequence[bytes | None]) -> bytes:
    places = {id(row): at for at, row in enumerate(rows) if row is not None}
    parts = [array(len(results))]
    for result in results:
        if result is None:
            parts.append(_NIL)
        elif id(result) in places:
            parts.append(uint(places[id(result)]))
        else:
            parts.append(text(result))
    return b"".join(parts)


def decode_all(bodies: Sequence[bytes]) -> list[Body]:
    """The parts of many bodies: one call of the decoder for all of them is twice as fast."""
    try:
        found: list[object] = cbor2.loads(b"".join((array(len(bodies)), *bodies)))
    except cbor2.CBORDecodeError as error:
        raise Damaged(f"a transaction in the log cannot be read: {error}") from error
    read: list[Body] = []
    for text, parts in zip(bodies, found, strict=True):
        if not isinstance(parts, list):
            raise Damaged("a transaction in the log has no parts")
        if text[:1] > _FIVE:
            _refusal_of(parts)
            parts[3] = []
        read.append(parts)
    return read


def decode(body: bytes) -> Body:
    """The parts of one body."""
    (parts,) = decode_all([body])
    return parts


def refusal(body: bytes) -> QsyncError | None:
    """The refusal that it records, as the client gets it; None for a transaction."""
    return _refusal_of(cbor2.loads(body)) if body[:1] == _SIX else None


def refused_by(body: bytes) -> int:
    """The number of the error whose refusal is recorded in it; 0 of a transaction."""
    if body[:1] != _SIX:
        return 0
    number: int = cbor2.loads(body)[5][0]
    return number


def _refusal_of(parts: Sequence[object]) -> QsyncError:
    match parts:
        case [_, _, _, None, None, [int(number), str(message), str(hint), dict(details)]]:
            return error_of(number, message, hint=hint, details={**details, RECORDED: True})
        case _:
            raise Damaged("a transaction in the log has too many parts, and is no refusal")


def results(body: bytes) -> list[bytes | None]:
    """Return what the operations of a transaction returned, from its place in the log."""
    parts = cbor2.loads(body)
    if body[:1] == _SIX:
        return []
    rows = [effect[2] for effect in parts[3]]
    if len(parts) == 4:
        return rows
    return [rows[item] if isinstance(item, int) else item for item in parts[4]]
