"""Tuples and formats: what is refused, and what the refusal says; update operations."""

from typing import Any

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qsync.data import operators, schema, tuples
from qsync.data.keys import FieldType
from qsync.data.tuples import Field
from qsync.errors import WrongOperation, WrongTuple

FIELDS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.lists(FIELDS))
def test_a_tuple_comes_back_as_it_was(fields: list[object]) -> None:
    assert tuples.decode(cbor2.dumps(fields)) == fields


def item(field: int | str | bytes, wider: int) -> bytes:
    """A field with its number or length in `wider` more bytes than it needs, as CBOR allows."""
    short = cbor2.dumps(field)
    major, small = short[0] & 0xE0, short[0] & 0x1F
    size = 0 if small < 24 else 1 << (small - 24)
    number = int.from_bytes(short[1 : 1 + size], "big") if size else small
    step = min(3, (small - 23 if size else 0) + wider - 1) if wider else None
    if step is None:
        return short
    return bytes((major | 24 + step,)) + number.to_bytes(1 << step, "big") + short[1 + size :]


PLAIN = st.tuples(
    st.integers(-(2**64), 2**64 - 1) | st.text(max_size=40) | st.binary(max_size=300),
    st.integers(0, 3),
)


@given(st.lists(PLAIN, max_size=23))
def test_numbers_may_be_wider_than_they_need_be(
    fields: list[tuple[int | str | bytes, int]],
) -> None:
    whole = bytes((0x80 | len(fields),)) + b"".join(item(*each) for each in fields)
    found = tuples.decode(whole)
    assert found == [field for field, _ in fields]
    assert [type(each) for each in found] == [type(field) for field, _ in fields]


@given(st.lists(PLAIN, min_size=1, max_size=5), st.data())
def test_a_tuple_without_its_end_is_refused(
    fields: list[tuple[int | str | bytes, int]], data: st.DataObject
) -> None:
    whole = bytes((0x80 | len(fields),)) + b"".join(item(*each) for each in fields)
    with pytest.raises(WrongTuple):
        tuples.decode(whole[: data.draw(st.integers(0, len(whole) - 1))])


