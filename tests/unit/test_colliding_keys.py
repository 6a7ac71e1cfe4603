"""Keys of maps that were chosen to collide cost a node no time, and honest ones are read."""

from collections.abc import Callable

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qsync.data import tags, tuples
from qsync.errors import QsyncError
from qsync.wire import cbor

PRIME = (1 << 61) - 1
"""Python's hash of a number is what is left of it after a division by this."""
COUNT = tags.ODD_KEYS_MAX + 1
Read = Callable[[bytes], object]


def bignum(number: int) -> bytes:
    """All of them have the same hash."""
    value = 7 + (number + 9) * PRIME
    return b"\xc2" + cbor2.dumps(value.to_bytes(16, "big"))


def array(number: int) -> bytes:
    return cbor2.dumps([number, 1])


def fraction(number: int) -> bytes:
    return b"\xd8\x1e" + cbor2.dumps([number, 1])


def mapped(keys: list[bytes]) -> bytes:
    return cbor.head(0xA0, len(keys)) + b"".join(key + b"\xf6" for key in keys)


def endless(keys: list[bytes]) -> bytes:
    return b"\xbf" + b"".join(key + b"\xf6" for key in keys) + b"\xff"


def members(keys: list[bytes]) -> bytes:
    """A set."""
    return b"\xd9\x01\x02" + cbor.head(0x80, len(keys)) + b"".join(keys)


def in_parts(keys: list[bytes]) -> bytes:
    """Many maps, each of few keys."""
    maps = [mapped(keys[at : at + 10]) for at in range(0, len(keys), 10)]
    return cbor.head(0x80, len(maps)) + b"".join(maps)


@pytest.mark.parametrize("read", [cbor.loads, tuples.decode])
@pytest.mark.parametrize("shape", [mapped, endless, members, in_parts])
@pytest.mark.parametrize("key", [bignum, array, fraction])
def test_many_keys_that_may_collide_are_refused_before_any_is_made(
    read: Read, shape: Callable[[list[bytes]], bytes], key: Callable[[int], bytes]
) -> None:
    found = b"\x81" + shape([key(number) for number in range(COUNT)])
    with pytest.raises(QsyncError, match=f"more than {tags.ODD_KEYS_MAX} keys of maps"):
        read(found)


@pytest.mark.parametrize("read", [cbor.loads, tuples.decode])
@pytest.mark.parametrize(
    "value",
    [
        dict.fromkeys(range(5000), "a"),
        {f"name {number}": number for number in range(5000)},
        {bytes([number % 256, number >> 8]): number for number in range(5000)},
        {number / 7: None for number in range(5000)},
        {True: 1, None: 2, -5: 3},
        {(number, "a"): number for number in range(tags.ODD_KEYS_MAX)},
        {"in bytes": b"\xbf\x80\xf6" * 5000},
    ],
    ids=lambda value: str(next(iter(value))),
)
def test_numbers_texts_and_a_few_others_are_keys(read: Read, value: object) -> None:
    assert read(cbor2.dumps([value])) == [value]


KEYS = st.one_of(
    st.integers(-(1 << 64), (1 << 64) - 1), st.text(), st.binary(), st.booleans(), st.none()
) | st.tuples(st.integers(), st.text())
VALUES = st.recursive(
    KEYS | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner) | st.frozensets(KEYS),
)


def counted(value: object) -> int:
    """The same, of values: a number beyond 64 bits is a tag."""
    match value:
        case dict():
            return sum(map(odd, value)) + sum(map(counted, value.values()))
        case frozenset():
            return sum(map(odd, value))
        case list():
            return sum(map(counted, value))
        case _:
            return 0


def odd(key: object) -> bool:
    is_large = isinstance(key, int) and not -(1 << 64) <= key < 1 << 64
    return isinstance(key, tuple) or is_large


@given(VALUES, st.integers(0, 5))
def test_what_is_counted_is_what_there_is(value: object, most: int) -> None:
    assert tags._has_more_odd_keys(cbor2.dumps(value), most) is (counted(value) > most)


@given(st.binary(max_size=64))
def test_whatever_the_bytes_are_counting_ends(data: bytes) -> None:
    if tags._has_more_odd_keys(data, 0):
        assert any(4 <= byte >> 5 <= 6 for byte in data)
