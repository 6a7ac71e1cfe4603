"""Physical keys: the order of the bytes is the order of the values."""

import contextlib
import math
from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qsync.data import keys
from qsync.data.keys import FieldType, KeyPart, Misfit

UNSIGNED = st.integers(0, keys.INTEGER_MAX)
INTEGERS = st.integers(keys.INTEGER_MIN, keys.INTEGER_MAX)
# Doubles beside integers that no double can tell apart are where an order goes wrong.
NUMBERS = st.one_of(
    INTEGERS,
    st.floats(allow_nan=False),
    st.integers(2**53 - 3, 2**53 + 3),
    st.integers(-(2**63), -(2**63) + 3000),
    st.integers(2**64 - 3000, 2**64 - 1),
    st.sampled_from([float(2**53), float(2**63), float(2**64), -0.0, 0.0, 0, math.inf, -math.inf]),
)
STRINGS = st.text(alphabet=st.one_of(st.sampled_from("\0\1ab\xff"), st.characters(codec="utf-8")))
BYTES = st.one_of(st.binary(), st.lists(st.sampled_from([0, 1, 254, 255])).map(bytes))
SCALARS = st.one_of(st.booleans(), NUMBERS, STRINGS, BYTES, st.uuids())
VALUES: dict[FieldType, st.SearchStrategy[object]] = {
    FieldType.UNSIGNED: UNSIGNED,
    FieldType.INTEGER: INTEGERS,
    FieldType.NUMBER: NUMBERS,
    FieldType.DOUBLE: st.floats(allow_nan=False),
    FieldType.STRING: STRINGS,
    FieldType.BOOLEAN: st.booleans(),
    FieldType.VARBINARY: BYTES,
    FieldType.UUID: st.uuids(),
    FieldType.SCALAR: SCALARS,
}


def rank(value: object) -> tuple[int, object]:
    """The naive order: nil, booleans, numbers, strings, bytes, uuids."""
    match value:
        case None:
            return 0, 0
        case bool():
            return 1, value
        case int() | float():
            return 2, value
        case str():
            return 3, [ord(one) for one in value]
        case bytes():
            return 4, value
        case UUID():
            return 5, value.bytes
        case _:
            raise AssertionError(value)


def order(one: object, two: object) -> int:
    return (rank(one) > rank(two)) - (rank(one) < rank(two))


def byte_order(one: bytes, two: bytes) -> int:
    return (one > two) - (one < two)


@pytest.mark.parametrize("type_", list(VALUES))
def test_bytes_are_ordered_as_the_values_of_a_type(type_: FieldType) -> None:
    encode = keys.encoder(KeyPart(field=0, type=type_, nullable=True))
    values = st.one_of(st.none(), VALUES[type_])

    @given(values, values)
    def check(one: object, two: object) -> None:
        assert byte_order(encode(one), encode(two)) == order(one, two)

    check()


@given(st.data())
def test_keys_of_several_parts_are_ordered_part_by_part(data: st.DataObject) -> None:
    types = data.draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3))
    parts = [KeyPart(field=at, type=type_) for at, type_ in enumerate(types)]
    one, two = (data.draw(st.tuples(*(VALUES[type_] for type_ in types))) for _ in range(2))
    expected = next((o for a, b in zip(one, two, strict=True) if (o := order(a, b))), 0)
    assert byte_order(keys.encode(parts, one), keys.encode(parts, two)) == expected


@given(st.data())
def test_a_key_can_be_read_back_without_its_index(data: st.DataObject) -> None:
    types = data.draw(st.lists(st.sampled_from(list(VALUES)), min_size=0, max_size=3))
    parts = [KeyPart(field=at, type=type_, nullable=True) for at, type_ in enumerate(types)]
    values = data.draw(st.tuples(*(st.none() | VALUES[type_] for type_ in types)))
    raw = keys.encode(parts, values)
    plain = [keys.uuid_bytes(value) if isinstance(value, UUID) else value for value in values]
    assert keys.decode(raw) == plain
    for cut in range(len(raw)):
        with contextlib.suppress(ValueError):
            assert len(keys.decode(raw[:cut])) <= len(values)