@pytest.mark.parametrize("text", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80"])
def test_a_text_that_is_no_utf_8_is_refused(text: bytes) -> None:
    with pytest.raises(WrongTuple):
        tuples.decode(b"\x81" + bytes((0x60 | len(text),)) + text)


@given(st.lists(FIELDS), st.binary(min_size=1))
def test_bytes_behind_a_tuple_are_refused(fields: list[object], rest: bytes) -> None:
    with pytest.raises(WrongTuple):
        tuples.decode(cbor2.dumps(fields) + rest)


@pytest.mark.parametrize("rest", [b"\xf7", b"\xff", b"\xf7\xff", b"\xff\xf7", b"\xf7\xf7"])
def test_bytes_that_look_like_our_own_marks_are_refused(rest: bytes) -> None:
    with pytest.raises(WrongTuple):
        tuples.decode(cbor2.dumps([1]) + rest)


def test_undefined_may_be_a_field() -> None:
    assert tuples.decode(b"\x82\x01\xf7") == [1, cbor2.undefined]


@pytest.mark.parametrize(
    "data", [b"", b"\x82\x01", b"\x01", b"\xa0", b"\xff", b"\x81" * 5000, "text", None, 7, [1]]
)
def test_what_is_no_tuple_is_refused(data: object) -> None:
    with pytest.raises(WrongTuple):
        tuples.decode(data)


def make(*types: str) -> schema.SpaceDefinition:
    fields = [
        Field(name=f"f{n}", type=FieldType(word.rstrip("?")), nullable=word.endswith("?"))
        for n, word in enumerate(types, 1)
    ]
    return schema.space(id=512, name="t", fields=fields)


@pytest.mark.parametrize(
    ("type_", "good", "bad"),
    [
        ("unsigned", [0, 2**64 - 1], [-1, 2**64, 1.0, True, "1", None]),
        ("integer", [-(2**63), 2**64 - 1], [-(2**63) - 1, 1.5, False, b""]),
        ("number", [1, -1.5, 2**64 - 1], ["1", True, 2**64]),
        ("double", [1.5, 1], ["1", None]),
        ("string", ["", "ж"], [b"", 1, None]),
        ("boolean", [True, False], [0, 1, "true"]),
        ("varbinary", [b"", b"\0"], ["", [1]]),
        ("uuid", ["6b1c4b2e-5bd5-4b33-9f36-8d35b1b1a0a0", b"0" * 16], ["nonsense", b"0", 1]),
        ("scalar", [1, 1.5, True, "a", b"a"], [[1], {}, None]),
        ("array", [[], [1]], [{}, "a", None]),
        ("map", [{}, {"a": 1}], [[], 1]),
        ("any", [None, 1, [1], {}], []),
    ],
)
def test_a_field_takes_its_type_and_nothing_else(
    type_: str, good: list[object], bad: list[object]
) -> None:
    plain, nullable = make(type_), make(type_ + "?")
    for value in good:
        plain.check([value])
    for value in bad:
        with pytest.raises(WrongTuple) as caught:
            plain.check([value])
        assert f'field 1 ("f1", {type_})' in caught.value.message
    nullable.check([None])
    nullable.check([])


def test_fields_beyond_the_format_are_free() -> None:
    make("unsigned").check([1, "anything", None])


def test_a_missing_field_is_named() -> None:
    with pytest.raises(WrongTuple, match=r'field 2 \("f2", string\) is missing'):
        make("unsigned", "string", "integer?").check([1])


@pytest.mark.parametrize(
    ("fields", "ops", "after"),
    [
        ([1, 5], [["=", 2, "x"]], [1, "x"]),
        ([1, 5], [["=", 3, "x"]], [1, 5, "x"]),
        ([1, 5], [["=", -1, "x"]], [1, "x"]),
        ([1, 5], [["+", 2, 3], ["-", "f2", 10]], [1, -2]),
        ([1, 5], [["+", 2, 0.5]], [1, 5.5]),
        ([1, 12], [["&", 2, 6], ["|", 2, 1], ["^", 2, 7]], [1, 2]),
        ([1, 5, 6, 7], [["#", 2, 2]], [1, 7]),
        ([1, 5], [["!", 2, "x"]], [1, "x", 5]),
        ([1, "hello"], [[":", 2, 1, 1, "J"]], [1, "Jello"]),
        ([1, "hello"], [[":", 2, 3, 2, ""]], [1, "heo"]),
        ([1, "hello"], [[":", 2, -1, 0, "!"]], [1, "hello!"]),
        ([1], [["=", 3, "x"]], [1, None, "x"]),
        ([1, 5], [], [1, 5]),
    ],
)
def test_operators_change_fields_one_after_another(
    fields: list[object], ops: list[Any], after: list[object]
) -> None:
    space = make("unsigned", "any?", "any?")
    assert operators.update(space, fields, ops) == after


@pytest.mark.parametrize(
    "op",
    [
        ["?", 2, 1],
        ["=", 2],
        ["=", 2, 1, 1],
        ["=", 0, 1],
        ["=", 9, 1],
        ["=", -9, 1],
        ["=", "nobody", 1],
        ["=", True, 1],
        ["+", 2, "1"],
        ["+", 3, 1],
        ["+", 2, 2**64 - 1],
        ["&", 2, -1],
        ["#", 2, 0],
        ["!", 9, 1],
        [":", 2, 1, 1, "x"],
        [":", 3, 9, 1, "x"],
        [":", 3, 0, 1, "x"],
        [[], 2, 1],
        "=",
        7,
    ],
)
def test_operations_that_cannot_be_done_are_refused(op: object) -> None:
    with pytest.raises(WrongOperation):
        operators.update(make("unsigned", "any?"), [1, 5, "text"], [op])
