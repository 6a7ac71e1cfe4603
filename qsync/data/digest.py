"""A fingerprint of the tuples of a space: equal on two replicas exactly if the tuples are."""

import hashlib
import struct
from collections.abc import Iterable

_DIGEST_BYTES = 16
_LENGTHS = struct.Struct(">II").pack


def digest(rows: Iterable[tuple[bytes, bytes]]) -> str:
    """Hash over keys and tuples in key order. Lengths go in too, so that nothing can shift."""
    state = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for key, row in rows:
        state.update(_LENGTHS(len(key), len(row)))
        state.update(key)
        state.update(row)
    return state.hexdigest()
