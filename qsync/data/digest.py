"""A fingerprint of the tuples of a space: equal on two replicas exactly if the tuples are."""

import hashlib
import struct
import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from qsync.data.draft import Readable
from qsync.data.reading import SLICE_BYTES

_DIGEST_BYTES = 16
_LENGTHS = struct.Struct(">II").pack
_ENDLESS: Final = sys.maxsize

SpaceRange = tuple[str, bytes, bytes]
"""The name of a space, and the range of the physical keys of its tuples."""


def digest(rows: Iterable[tuple[bytes, bytes]]) -> str:
    """Hash over keys and tuples in key order. Lengths go in too, so that nothing can shift."""
    state = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for key, row in rows:
        state.update(_LENGTHS(len(key), len(row)))
        state.update(key)
        state.update(row)
    return state.hexdigest()


class DigestScan:
    """The fingerprints of some spaces, slice by slice.

    As with `reading.Scan` the index of the reader has to be pinned until all is read.
    """

    __slots__ = ("_lo", "_place", "_reader", "_spaces", "_state", "found")

    def __init__(self, reader: Readable, spaces: Sequence[SpaceRange]) -> None:
        self._reader = reader
        self._spaces = spaces
        self._place = 0
        """How many spaces are done."""
        self._lo = spaces[0][1] if spaces else b""
        self._state = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        self.found: dict[str, str] = {}
        """The digests of the finished spaces, by name."""

    def read(self, rows_max: int = _ENDLESS) -> bool:
        """Read one slice over spaces: at most this many rows or `SLICE_BYTES`; true at the end."""
        left, room = rows_max, SLICE_BYTES
        while self._place < len(self._spaces):
            name, _, hi = self._spaces[self._place]
            looked, last = 0, b""
            for key, row in islice(self._reader.scan(self._lo, hi), left):
                looked, last = looked + 1, key
                room -= len(key) + len(row)
                self._state.update(_LENGTHS(len(key), len(row)))
                self._state.update(key)
                self._state.update(row)
                if room <= 0:
                    break
            if looked == left or room <= 0:
                self._lo = last + b"\0"
                return False
            left -= looked
            self._end(name)
        return True

    def _end(self, name: str) -> None:
        self.found[name] = self._state.hexdigest()
        self._place += 1
        self._state = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        if self._place < len(self._spaces):
            self._lo = self._spaces[self._place][1]
