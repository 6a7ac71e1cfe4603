"""Tuples: CBOR arrays, checked against a format once, then kept as the bytes they came in."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import cbor2

from qsync.data import keys, tags
from qsync.data.keys import FieldType, Misfit
from qsync.errors import WrongTuple

DEPTH_MAX = 64
"""Nesting of arrays and maps in a tuple, itself included."""

_INTEGERS = (keys.INTEGER_MIN, keys.INTEGER_MAX)
_UNDEFINED = 0xF7
_PAIR = b"\x82"
_END = b"\xf7"
_OPEN = b"\x9f"
_BREAK = b"\xff"
# The first byte of an item: its major type, and a small number or the size of what follows.
_MAJOR: Final = 0xE0
_UINT, _NEGATIVE, _BYTES, _TEXT, _ARRAY = 0x00, 0x20, 0x40, 0x60, 0x80
_ARGUMENT_NEXT: Final = 24
_ARGUMENT_LAST: Final = 27


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A named and typed field of a format."""

    name: str
    type: FieldType = FieldType.ANY
    nullable: bool = False


_CLASSES: dict[FieldType, frozenset[type] | None] = {
    FieldType.UNSIGNED: frozenset({int}),
    FieldType.INTEGER: frozenset({int}),
    FieldType.NUMBER: frozenset({int, float}),
    FieldType.DOUBLE: frozenset({int, float}),
    FieldType.STRING: frozenset({str}),
    FieldType.BOOLEAN: frozenset({bool}),
    FieldType.VARBINARY: frozenset({bytes}),
    FieldType.UUID: frozenset({bytes, str, UUID}),
    FieldType.SCALAR: frozenset({bool, int, float, str, bytes, UUID}),
    FieldType.ANY: None,
    FieldType.ARRAY: frozenset({list}),
    FieldType.MAP: frozenset({dict}),
}

Check = Callable[[Sequence[object]], None]


def decode(data: object) -> list[object]:
    """The fields of a tuple that came from outside. Raises WrongTuple for anything else."""
    if not isinstance(data, bytes):
        raise WrongTuple(f"a tuple travels as bytes, not as {keys.describe(data)}")
    plain = _plain(data)
    if plain is not None:
        return plain
    try:
        # CBOR readers ignore what follows the first item, so let something known follow it.
        pair = tags.loads(b"".join((_PAIR, data, _END)), depth_max=DEPTH_MAX + 1)
        if pair[1] is not cbor2.undefined or not (_UNDEFINED not in data or _is_one_item(data)):
            raise WrongTuple("bytes follow the end of the tuple")
    except (cbor2.CBORDecodeError, ValueError, TypeError, RecursionError) as error:
        raise WrongTuple(f"not a CBOR array: {error.__cause__ or error}") from error
    fields = pair[0]
    if fields.__class__ is not list:
        raise WrongTuple(f"a tuple is an array, not {keys.describe(fields)}")
    return fields


def _plain(data: bytes) -> list[object] | None:
    """The fields of a short array of integers, texts and bytes; None: a reader has to look at it.

    Most tuples are such, and to have one read, and to be sure that it is alone, takes several
    times as long.
    """
    size = len(data)
    if size == 0 or not _ARRAY <= data[0] < _ARRAY | _ARGUMENT_NEXT:
        return None
    fields: list[object] = []
    at = 1
    for _ in range(data[0] - _ARRAY):
        if at >= size:
            return None
        at = _plain_field(data, at, fields)
        if at == 0:
            return None
    return fields if at == size else None


def _plain_field(data: bytes, at: int, fields: list[object]) -> int:
    """Add the item at `at`; where the next one begins, 0 if it is for a reader to look at."""
    major, number = data[at] & _MAJOR, data[at] & ~_MAJOR
    at += 1
    if number >= _ARGUMENT_NEXT:
        begin = at
        at += 1 << (number - _ARGUMENT_NEXT)
        if number > _ARGUMENT_LAST or at > len(data):
            return 0
        number = int.from_bytes(data[begin:at], "big")
    if major == _UINT:
        fields.append(number)
    elif major == _NEGATIVE:
        fields.append(-1 - number)
    elif at + number > len(data):
        return 0
    elif major == _BYTES:
        fields.append(data[at : at + number])
        at += number
    elif major == _TEXT and data[at : at + number].isascii():
        fields.append(data[at : at + number].decode())
        at += number
    else:
        return 0
    return at


