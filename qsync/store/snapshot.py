"""The folded spaces at one index in checksummed chunks: for a join, a snapshot file, a backup.

A snapshot is a head and its chunks, the same bytes wherever and whenever they are made of the same
rows: every row once, by its stored key, as it is stored. The head says where a log goes on behind
it (membership.md M6 a) and the sums over all rows, so that a receiver of the last chunk knows
whether anything is missing. Sessions, schema and settings are rows like all others.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Protocol

from election.messages import Index
from qsync.checksum import crc32
from qsync.core import logstart
from qsync.core.logstart import LogStart
from qsync.errors import Damaged
from qsync.record import Crc
from qsync.store import seals
from qsync.store.seals import SealChanges, Sums

CHUNK_BYTES: Final = 1 << 20
"""A chunk ends with the row that makes it so long; one row may be longer."""
HEAD_BYTES_MAX: Final = 4 << 20
CHUNK_BYTES_MAX: Final = 1 << 30
"""What is longer was not made here."""

_HEAD_MAGIC, _CHUNK_MAGIC = b"QSSH", b"QSSC"
VERSION: Final = 1
# magic, version, bytes of the start, groups.
_HEAD = struct.Struct(">4sHII")
# bytes of the group's name, rows, both sums.
_GROUP = struct.Struct(">BQQQ")
# magic, number, rows.
_CHUNK = struct.Struct(">4sQI")
_ROW = struct.Struct(">II")
_CRC = struct.Struct(">I")


StoredRow = tuple[bytes, bytes]
"""A stored key, and what is stored there with its checksum (see `longkeys` and `seals`)."""


class RowsView(Protocol):
    """All rows as they were at one moment, for any thread, whatever is folded meanwhile."""

    folded: Index
    """The index at which they hold."""
    sums: Sums
    """What they add up to."""

    def rows(self, after: bytes, bytes_max: int) -> list[StoredRow]:
        """Rows behind the stored key `after`, in its order, up to the one that makes it so long.

        None behind the last. Raises SnapshotLost when the view has ended, Damaged.
        """

    def close(self) -> None:
        """The view is of no more use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotHead:
    """The head: all rows of the chunks are exact at `start`, and add up to `sums`."""

    start: LogStart
    sums: Sums

    def alone(self) -> "SnapshotHead":
        """The head without the facts about older entries: the same on every node."""
        return replace(self, start=self.start.alone())

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(each.rows for each in self.sums.groups.values())

    def encode(self) -> bytes:
        """Encode it with a checksum."""
        start = self.start.encode()
        parts = [_HEAD.pack(_HEAD_MAGIC, VERSION, len(start), len(self.sums.groups)), start]
        for group, each in sorted(self.sums.groups.items()):
            parts += (_GROUP.pack(len(group), *each), group)
        return _sealed(parts)


@dataclass(frozen=True, slots=True)
class SnapshotName:
    """Which snapshot it is: the index, and the checksum of its head (`SnapshotHead.alone`)."""

    index: Index
    crc: Crc


class SnapshotChunk(NamedTuple):
    """The rows of chunk `number`, which count from 1, in key order."""

    number: int
    rows: list[StoredRow]

    def encode(self) -> bytes:
        """Encode it with a checksum."""
        parts = [_CHUNK.pack(_CHUNK_MAGIC, self.number, len(self.rows))]
        for key, stored in self.rows:
            parts += (_ROW.pack(len(key), len(stored)), key, stored)
        return _sealed(parts)


class RowsImport(Protocol):
    """Rows of a snapshot on their way in, beside those that count; resumed after a stop."""

    head: SnapshotHead

    finished: bool
    """All rows are here, and no chunk is taken any more."""

    @property
    def taken(self) -> int:
        """The number of chunks that are here, durably; None where all are."""

    def take_chunk(self, chunk: bytes) -> None:
        """The next chunk. Raises Damaged, StoreError, and nothing of it was taken."""

    def finish(self) -> None:
        """No chunk is left. Raises Damaged when the rows are not those of the head."""

    def discard(self) -> None:
        """Forget what was taken. Raises StoreError."""

    def remove(self) -> None:
        """Forget what was taken, for good. Raises StoreError."""

    def close(self) -> None:
        """Release it; what was taken stays."""


def chunks(view: RowsView, *, first: int = 1) -> Iterator[SnapshotChunk]:
    """The chunks of a view from number `first` on; those before it are read over."""
    number, after = 1, b""
    while rows := view.rows(after, CHUNK_BYTES):
        if number >= first:
            yield SnapshotChunk(number, rows)
        number, after = number + 1, rows[-1][0]


