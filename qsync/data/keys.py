"""Keys as bytes whose order is the order of the values they stand for.

A physical key is `space id (u32) | index id (u8) | part | part ...`. Every part starts with a tag,
and all tags are below 0xFF, so `prefix + 0xFF` is above every key that starts with whole parts
`prefix`. Strings are escaped (0 becomes 0 FF) and end with a 0.
"""

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

KEY_BYTES_MAX = 4096
"""Of a physical key. (The store copes with keys that are longer than LMDB's 511 bytes.)"""
ABOVE = b"\xff"
"""`prefix + ABOVE` is the end of all keys that begin with the whole parts `prefix`."""

_NIL = b"\x01"
_FALSE = b"\x02"
_TRUE = b"\x03"
_NEGATIVE = 0x04
_POSITIVE = 0x05
_NUMBER = 0x06
_STRING = b"\x07"
_BINARY = b"\x08"
_UUID = b"\x09"

INTEGER_MIN = -(1 << 63)
INTEGER_MAX = (1 << 64) - 1
_SIGN = 1 << 63
_ALL = (1 << 64) - 1
_RESIDUE_ZERO = 0x8000
_UUID_BYTES = 16

_PREFIX = struct.Struct(">IB")
_INTEGER = struct.Struct(">BQ").pack
_FLOAT = struct.Struct(">BQH").pack
_DOUBLE = struct.Struct(">d")
_BITS = struct.Struct(">Q")

Encoder = Callable[[object], bytes]


class FieldType(StrEnum):
    """Types a field may have. Those of `ENCODERS` may also be part of a key."""

    UNSIGNED = "unsigned"
    """Whole numbers from 0 to 2^64 - 1."""
    INTEGER = "integer"
    """Whole numbers from -2^63 to 2^64 - 1."""
    NUMBER = "number"
    """Whole numbers and floating point, ordered by value; no NaN in a key."""
    DOUBLE = "double"
    """Floating point of 64 bits; whole numbers are taken too."""
    STRING = "string"
    """Text in UTF-8, ordered by code point."""
    BOOLEAN = "boolean"
    """False before true."""
    VARBINARY = "varbinary"
    """Bytes, ordered byte by byte."""
    UUID = "uuid"
    """A UUID, as such, as its 16 bytes, or as text."""
    SCALAR = "scalar"
    """One value of any of the types above."""
    ANY = "any"
    """Whatever a tuple can hold, nil too."""
    ARRAY = "array"
    """A list of whatever a tuple can hold."""
    MAP = "map"
    """A map of whatever a tuple can hold."""