@given(st.lists(st.one_of(STRINGS, BYTES), min_size=2, max_size=2), STRINGS)
def test_a_partial_key_covers_exactly_the_keys_that_begin_with_its_values(
    pair: list[object], second: str
) -> None:
    parts = [KeyPart(field=0, type=FieldType.SCALAR), KeyPart(field=1, type=FieldType.STRING)]
    wanted, other = pair
    first = keys.encode(parts, [wanted])
    whole = keys.encode(parts, [other, second])
    assert (first <= whole < first + keys.ABOVE) == (wanted == other)


@given(st.tuples(STRINGS, st.none() | INTEGERS))
def test_the_key_of_a_tuple_is_the_key_of_its_fields(fields: tuple[str, int | None]) -> None:
    parts = [
        KeyPart(field=1, type=FieldType.INTEGER, nullable=True),
        KeyPart(field=0, type=FieldType.STRING),
    ]
    text, number = fields
    assert keys.extractor(parts)([text, number]) == keys.encode(parts, [number, text])
    assert keys.extractor(parts[1:])([text, number]) == keys.encode(parts[1:], [text])


def test_fields_that_are_missing_count_as_nil() -> None:
    parts = [KeyPart(field=3, type=FieldType.INTEGER, nullable=True)]
    assert keys.extractor(parts)(["a"]) == keys.encode(parts, [None])


@pytest.mark.parametrize("type_", list(VALUES))
@given(value=st.one_of(st.none(), SCALARS, st.just([1]), st.just({}), st.just(math.nan)))
def test_what_is_not_of_the_type_is_a_misfit(type_: FieldType, value: object) -> None:
    fits: dict[FieldType, Callable[[object], bool]] = {
        FieldType.UNSIGNED: lambda v: type(v) is int and v >= 0,
        FieldType.INTEGER: lambda v: type(v) is int,
        FieldType.NUMBER: lambda v: type(v) in {int, float} and v == v,  # noqa: PLR0124  # not NaN
        FieldType.DOUBLE: lambda v: type(v) in {int, float} and v == v,  # noqa: PLR0124  # not NaN
        FieldType.STRING: lambda v: isinstance(v, str),
        FieldType.BOOLEAN: lambda v: isinstance(v, bool),
        FieldType.VARBINARY: lambda v: isinstance(v, bytes),
        FieldType.UUID: lambda v: isinstance(v, UUID) or (isinstance(v, bytes) and len(v) == 16),
        FieldType.SCALAR: lambda v: v is not None and not isinstance(v, list | dict) and v == v,  # noqa: PLR0124  # not NaN
    }
    encode = keys.encoder(KeyPart(field=0, type=type_))
    if fits[type_](value) or (type_ is FieldType.UUID and isinstance(value, str)):
        return
    with pytest.raises(Misfit):
        encode(value)


def test_integers_beyond_64_bits_are_a_misfit() -> None:
    for type_ in (FieldType.UNSIGNED, FieldType.INTEGER, FieldType.NUMBER):
        with pytest.raises(Misfit):
            keys.encoder(KeyPart(field=0, type=type_))(2**64)


@given(st.uuids())
def test_a_uuid_has_one_key_however_it_is_written(value: UUID) -> None:
    encode = keys.encoder(KeyPart(field=0, type=FieldType.UUID))
    assert encode(value) == encode(str(value)) == encode(value.bytes)


def test_one_and_one_point_zero_are_one_key() -> None:
    encode = keys.encoder(KeyPart(field=0, type=FieldType.NUMBER))
    assert encode(1) == encode(1.0)
    assert encode(0.0) == encode(-0.0)


def test_indexes_of_a_space_lie_side_by_side() -> None:
    low, high = keys.space_range(512)
    assert low <= keys.prefix(512, 0) < keys.prefix(512, 1) < keys.prefix(512, 255) < high
    assert high == keys.space_range(513)[0]


def test_a_key_has_at_most_the_parts_of_its_index() -> None:
    with pytest.raises(Misfit):
        keys.encode([KeyPart(field=0, type=FieldType.STRING)], ["a", "b"])
