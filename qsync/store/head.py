"""What stands beside the folded rows: their format, and the index at which they are exact."""

import struct
from typing import Final, NamedTuple, Self

from election.messages import Index
from qsync.store import seals

ROWS, META = b"rows", b"meta"
HEAD_KEY, SUM_KEY = b"folded", b"sum:"
FORMAT: Final = 2
"""Rows of format 1 had no checksums; they are rebuilt from the log."""
_HEAD = struct.Struct(">QQ")


class Head(NamedTuple):
    """The index up to which everything is in the rows."""

    folded: Index

    def pack(self) -> bytes:
        """Encode it as it is stored, behind the format."""
        body = _HEAD.pack(FORMAT, self.folded)
        return seals.sealed(body, seals.seal(HEAD_KEY, body))

    @classmethod
    def unpack(cls, stored: bytes) -> Self | None:
        """Decode it; None when it is of another format, or damaged."""
        body = seals.opened(HEAD_KEY, stored)
        if body is None or len(body) != _HEAD.size:
            return None
        version, folded = _HEAD.unpack(body)
        return cls(Index(folded)) if version == FORMAT else None