class Misfit(Exception):
    """A value is not of the wanted type. Callers say which field or key it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPart:
    """One part of an index: a field, counted from 0, and the type it must have."""

    field: int
    type: FieldType
    nullable: bool = False


def prefix(space: int, index: int) -> bytes:
    """The bytes that all keys of an index begin with."""
    return _PREFIX.pack(space, index)


def space_range(space: int) -> tuple[bytes, bytes]:
    """The range that holds all keys of all indexes of a space."""
    return _PREFIX.pack(space, 0), _PREFIX.pack(space + 1, 0)


def encode(parts: Sequence[KeyPart], values: Sequence[object]) -> bytes:
    """A key, or its first parts when there are fewer values."""
    if len(values) > len(parts):
        raise Misfit(f"has {len(values)} parts, the index only {len(parts)}")
    return b"".join(
        [encoder(part)(value) for part, value in zip(parts, values, strict=False)],
    )


def extractor(parts: Sequence[KeyPart]) -> Callable[[Sequence[object]], bytes]:
    """A function from the fields of a tuple to its key. Fields that are missing count as nil."""
    if len(parts) == 1:
        return _extract_one(parts[0].field, encoder(parts[0]))
    steps = [(part.field, encoder(part)) for part in parts]

    def extract(fields: Sequence[object]) -> bytes:
        count = len(fields)
        return b"".join([code(fields[at] if at < count else None) for at, code in steps])

    return extract


def encoder(part: KeyPart) -> Encoder:
    """The function that turns a value into the bytes of that part."""
    code = ENCODERS[part.type]
    if not part.nullable:
        return code

    def encode_nullable(value: object) -> bytes:
        return _NIL if value is None else code(value)

    return encode_nullable


def _extract_one(at: int, code: Encoder) -> Callable[[Sequence[object]], bytes]:
    def extract(fields: Sequence[object]) -> bytes:
        return code(fields[at] if at < len(fields) else None)

    return extract


def _misfit(wanted: str, value: object) -> Misfit:
    return Misfit(f"must be {wanted}, not {describe(value)}")


def describe(value: object) -> str:
    """Return the kind of a value, in the words of field types."""
    match value:
        case None:
            return "nil"
        case bool():
            return "boolean"
        case int() | float():
            return f"number {value}"
        case str():
            return "string"
        case bytes():
            return "varbinary"
        case list() | tuple():
            return "array"
        case dict():
            return "map"
        case _:
            return type(value).__name__


def _unsigned(value: object) -> bytes:
    if value.__class__ is int and 0 <= value <= INTEGER_MAX:
        return _INTEGER(_POSITIVE, value)
    raise _misfit("unsigned", value)


def _integer(value: object) -> bytes:
    if isinstance(value, int) and not isinstance(value, bool):
        if 0 <= value <= INTEGER_MAX:
            return _INTEGER(_POSITIVE, value)
        if INTEGER_MIN <= value < 0:
            return _INTEGER(_NEGATIVE, value - INTEGER_MIN)
    raise _misfit("integer", value)


def _number(value: object) -> bytes:
    """The nearest double, then what it is off by: integers and doubles in one exact order."""
    if isinstance(value, float):
        if math.isnan(value):
            raise Misfit("is not a number, so it has no place in an order")
        near, residue = value, 0
    elif isinstance(value, int) and not isinstance(value, bool):
        if not INTEGER_MIN <= value <= INTEGER_MAX:
            raise _misfit("number of 64 bits", value)
        near = float(value)
        residue = value - int(near)
    else:
        raise _misfit("number", value)
    (bits,) = _BITS.unpack(_DOUBLE.pack(near + 0.0))  # + 0.0: there is only one zero
    bits = bits ^ _ALL if bits & _SIGN else bits | _SIGN
    return _FLOAT(_NUMBER, bits, residue + _RESIDUE_ZERO)


def _string(value: object) -> bytes:
    if isinstance(value, str):
        try:
            text = value.encode()
        except UnicodeEncodeError as error:
            raise Misfit("is not well-formed text") from error
        if b"\0" in text:
            text = text.replace(b"\0", b"\0\xff")
        return b"".join((_STRING, text, b"\0"))
    raise _misfit("string", value)


def _varbinary(value: object) -> bytes:
    if isinstance(value, bytes):
        return b"".join((_BINARY, value.replace(b"\0", b"\0\xff"), b"\0"))
    raise _misfit("varbinary", value)


def _boolean(value: object) -> bytes:
    if value is True:
        return _TRUE
    if value is False:
        return _FALSE
    raise _misfit("boolean", value)


def _uuid(value: object) -> bytes:
    return _UUID + uuid_bytes(value)


def uuid_bytes(value: object) -> bytes:
    """The 16 bytes of a uuid given as bytes, text or UUID."""
    if isinstance(value, UUID):
        return value.bytes
    if isinstance(value, bytes) and len(value) == _UUID_BYTES:
        return value
    if isinstance(value, str):
        try:
            return UUID(value).bytes
        except ValueError:
            pass
    raise _misfit("uuid", value)


def _scalar(value: object) -> bytes:
    match value:
        case bool():
            return _boolean(value)
        case int() | float():
            return _number(value)
        case str():
            return _string(value)
        case bytes():
            return _varbinary(value)
        case UUID():
            return _uuid(value)
        case _:
            raise _misfit("scalar", value)


ENCODERS: dict[FieldType, Encoder] = {
    FieldType.UNSIGNED: _unsigned,
    FieldType.INTEGER: _integer,
    FieldType.NUMBER: _number,
    FieldType.DOUBLE: _number,
    FieldType.STRING: _string,
    FieldType.BOOLEAN: _boolean,
    FieldType.VARBINARY: _varbinary,
    FieldType.UUID: _uuid,
    FieldType.SCALAR: _scalar,
}


def decode(key: bytes) -> list[object]:
    """The parts of a key (without its prefix). Whole numbers come back as integers, uuids as bytes.

    Raises ValueError for bytes that are no key.
    """
    parts: list[object] = []
    at = 0
    try:
        while at < len(key):
            part, at = _decode_part(key, at)
            parts.append(part)
    except (IndexError, struct.error) as error:
        raise ValueError(f"{key.hex()} ends in the middle of a part") from error
    return parts


def _decode_part(key: bytes, at: int) -> tuple[object, int]:
    tag, rest = key[at : at + 1], at + 1
    if tag in _SIMPLE:
        return _SIMPLE[tag], rest
    if tag in (_STRING, _BINARY):
        return _decode_text(key, rest, is_text=tag == _STRING)
    if tag == _UUID:
        return key[rest : rest + _UUID_BYTES], rest + _UUID_BYTES
    if tag[0] in (_POSITIVE, _NEGATIVE):
        (number,) = _BITS.unpack_from(key, rest)
        return number + (INTEGER_MIN if tag[0] == _NEGATIVE else 0), rest + _BITS.size
    if tag[0] == _NUMBER:
        return _decode_number(key, rest)
    raise ValueError(f"no part of a key begins with {tag.hex()}")


def _decode_number(key: bytes, at: int) -> tuple[int | float, int]:
    bits, residue = _NEAR.unpack_from(key, at)
    bits = bits & ~_SIGN if bits & _SIGN else bits ^ _ALL
    (near,) = _DOUBLE.unpack(_BITS.pack(bits))
    whole = math.isfinite(near) and near.is_integer()
    return int(near) + residue - _RESIDUE_ZERO if whole else near, at + _NEAR.size


def _decode_text(key: bytes, at: int, *, is_text: bool) -> tuple[str | bytes, int]:
    end = at
    while key[end] or key[end + 1 : end + 2] == ABOVE:
        end += 1 + (not key[end])
    found = key[at:end].replace(b"\0\xff", b"\0")
    return found.decode() if is_text else found, end + 1


_SIMPLE: dict[bytes, object] = {_NIL: None, _FALSE: False, _TRUE: True}
_NEAR = struct.Struct(">QH")
