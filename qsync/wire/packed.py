"""A range of the log as rows of one width, for checkers: packed with little work, opened anywhere.

A row is the binary header of an entry (docs/reference/record.md) and the first bytes of its body,
filled up with whatever comes; the length in the header tells how many of them are the body's. The
CRC-32 of every whole body goes beside it. Nobody decodes a body before it is packed, and whoever
opens a million rows does it column by column.
"""

import struct
import sys
from array import array
from typing import Final, NamedTuple

from qsync.checksum import crc32
from qsync.errors import ProtocolError
from qsync.record import HEADER_SIZE, RecordDamage

FEATURE: Final = "packed-1"
"""In the greeting of a node that answers PACKED in this form."""
ENTRIES_MAX: Final = 8192
"""Rows in one answer."""
OPENING_BYTES_MAX: Final = 4096
"""How much of every body may be asked for."""
ANSWER_BYTES_MAX: Final = 512 << 10
"""Size of one answer: sending a larger one holds up everybody else. Wide rows are fewer."""
_CRC_SIZE: Final = 4
_INDEX = struct.Struct(">Q")
_LENGTH = struct.Struct(">I")
_LENGTH_AT: Final = 30


class PackedRows(NamedTuple):
    """Entries back to back. `width`: of a row of `slab`; `crcs`: of the bodies, little-endian."""

    width: int
    slab: bytes
    crcs: bytes

    @property
    def entries(self) -> int:
        """The number of entries."""
        return len(self.crcs) // _CRC_SIZE


class PackedEntries(NamedTuple):
    """Packed entries, and the byte of the batch at which to go on."""

    stop: int
    rows: PackedRows


class PackedAnswer(NamedTuple):
    """Entries `first .. reached`; none when `reached` is `first - 1`.

    `durable`: how far the log is on this node's disk. `before`: the checksum of entry `first - 1`;
    where it is not the one that the asker has, the log was cut since.
    """

    first: int
    reached: int
    durable: int
    before: int
    rows: PackedRows


def fitting(asked: int, opening: int) -> int:
    """Return how many of the given rows fit into one answer."""
    return min(asked, ENTRIES_MAX, ANSWER_BYTES_MAX // (HEADER_SIZE + opening + _CRC_SIZE))


def first_index(batch: bytes) -> int:
    """The index of the first entry of a batch. Raises RecordDamage when there is none."""
    if len(batch) < HEADER_SIZE:
        raise RecordDamage("no entry", index=-1)
    return int(_INDEX.unpack_from(batch)[0])


def last_crc(rows: PackedRows) -> int:
    """The chain checksum of the last of some rows."""
    at = len(rows.slab) - rows.width + HEADER_SIZE - _CRC_SIZE
    return int(_LENGTH.unpack_from(rows.slab, at)[0])


def follows(batch: bytes, crc: int) -> bool:
    """The first entry of a batch is chained to an entry of this checksum."""
    stop, sealed = _after(batch, 0), HEADER_SIZE - _CRC_SIZE
    chained = crc32(batch[HEADER_SIZE:stop], crc32(batch[:sealed], crc))
    return bool(chained == _LENGTH.unpack_from(batch, sealed)[0])


def skip(batch: bytes, count: int) -> int:
    """Return where the entry after that many others begins. Raises RecordDamage."""
    at = 0
    for _ in range(count):
        at = _after(batch, at)
    return at


def pack(
    batch: bytes,
    *,
    opening: int,
    at: int = 0,
    entries_max: int | None = None,
    bytes_max: int | None = None,
) -> PackedEntries:
    """Pack entries of a batch from the byte `at` on: all, or what limits allow, but at least one.

    Raises RecordDamage where it is torn.
    """
    starts: list[int] = []
    stops: list[int] = []
    end, unpack = len(batch), _LENGTH.unpack_from
    last_head, enough = end - HEADER_SIZE, end if bytes_max is None else at + bytes_max
    most = end if entries_max is None else entries_max
    while at <= last_head and at < enough and len(starts) < most:
        starts.append(at)
        at += HEADER_SIZE + unpack(batch, at + _LENGTH_AT)[0]
        stops.append(at)
    if at > end or last_head < at < end:
        raise RecordDamage("torn entry", index=-1)
    width, view = HEADER_SIZE + opening, memoryview(batch)
    crcs = array(
        "I", [crc32(view[a + HEADER_SIZE : z]) for a, z in zip(starts, stops, strict=True)]
    )
    if sys.byteorder == "big":
        crcs.byteswap()
    slab = b"".join([batch[a : a + width] for a in starts])
    if len(slab) < width * len(starts):  # the last rows want bytes beyond the end
        slab = b"".join([batch[a : a + width].ljust(width, b"\0") for a in starts])
    return PackedEntries(at, PackedRows(width, slab, crcs.tobytes()))


def none(opening: int) -> PackedRows:
    """No rows."""
    return PackedRows(HEADER_SIZE + opening, b"", b"")


def join(parts: list[PackedRows]) -> PackedRows:
    """Rows of one width, one after the other."""
    (width,) = {each.width for each in parts}
    if len(parts) == 1:
        return parts[0]
    return PackedRows(
        width, b"".join([each.slab for each in parts]), b"".join([each.crcs for each in parts])
    )


def cut(rows: PackedRows, start: int, stop: int) -> PackedRows:
    """Some of them."""
    width, slab, crcs = rows
    if stop - start == rows.entries:
        return rows
    size = _CRC_SIZE
    return PackedRows(width, slab[start * width : stop * width], crcs[start * size : stop * size])


def reply(id: int, answer: PackedAnswer) -> bytes:
    """The framed reply. A general encoder takes longer for it than packing the rows took."""
    from qsync.wire import cbor  # noqa: PLC0415 - see `read`
    from qsync.wire.frames import frame  # noqa: PLC0415 - the same

    first, reached, durable, before, rows = answer
    numbers = (id, 0, first, reached, durable, before, rows.width)
    parts = [bytes((cbor.ARRAY | len(numbers) + 2,))]
    parts += [cbor.head(0, number) for number in numbers]
    for each in (rows.slab, rows.crcs):
        parts += (cbor.head(cbor.MAJOR_BYTES, len(each)), each)
    return frame(b"".join(parts))


def read(reply: list[object]) -> PackedAnswer:
    """The answer in a reply. Raises ProtocolError when its parts do not fit together."""
    # Packing and opening rows needs no cbor2: Spark's executors only do that.
    from qsync.wire import cbor  # noqa: PLC0415

    fields = cbor.Fields(reply, "reply to packed")
    first, reached, durable, before = (fields.uint() for _ in range(4))
    rows = PackedRows(fields.uint(), fields.raw(), fields.raw())
    count = rows.entries
    if (
        rows.width < HEADER_SIZE
        or len(rows.slab) != count * rows.width
        or len(rows.crcs) != count * _CRC_SIZE
        or reached - first + 1 != count
    ):
        raise ProtocolError("reply to packed: its rows are not as many as it says")
    return PackedAnswer(first, reached, durable, before, rows)


def _after(batch: bytes, at: int) -> int:
    stop = at + HEADER_SIZE
    if stop <= len(batch):
        stop += _LENGTH.unpack_from(batch, at + _LENGTH_AT)[0]
    if stop > len(batch):
        raise RecordDamage("torn entry", index=-1)
    return int(stop)
