"""Messages that bring a snapshot from a leader to a follower that asked for it."""

from dataclasses import dataclass
from typing import Final

import cbor2

from election.messages import Index, Term
from qsync.errors import ProtocolError
from qsync.record import Crc
from qsync.wire import cbor, limits
from qsync.wire.frames import seal

FETCH: Final = 65
"""The types of the messages; 64 is that of sums, those of the log and of elections are below."""
PIECE: Final = 66
PIECE_BYTES: Final = 48 << 10
"""A chunk is sent in pieces: heartbeats leave between two, and the smallest frame holds one."""
HEAD_NUMBER: Final = 0
"""The chunk of this number is the head; those with rows count from 1."""
_U8: Final = 0x18
_KINDS: Final = frozenset(
    bytes((cbor.ARRAY | fields, _U8, kind)) for fields, kind in ((6, FETCH), (9, PIECE))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshot:
    """Follower to leader: send the chunks of a snapshot behind the first `taken`.

    `index` and `crc` name the snapshot of which so many are durable here, by its head; 0 for none.
    One of another head is sent from its first chunk on. `ask` comes back with every piece. The same
    `ask` again, with more chunks taken, makes room for as many more.
    """

    term: Term
    ask: int
    index: Index
    crc: Crc
    taken: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPiece:
    """Leader to follower: bytes of chunk `number`, which has `size` of them, from `offset` on.

    `chunks` and `snapshot_bytes`: the totals, 0 if they are not known. Behind the
    last chunk comes one of no bytes.
    """

    term: Term
    ask: int
    chunks: int
    snapshot_bytes: int
    number: int
    size: int
    offset: int
    data: bytes


SnapshotMessage = FetchSnapshot | SnapshotPiece


def encode(message: SnapshotMessage) -> bytes:
    """The message, framed and sealed."""
    if isinstance(message, FetchSnapshot):
        fields = [FETCH, message.term, message.ask, message.index, message.crc, message.taken]
        return seal(cbor2.dumps(fields))
    return seal(
        cbor2.dumps([
            PIECE,
            message.term,
            message.ask,
            message.chunks,
            message.snapshot_bytes,
            message.number,
            message.size,
            message.offset,
            message.data,
        ])
    )  # fmt: skip


def is_of_snapshot(payload: bytes) -> bool:
    """Return whether it is one of these, by the type behind the head of an array."""
    return payload[:3] in _KINDS


def decode(payload: bytes) -> SnapshotMessage:
    """The message in a payload. Raises ProtocolError."""
    fields = cbor.Fields(cbor.loads_array(payload), "snapshot of a peer")
    if fields.uint() == FETCH:
        return FetchSnapshot(
            term=fields.led_term(),
            ask=fields.uint(),
            index=fields.index(),
            crc=Crc(fields.uint(limits.U32_MAX)),
            taken=fields.uint(),
        )
    piece = SnapshotPiece(
        term=fields.led_term(),
        ask=fields.uint(),
        chunks=fields.uint(),
        snapshot_bytes=fields.uint(),
        number=fields.uint(),
        size=fields.uint(),
        offset=fields.uint(),
        data=fields.raw(PIECE_BYTES),
    )
    if piece.offset + len(piece.data) > piece.size or (piece.size and not piece.data):
        raise ProtocolError(f"a piece of {len(piece.data)} bytes at {piece.offset} of {piece.size}")
    return piece
