"""Values of strangers in tuples, keys and updates: right, or refused, and never a crash."""

import contextlib
import functools
import itertools
import math
from uuid import UUID

import cbor2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from qsync.data import keys, operators, schema, tuples
from qsync.data.keys import FieldType, KeyPart, Misfit
from qsync.data.tags import BIGNUM_BYTES_MAX
from qsync.data.tuples import Field
from qsync.errors import WrongOperation, WrongTuple
from tests.fuzz.hostile import BOMBS, VALUES, bent, dumps
from tests.unit.test_keys import VALUES as FITTING
from tests.unit.test_keys import byte_order, order

# ------------------------------------------------------------------------------------------ tuples

GOOD_TUPLES = st.lists(VALUES, max_size=5).map(dumps)


@given(st.one_of(GOOD_TUPLES, bent(GOOD_TUPLES), st.binary(max_size=30), BOMBS))
@example(b"\x82\x01\xf7")
@example(b"\x9f\x01\xff\xff")
def test_bytes_are_one_tuple_that_can_be_written_again_or_are_refused(data: bytes) -> None:
    with contextlib.suppress(WrongTuple):
        fields = tuples.decode(data)
        assert repr(fields)
        with contextlib.suppress(WrongTuple):  # of some things there is no second way to write them
            again = tuples.encode(fields)
            assert len(tuples.decode(again)) == len(fields)


@pytest.mark.parametrize("bits", [8 * BIGNUM_BYTES_MAX, 8 * BIGNUM_BYTES_MAX + 1, 20_000])
def test_an_integer_has_a_limit_that_can_be_printed(bits: int) -> None:
    for number in ((1 << bits) - 1, -(1 << bits)):
        data = cbor2.dumps([number])
        if bits == 8 * BIGNUM_BYTES_MAX:
            assert tuples.decode(data) == [number]
            assert str(number)
        else:
            with pytest.raises(WrongTuple, match=f"at most {BIGNUM_BYTES_MAX} bytes"):
                tuples.decode(data)


def test_a_tuple_is_nested_only_so_deep() -> None:
    value: object = 1
    for _ in range(tuples.DEPTH_MAX - 1):
        value = [value]
    assert tuples.decode(cbor2.dumps([value])) == [value]
    with pytest.raises(WrongTuple, match="depth"):
        tuples.decode(cbor2.dumps([[value]]))


# -------------------------------------------------------------------------------------------- keys


def arrived(value: object) -> object:
    """The value as it comes out of a message; nil for one that is refused there."""
    try:
        return tuples.decode(dumps([value]))[0]
    except WrongTuple:
        return None


ARRIVED = VALUES.map(arrived)
TYPES = st.sampled_from(list(FieldType))
FORMATS = st.lists(st.tuples(TYPES, st.booleans()), max_size=4).map(
    lambda found: [
        Field(name=f"f{at}", type=type_, nullable=nullable)
        for at, (type_, nullable) in enumerate(found)
    ]
)


@given(FORMATS, st.lists(ARRIVED, max_size=5))
def test_any_values_fit_a_format_or_the_field_is_named(
    fields: list[Field], values: list[object]
) -> None:
    try:
        schema.space(id=512, name="t", fields=fields).check(values)
    except WrongTuple as error:
        assert str(error.details["field"]) in error.message  # noqa: PT017 - it may also fit


SURROGATES = st.text(alphabet=st.characters(categories=["Cs", "Ll"]), min_size=1, max_size=3)


@pytest.mark.parametrize("type_", sorted(keys.ENCODERS))
@given(value=st.one_of(ARRIVED, SURROGATES))
def test_any_value_has_a_key_or_is_a_misfit_that_can_be_told(
    type_: FieldType, value: object
) -> None:
    part = KeyPart(field=0, type=type_, nullable=True)
    try:
        key = keys.encode([part], [value])
    except Misfit as error:
        assert str(error)  # noqa: PT017 - it may also fit
    else:
        assert keys.prefix(512, 0) < keys.prefix(512, 0) + key < keys.prefix(512, 0) + keys.ABOVE


@pytest.mark.parametrize("type_", list(FITTING))
def test_a_list_sorted_by_its_keys_is_sorted(type_: FieldType) -> None:
    encode = keys.encoder(KeyPart(field=0, type=type_, nullable=True))

    @given(st.lists(st.one_of(st.none(), FITTING[type_]), max_size=30))
    def check(values: list[object]) -> None:
        by_bytes = sorted(values, key=encode)
        naively = sorted(values, key=functools.cmp_to_key(order))
        assert [encode(value) for value in by_bytes] == [encode(value) for value in naively]
        for one, two in itertools.pairwise(by_bytes):
            assert order(one, two) <= 0

    check()


