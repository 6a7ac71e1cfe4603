"""Keys longer than LMDB takes: stored as their beginning and a hash, read back in true order."""

import struct
from collections.abc import Iterator
from hashlib import blake2b

Pair = tuple[bytes, bytes]

KEY_MAX = 511
"""LMDB's limit. A stored key of exactly this length stands for a long one."""
HASH_SIZE = 16
HEAD_SIZE = KEY_MAX - HASH_SIZE
_LENGTH = struct.Struct(">I")


def stored_key(key: bytes) -> bytes:
    """The key under which `key` is stored."""
    if len(key) <= HEAD_SIZE:
        return key
    return key[:HEAD_SIZE] + blake2b(key, digest_size=HASH_SIZE).digest()


def stored_value(key: bytes, value: bytes) -> bytes:
    """The value under which `value` is stored: a long key comes whole before it."""
    if len(key) <= HEAD_SIZE:
        return value
    return b"".join((_LENGTH.pack(len(key)), key, value))


def read(stored: Pair) -> Pair:
    """The row that was stored."""
    key, value = stored
    if len(key) < KEY_MAX:
        return stored
    (length,) = _LENGTH.unpack_from(value)
    return value[4 : 4 + length], value[4 + length :]


def bounds(lo: bytes, hi: bytes) -> Pair:
    """Return where stored rows with `lo <= key < hi` are; a few others may be there, too."""
    last = hi if len(hi) <= HEAD_SIZE else hi[:HEAD_SIZE] + b"\xff" * (HASH_SIZE + 1)
    return lo[:HEAD_SIZE], last


def in_order(rows: Iterator[Pair], *, reverse: bool) -> Iterator[Pair]:
    """The rows of a scan in their true order.

    Only long keys that share their beginning can be out of it, for there the hash decided.
    """
    alike: list[Pair] = []
    for stored in rows:
        long = len(stored[0]) == KEY_MAX
        if alike and not (long and stored[0][:HEAD_SIZE] == alike[0][0][:HEAD_SIZE]):
            yield from sorted(alike, reverse=reverse)
            alike = []
        if long:
            alike.append(read(stored))
        else:
            yield stored
    yield from sorted(alike, reverse=reverse)