def _is_one_item(data: bytes) -> bool:
    """Trailing bytes cannot both begin with "undefined" (above) and with a break."""
    return len(cbor2.loads(b"".join((_OPEN, data, _BREAK)))) == 1


def encode(fields: Sequence[object]) -> bytes:
    """The bytes of a tuple made here (by an update, by the schema)."""
    try:
        return cbor2.dumps(fields)
    except (cbor2.CBOREncodeError, ValueError, TypeError, RecursionError) as error:
        raise WrongTuple(f"cannot be written as CBOR: {error}") from error


def stored(data: bytes) -> list[object]:
    """The fields of a tuple that was checked before it was stored."""
    return cbor2.loads(data)  # type: ignore[no-any-return]  # only arrays are ever stored


def alike(held: bytes, expected: object) -> bool:
    """Return whether a stored tuple and one from outside are the same, however encoded."""
    return encode(stored(held)) == encode(decode(expected))


def checker(space: str, fields: Sequence[Field]) -> Check:
    """A function that raises WrongTuple for a tuple that does not fit the format."""
    if all(field.type is FieldType.ANY and field.nullable for field in fields):
        return _anything
    rules = [(_quick(field), _lowest(field), field) for field in fields]
    required = max((n for n, field in enumerate(fields, 1) if not field.nullable), default=0)

    def check(values: Sequence[object]) -> None:
        if len(values) < required:
            raise _wrong(space, fields, len(values), "is missing")
        for at, (value, (quick, low, field)) in enumerate(zip(values, rules, strict=False)):
            if value.__class__ in quick:
                continue
            if value.__class__ is int and low <= value <= keys.INTEGER_MAX:
                continue
            try:
                check_value(value, field)
            except Misfit as error:
                raise _wrong(space, fields, at, str(error)) from None

    return check


def _quick(field: Field) -> frozenset[type]:
    """Classes of which every value fits the field."""
    classes = _CLASSES[field.type]
    if classes is None:
        return frozenset({bool, int, float, str, bytes, list, dict, type(None)})
    if field.type is FieldType.UUID:
        return frozenset()
    return classes - {int}


def _lowest(field: Field) -> int:
    """The least integer that fits the field; one above all integers if none does."""
    classes = _CLASSES[field.type]
    if classes is not None and int not in classes:
        return keys.INTEGER_MAX + 1
    return 0 if field.type is FieldType.UNSIGNED else keys.INTEGER_MIN


def _wrong(space: str, fields: Sequence[Field], at: int, why: str) -> WrongTuple:
    field = fields[at]
    return WrongTuple(
        f'space "{space}": field {at + 1} ("{field.name}", {field.type}) {why}',
        details={"space": space, "field": field.name, "wanted": str(field.type)},
    )


def check_value(value: object, field: Field) -> None:
    """Raise Misfit when the value is not of the field's type."""
    if value is None:
        if field.nullable or field.type is FieldType.ANY:
            return
        raise Misfit(f"must be {field.type}, not nil")
    classes = _CLASSES[field.type]
    if classes is None:
        return
    if value.__class__ not in classes:
        raise Misfit(f"must be {field.type}, not {keys.describe(value)}")
    if isinstance(value, int) and not isinstance(value, bool):
        low, high = _INTEGERS
        if field.type is FieldType.UNSIGNED:
            low = 0
        if not low <= value <= high:
            raise Misfit(f"must be {field.type}, not {value}")
    elif field.type is FieldType.UUID:
        keys.uuid_bytes(value)


def _anything(_values: Sequence[object]) -> None:
    """A space without a format takes any tuple."""