NEIGHBOURS = [
    [-math.inf, -(2**63), -(2**53) - 1, -(2.0**53), -1.5, -1, -5e-324, 0, 5e-324, 1, 1.5],
    [2**53 - 1, 2.0**53, 2**53 + 1, 2**63 - 1, 2.0**63, 2**63 + 1, 2**64 - 1, 2.0**64, math.inf],
    [None, False, True, -1, 0.5, "", "\0", "\0\0", "\0\x01", "\x01", "a", "a\0", "ab", "\uffff"],
    ["\U00010000", "\U0010ffff", b"", b"\0", b"\0\xff", b"\x01", b"\xff", b"\xff\xff", UUID(int=0)],
]


@pytest.mark.parametrize("values", NEIGHBOURS, ids=range(len(NEIGHBOURS)))
def test_values_that_lie_close_together_stay_apart(values: list[object]) -> None:
    encode = keys.encoder(KeyPart(field=0, type=FieldType.SCALAR, nullable=True))
    made = [encode(value) for value in values]
    assert made == sorted(set(made))
    assert encode(-0.0) == encode(0) == encode(0.0)


PARTS = st.lists(st.sampled_from(list(FITTING)), min_size=1, max_size=3)


@given(st.data())
def test_a_key_is_read_back_as_its_values(data: st.DataObject) -> None:
    types = data.draw(PARTS)
    parts = [KeyPart(field=at, type=type_) for at, type_ in enumerate(types)]
    values = [data.draw(FITTING[type_]) for type_ in types]
    key = keys.encode(parts, values)
    found = keys.decode(key)
    assert len(found) == len(values)
    for value, back in zip(values, found, strict=True):
        wanted = value.bytes if isinstance(value, UUID) else value
        assert back == wanted
        assert isinstance(back, bool) is isinstance(wanted, bool)


@given(st.one_of(st.binary(max_size=30), bent(st.builds(keys.encode, st.just(
    [KeyPart(field=0, type=FieldType.STRING), KeyPart(field=1, type=FieldType.NUMBER)]
), st.tuples(st.text(), st.floats(allow_nan=False))))))  # fmt: skip
@example(b"\x07a")
@example(b"\x07\xff\x00")
@example(b"\x09short")
@example(b"\x06" + b"\xff" * 10)
def test_bytes_are_a_key_or_a_value_error(key: bytes) -> None:
    with contextlib.suppress(ValueError):
        assert byte_order(key, key) == 0
        assert isinstance(keys.decode(key), list)


# --------------------------------------------------------------------------------------- operators

SPACE = schema.space(
    id=512,
    name="t",
    fields=[Field(name="id", type=FieldType.UNSIGNED), Field(name="any", nullable=True)],
)
REFS = st.one_of(st.integers(-4, 5), st.sampled_from(["id", "any", "nobody"]), ARRIVED)
GOOD_OPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from("=!"), REFS, ARRIVED),
        st.tuples(st.sampled_from("+-&|^#"), REFS, st.one_of(st.integers(), ARRIVED)),
        st.tuples(st.just(":"), REFS, ARRIVED, ARRIVED, ARRIVED),
        st.tuples(st.just(":"), REFS, st.integers(-9, 9), st.integers(-9, 9), st.text(max_size=3)),
        st.tuples(ARRIVED, REFS, ARRIVED),
    ),
    max_size=4,
)


@given(st.lists(ARRIVED, max_size=4), st.one_of(GOOD_OPS, ARRIVED))
@example([1, 1e308], [("+", 2, 1e308)])
@example([1, 2**64 - 1], [("+", 2, 1)])
@example([1, 10**300], [("-", 2, 0.5)])
@example([1, "text"], [(":", 2, 2**70, -(2**70), "x")])
@example([1], [("=", 1 << 1000, 1)])
def test_operations_change_fields_or_are_refused(fields: list[object], ops: object) -> None:
    with contextlib.suppress(WrongOperation):
        after = operators.update(SPACE, fields, ops)
        assert len(after) <= operators.FIELDS_MAX
        with contextlib.suppress(WrongTuple):
            tuples.encode(after)