def decode_head(text: bytes) -> SnapshotHead:
    """A head that was encoded. Raises Damaged."""
    body = _opened(text, _HEAD_MAGIC, least=_HEAD.size, most=HEAD_BYTES_MAX, what="the head")
    try:
        _, version, length, count = _HEAD.unpack_from(body)
        if version != VERSION:
            raise Damaged(f"a snapshot of form {version}, this release knows {VERSION}")
        at = _HEAD.size + length
        start = logstart.decode(body[_HEAD.size : at])
        groups: list[tuple[bytes, seals.Sum]] = []
        for _ in range(count):
            size, rows, once, squared = _GROUP.unpack_from(body, at)
            at += _GROUP.size + size
            groups.append((body[at - size : at], seals.Sum(rows, once, squared)))
    except struct.error as error:
        raise Damaged(f"the head of a snapshot is no head: {error}") from error
    return SnapshotHead(start=start, sums=Sums(groups))


def name_of(head: bytes) -> SnapshotName:
    """Return the name of an encoded head, the same for every form of it. Raises Damaged."""
    found = decode_head(head)
    text = found.alone().encode() if found.start.terms else head
    return SnapshotName(found.start.index, Crc(_CRC.unpack(text[-_CRC.size :])[0]))


def check_seal(chunk: bytes) -> None:
    """Raises Damaged unless a chunk is, as a whole, as it was encoded."""
    _opened(chunk, _CHUNK_MAGIC, least=_CHUNK.size, most=CHUNK_BYTES_MAX, what="a chunk")


def rows_in(chunk: bytes) -> int:
    """Return how many rows a chunk says that it has."""
    return int(_CHUNK.unpack_from(chunk)[2])


def decode_chunk(text: bytes) -> SnapshotChunk:
    """A chunk that was encoded; every row has the seal of the store. Raises Damaged."""
    body = _opened(text, _CHUNK_MAGIC, least=_CHUNK.size, most=CHUNK_BYTES_MAX, what="a chunk")
    _, number, count = _CHUNK.unpack_from(body)
    at, rows, before = _CHUNK.size, list[StoredRow](), b""
    try:
        for _ in range(count):
            keys, values = _ROW.unpack_from(body, at)
            at += _ROW.size + keys + values
            key, stored = body[at - values - keys : at - values], body[at - values : at]
            if key <= before or len(stored) != values or seals.opened(key, stored) is None:
                raise Damaged(f"a row of chunk {number} is not as it was stored")
            rows.append((key, stored))
            before = key
    except struct.error as error:
        raise Damaged(f"chunk {number} of a snapshot is no chunk: {error}") from error
    if not rows or at != len(body):
        raise Damaged(f"chunk {number} of a snapshot has another length than it says")
    return SnapshotChunk(number, rows)


def added_up(sums: Sums, rows: list[StoredRow]) -> Sums:
    """`sums` with more rows, all of them new."""
    found, changes = Sums(sums.groups.items()), SealChanges()
    for key, stored in rows:
        changes.put(key, seals.seal_of(stored))
    found.add(changes)
    return found


def check_next(head: SnapshotHead, taken: int, chunk: SnapshotChunk) -> None:
    """Raises Damaged unless it is the next one of the snapshot, as far as it can tell."""
    if chunk.number != taken + 1:
        raise Damaged(
            f"chunk {chunk.number} of the snapshot at {head.start.index} follows chunk {taken}"
        )


def check_all(head: SnapshotHead, found: Sums) -> None:
    """Raises Damaged unless these are all rows of the snapshot."""
    if found != head.sums:
        count = sum(each.rows for each in found.groups.values())
        raise Damaged(
            f"the rows of the snapshot at {head.start.index} are not those that it was made of: "
            f"{count} of {head.rows}"
        )


def _sealed(parts: list[bytes]) -> bytes:
    body = b"".join(parts)
    return body + _CRC.pack(crc32(body))


def _opened(text: bytes, magic: bytes, *, least: int, most: int, what: str) -> bytes:
    if not least + _CRC.size <= len(text) <= most or not text.startswith(magic):
        raise Damaged(f"{len(text)} bytes are not {what} of a snapshot")
    body, (checksum,) = text[: -_CRC.size], _CRC.unpack_from(text, len(text) - _CRC.size)
    if crc32(body) != checksum:
        raise Damaged(f"the checksum of {what} of a snapshot does not hold")
    return body
