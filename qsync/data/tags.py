"""CBOR from outside, without what makes cycles, programs, monsters, or maps that take minutes.

Python keeps a map as a hash table, and only text and bytes have hashes that nobody can foresee.
With a hundred thousand other keys that were chosen to collide, one message would take minutes.
"""

from typing import Any, Final, NoReturn

import cbor2

BIGNUM_BYTES_MAX: Final = 128
"""Of an integer beyond 64 bits. Longer ones could not even be written into an error message."""
_POSITIVE, _NEGATIVE = 2, 3
LONG_BIGNUMS: Final = tuple(
    bytes((tag, head)) for tag in (0xC0 | _POSITIVE, 0xC0 | _NEGATIVE) for head in range(0x58, 0x5C)
)
"""How integers begin that may be longer than that."""
ODD_KEYS_MAX: Final = 1000
"""Of one message or tuple: keys of maps, and members of sets, that are arrays, maps or tags. Each
number of 64 bits can collide with few others only."""


def _refused(_content: object, _immutable: bool) -> NoReturn:  # noqa: FBT001 - cbor2 calls it so
    raise ValueError("this tag is not allowed")


def _positive(content: object, _immutable: bool) -> int:  # noqa: FBT001 - cbor2 calls it so
    if isinstance(content, bytes) and len(content) <= BIGNUM_BYTES_MAX:
        return int.from_bytes(content, "big")
    raise ValueError(f"an integer has at most {BIGNUM_BYTES_MAX} bytes")


def _negative(content: object, immutable: bool) -> int:  # noqa: FBT001 - cbor2 calls it so
    return -1 - _positive(content, immutable)


# 28, 29: shared references can make cycles. 35, 36: regular expressions and MIME parts are parsed
# at a price.
DECODERS: Final = {
    _POSITIVE: _positive,
    _NEGATIVE: _negative,
    **dict.fromkeys((28, 29, 35, 36), _refused),
}
"""For `semantic_decoders` of every decoder that reads what strangers sent."""


def loads(data: bytes, *, depth_max: int) -> Any:  # noqa: ANN401 - whatever CBOR can say
    """Decode one item from outside. Raises CBORError, and what else its values make of it."""
    try:
        return cbor2.loads(
            data, semantic_decoders=DECODERS, max_depth=depth_max, strict_hashable_types=True
        )
    except cbor2.CBORError:
        if _has_more_odd_keys(data, ODD_KEYS_MAX):
            raise ValueError(
                f"more than {ODD_KEYS_MAX} keys of maps are neither text nor numbers"
            ) from None
        return cbor2.loads(data, semantic_decoders=DECODERS, max_depth=depth_max)


_BYTES, _TEXT, _ARRAY, _MAP, _TAG, _WORD = range(2, 8)
"""Major types: what an item is, in the upper bits of its first byte."""
_SMALL: Final = 24
"""A number below it is in the first byte itself; from it on so many bytes behind hold it."""
_ENDLESS: Final = 31
_NOT_ODD: Final = bytes(each for each in range(256) if not _ARRAY <= each >> 5 <= _TAG)
"""The bytes that begin no array, map or tag."""
_SET: Final = 258
_KEY, _VALUE, _MEMBER, _PLAIN = range(4)
"""What the next item of an open container is."""
_UNKNOWN: Final = -1
"""How many items follow: up to a break."""


def _has_more_odd_keys(data: bytes, most: int) -> bool:
    """Count the keys that are arrays, maps or tags, without making any of them.

    Each begins with a byte of its own, so what has few such bytes is not read.
    """
    if len(data.translate(None, delete=_NOT_ODD)) <= most:
        return False
    at, odd, tag = 0, 0, 0
    opened: list[list[int]] = []
    while at < len(data) and odd <= most:
        major, number, at = _head(data, at)
        if major == _WORD and number == _UNKNOWN:
            del opened[-1:]
            continue
        if opened:
            odd += _enters(opened[-1], major)
        if major in (_BYTES, _TEXT):
            at += max(number, 0)
        inner = _container(major, number, is_set=tag == _SET)
        if inner is not None:
            opened.append(inner)
        tag = number if major == _TAG else 0
        while opened and not opened[-1][0]:
            opened.pop()
    return odd > most


def _head(data: bytes, at: int) -> tuple[int, int, int]:
    """Return an item's major type and number, and where what is behind them begins."""
    major, low = data[at] >> 5, data[at] & _ENDLESS
    at += 1
    if low == _ENDLESS:
        return major, _UNKNOWN, at
    if low < _SMALL:
        return major, low, at
    end = at + (1 << (low - _SMALL))
    return major, int.from_bytes(data[at:end], "big"), end


def _container(major: int, number: int, *, is_set: bool) -> list[int] | None:
    """Return how many items follow in an item, and what the first is; None where none do."""
    if major == _ARRAY:
        return [number, _MEMBER if is_set else _PLAIN]
    if major == _MAP:
        return [max(number, 2 * number), _KEY]
    if major == _TAG:
        return [1, _PLAIN]
    return [_UNKNOWN, _PLAIN] if number == _UNKNOWN else None


def _enters(container: list[int], major: int) -> bool:
    """Count an item of a container; return whether it is an odd key."""
    left, what = container
    container[0] = left - 1 if left > 0 else left
    container[1] = {_KEY: _VALUE, _VALUE: _KEY}.get(what, what)
    return what in (_KEY, _MEMBER) and major in (_ARRAY, _MAP, _TAG)
