"""A hash over rows in order, to compare replicas by."""

from collections.abc import Iterable
from hashlib import blake2b


def digest(rows: Iterable[tuple[bytes, bytes]]) -> str:
    """A hash over rows in order; each part is preceded by its length."""
    state = blake2b(digest_size=16)
    for key, value in rows:
        state.update(b"%d:%d:" % (len(key), len(value)))
        state.update(key)
        state.update(value)
    return state.hexdigest()
