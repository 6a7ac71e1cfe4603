"""What strangers send: any bytes, odd CBOR, and good messages that are slightly wrong."""

import datetime as dt
import math
import struct
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import cbor2
from hypothesis import strategies as st

# More digits than Python turns into text; that is why it is not listed as it is.
HUGE = st.just(20_000).map(lambda bits: 1 << bits)
NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.integers(-(2**65), 2**65),
    st.sampled_from(
        [2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1]
    ),
    HUGE,
    st.floats(),
    st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 1e308, 5e-324]),
)
TEXTS = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["", "\0", "²", "٣", "é", "\u2028", "\ufeff", "a" * 300, "0", "-1", "NaN"]),
)
EXOTIC = st.sampled_from([
    Decimal("1E+1000000"),
    Decimal("NaN"),
    Fraction(1, 3),
    dt.datetime(1, 1, 1, tzinfo=dt.UTC),
    dt.date(9999, 12, 31),
    UUID(int=7),
    cbor2.undefined,
    cbor2.CBORSimpleValue(99),
    cbor2.CBORTag(9999, 1),
    {1, 2},
    frozenset({b"x"}),
    complex(1, 2),
])  # fmt: skip
LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS, st.binary(max_size=20), EXOTIC)
KEYS = st.one_of(st.text(max_size=4), st.integers(), st.binary(max_size=3), st.none(), st.floats())
VALUES: st.SearchStrategy[object] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)

# Bytes that decoders have stumbled over somewhere: deep, cyclic, endless, with prices or surprises.
BOMB_BYTES = [
    b"\x81" * 2_000,
    b"\x81" * 100 + b"\x01",
    b"\xa1\x01" * 1_000,
    b"\xd8\x1c\x81\xd8\x1d\x00",  # an array in itself
    b"\xd8\x1c\xa1\x01\xd8\x1d\x00",  # a map in itself
    b"\x82\xd8\x1c\x81\x01\xd8\x1d\x00",  # one array twice
    b"\x9b" + b"\xff" * 8,
    b"\x9b\x00\x00\x00\x10\x00\x00\x00\x00",
    b"\xbb\x00\x00\x00\x10\x00\x00\x00\x00",
    b"\x5b\x7f" + b"\xff" * 7,
    b"\x7b\x00\x00\x00\x10\x00\x00\x00\x00",
    b"\xc2\x59\x08\x00" + b"\xff" * 2048,  # a number of 16384 bits
    b"\xc3\x59\x08\x00" + b"\xff" * 2048,
    b"\xc4\x82\x1a\x7f\xff\xff\xff\x01",  # 1e2147483647
    b"\xc5\x82\x1a\x7f\xff\xff\xff\x01",
    b"\xd8\x1e\x82\x01\x00",  # one divided by zero
    b"\xd8\x23\x63(a(",  # a regular expression that is none
    b"\xd8\x23\x6f(a{9999}){9999}",
    b"\xd8\x24\x61a",  # MIME
    b"\xc1\xfb\x7f\xf0\x00\x00\x00\x00\x00\x00",  # the time at infinity
    b"\xc0\x63abc",
    b"\xd9\x01\x00\x82\x61a\xd8\x19\x09",  # a reference to a string that is not there
    b"\xa1\xf9\x7e\x00\x01",  # a map by NaN
    b"\xf8\x18",
    b"\x5f\x41a\xff",
    b"\x63\xed\xa0\x80",  # half of a surrogate pair
]  # fmt: skip
BOMBS = st.sampled_from(BOMB_BYTES)


def dumps(value: object) -> bytes:
    """CBOR of a value; of what it has no word for, as text."""
    return cbor2.dumps(value, default=lambda encoder, odd: encoder.encode(str(odd)))


def framed(payload: bytes) -> bytes:
    """One payload with its length."""
    return struct.pack(">I", len(payload)) + payload


@st.composite
def bent(draw: st.DrawFn, payloads: st.SearchStrategy[bytes]) -> bytes:
    """A good payload with a few bytes changed, missing, or too many."""
    data = bytearray(draw(payloads))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        match draw(st.sampled_from(["flip", "set", "cut", "insert", "drop", "repeat"])):
            case "flip" if data:
                data[at] ^= 1 << draw(st.integers(0, 7))
            case "set" if data:
                data[at] = draw(st.integers(0, 255))
            case "cut":
                del data[at:]
            case "insert":
                data[at:at] = draw(st.one_of(st.binary(max_size=4), BOMBS))
            case "drop":
                del data[at : at + draw(st.integers(1, 8))]
            case _:
                data[at:at] = data[at : at + 16]
    return bytes(data)


@st.composite
def swapped(draw: st.DrawFn, messages: st.SearchStrategy[Sequence[object]]) -> bytes:
    """A good message with a field or a part of one replaced by anything, or one too few or many."""
    message = root = copied(draw(messages))
    for _ in range(draw(st.integers(0, 3))):
        if isinstance(message, list) and message:
            inner = message[draw(st.integers(0, len(message) - 1))]
            if isinstance(inner, list) and inner:
                message = inner
    assert isinstance(message, list)
    at = draw(st.integers(0, len(message)))
    match draw(st.sampled_from(["replace", "replace", "replace", "drop", "insert"])):
        case "insert":
            message.insert(at, draw(VALUES))
        case "drop":
            del message[at:]
        case _:
            message[at : at + 1] = [draw(VALUES)]
    return dumps(root)


def copied(value: object) -> object:
    """Lists all the way down, so that each can be changed."""
    if isinstance(value, list | tuple):
        return [copied(each) for each in value]
    return value
