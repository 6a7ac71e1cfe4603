"""The first bytes of a transaction's body: its session, and the key of the first effect.

    [session, seq, low, [[space, key, ...], ...], ...]

A checker needs no more of it, and a damaged body tells nothing. `admin.evidence.columns` reads the
same for thousands of bodies at a time.
"""

import struct
from typing import Final, NamedTuple

from qsync.data import keys
from qsync.data.keys import FieldType, KeyPart

SESSION_BYTES_MAX: Final = 64
KEY_BYTES_MAX: Final = 256
"""How much of a key goes into its hash, besides its length."""
BYTES_MAX: Final = 384
"""A longer opening tells nothing more: all heads, a session and so much of a key fit into it."""
INT_MAX: Final = (1 << 63) - 1
"""Columns hold signed numbers of 64 bits; a larger one is damage."""

SPACE_FACTOR: Final = 0x9E37_79B9_7F4A_7C15
LENGTH_FACTOR: Final = 0xC2B2_AE3D_27D4_EB4F
WORD_FACTOR: Final = 0xFF51_AFD7_ED55_8CCD
SHIFT: Final = 29
_MASK: Final = (1 << 64) - 1
_ONE_NUMBER: Final = (KeyPart(field=0, type=FieldType.UNSIGNED),)
_UINT, _BYTES, _ARRAY = 0, 2, 4
_TRANSACTION = (0x84, 0x85)
_EFFECT = 0x83
_INLINE: Final = 24
_SIZES: Final = {24: 1, 25: 2, 26: 4, 27: 8}


class Opening(NamedTuple):
    """Their content. `space` and `key_hash` are None if there is no effect."""

    session: bytes
    seq: int
    effects: int
    space: int | None
    key_hash: int | None


def read(body: bytes, size: int | None = None) -> Opening | None:
    """Read the opening of a body; None where it is damaged.

    `size`: of all of it, where `body` is only its first `BYTES_MAX` bytes.
    """
    try:
        return _read(body, len(body) if size is None else size)
    except _Damaged:
        return None


def key_hash(space: int, key: bytes, length: int | None = None) -> int:
    """Return a signed 64-bit hash of a key; `length` where `key` is only its beginning."""
    some = key[:KEY_BYTES_MAX]
    known = len(key) if length is None else length
    found = (space * SPACE_FACTOR + known * LENGTH_FACTOR) & _MASK
    words = (len(some) + 7) // 8
    for word in struct.unpack(f"<{words}Q", some.ljust(words * 8, b"\0")):
        found = ((found ^ word) * WORD_FACTOR) & _MASK
        found ^= found >> SHIFT
    return found - (1 << 64) if found > INT_MAX else found


def number_hash(space: int, key: int) -> int:
    """Return the `key_hash` of a row whose primary key is one unsigned number."""
    return key_hash(space, keys.encode(_ONE_NUMBER, (key,)))


class _Damaged(Exception):
    """The bytes are not those of a transaction."""


def _read(body: bytes, whole: int) -> Opening:
    if body[:1] == b"" or body[0] not in _TRANSACTION:
        raise _Damaged
    size, at = _head(body, 1, _BYTES)
    session = body[at : at + size]
    if size > SESSION_BYTES_MAX:
        raise _Damaged
    seq, at = _head(body, at + size, _UINT)
    _, at = _head(body, at, _UINT)
    effects, at = _head(body, at, _ARRAY)
    if not effects:
        return Opening(session, seq, 0, None, None)
    if body[at : at + 1] != bytes((_EFFECT,)):
        raise _Damaged
    space, at = _head(body, at + 1, _UINT)
    length, at = _head(body, at, _BYTES)
    if at + length > whole:
        raise _Damaged
    key = body[at : at + min(length, KEY_BYTES_MAX)]
    return Opening(session, seq, effects, space, key_hash(space, key, length))


def _head(body: bytes, at: int, major: int) -> tuple[int, int]:
    """Return the number in a CBOR head, and where it ends."""
    if at >= len(body) or body[at] >> 5 != major:
        raise _Damaged
    info = body[at] & 31
    if info < _INLINE:
        return info, at + 1
    size = _SIZES.get(info, 0)
    stop = at + 1 + size
    number = int.from_bytes(body[at + 1 : stop], "big")
    if not size or stop > len(body) or number > INT_MAX:
        raise _Damaged
    return number, stop
