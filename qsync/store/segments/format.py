"""The bytes of a segment: its header, its records, and what of a record may be blank.

Everything is laid out in sectors, which a disk writes whole or not at all: a header is one, a
record begins with one and fills its last one up. Segments are zeros before they are written, and no
sector of a record is ever all zeros. So a sector that is was not written: that, and nothing else,
tells a torn record from a damaged one (docs/decisions/0011-the-log-is-a-sequence-of-files.md).
"""

import struct
from pathlib import Path
from typing import Final, NamedTuple

from qsync.checksum import crc32
from qsync.errors import StoreError, WrongFormat
from qsync.store import meta
from qsync.store.meta import Meta

SECTOR: Final = 512
"""What a disk writes whole or not at all."""
VERSION: Final = 1
APPEND, CUT, END = 1, 2, 3
"""A record's kind: entries, or none; the same behind a cut; the segment goes on in the next one."""
NOT_MASKED: Final = 0x80
"""Beside the kind: there is no byte to mask with, so sectors of the record may be blank."""

_SEGMENT_MAGIC: Final = b"qsynclog"
_RECORD_MAGIC: Final = b"\xc5QRD"
_MARK_MAGIC: Final = b"\xc5ACK"
# magic, version, log, number, size, sequence number of the last record before it, the first
# segment that counts, numbers.
_HEADER = struct.Struct(">8sH16sQQQQ37s")
# magic, kind, mask, payload's length and checksum, sequence number, index after which the entries
# go, the first valid segment, length of the archived tail, numbers.
_HEAD = struct.Struct(">4sBBIIQQQI37s")
_MARK = struct.Struct(">4s16sQ")
_CRC = struct.Struct(">I")
_DURABLE, _DURABLE_AT = struct.Struct(">Q"), 21
HEAD_SIZE: Final = _HEAD.size + _CRC.size
PAYLOAD_BYTES_MAX: Final = (1 << 32) - 1
"""What the head of a record can say of its length: entries, and the tail that they replace."""
MARK_SIZE: Final = _MARK.size + _CRC.size
_BLANK = bytes(SECTOR)
_FILL = b"\xff"
_BYTES = bytes(range(256))


class SegmentHeader(NamedTuple):
    """The head of a segment: its owner, and all that was in force before its records.

    `keeps`: the number of the first valid segment; those below may be gone.
    """

    log: bytes
    number: int
    size: int
    sequence: int
    keeps: int
    numbers: Meta


class RecordHead(NamedTuple):
    """One commit: `entries` go after index `above`; `numbers` are in force from it on.

    `tail_length`: how many bytes of the payload, from its beginning, are an archived tail.
    """

    kind: int
    mask: int
    length: int
    checksum: int
    sequence: int
    above: int
    keeps: int
    tail_length: int
    numbers: bytes

    @property
    def plain_kind(self) -> int:
        """Without what stands beside it."""
        return self.kind & ~NOT_MASKED

    @property
    def size(self) -> int:
        """The bytes that the record takes of its segment."""
        return padded(HEAD_SIZE + self.length)

    @property
    def last(self) -> int:
        """The last index after this record."""
        return int(_DURABLE.unpack_from(self.numbers, _DURABLE_AT)[0])

    @property
    def meta(self) -> Meta:
        """The ballot, the confirmed index, the last index and its checksum after this record."""
        found = meta.unpack(self.numbers)
        assert found is not None  # the head's own checksum held
        return found


class RecordDraft(NamedTuple):
    """A record that is to be written."""

    kind: int
    above: int
    numbers: bytes
    payload: bytes = b""
    tail_length: int = 0


def padded(size: int) -> int:
    """Return the number of bytes, rounded up to whole sectors."""
    return -(-size // SECTOR) * SECTOR


def salt(log: bytes, number: int) -> int:
    """What the checksums of a segment's records begin with: those of another one do not hold."""
    return crc32(number.to_bytes(8, "big"), crc32(log))


def check_length(size: int, path: Path) -> None:
    """Refuse what is too long for one record. Raises StoreError, and nothing was written."""
    if size > PAYLOAD_BYTES_MAX:
        raise StoreError(
            f"{path}: {size} bytes are more than the {PAYLOAD_BYTES_MAX} bytes of one record",
            hint="a tail that was cut is one record with what replaces it; the log stays as it is",
            details={"path": str(path), "limit": PAYLOAD_BYTES_MAX},
        )


def pack_numbers(now: Meta) -> bytes:
    """The numbers of a record."""
    return meta.pack(now.ballot, confirmed=now.confirmed, durable=now.durable, crc=now.crc)


def pack_header(header: SegmentHeader) -> bytes:
    """The first sector of a segment."""
    body = _HEADER.pack(
        _SEGMENT_MAGIC,
        VERSION,
        header.log,
        header.number,
        header.size,
        header.sequence,
        header.keeps,
        pack_numbers(header.numbers),
    )
    return (body + _CRC.pack(crc32(body))).ljust(SECTOR, _FILL)


def unpack_header(sector: bytes) -> SegmentHeader | None:
    """The header of a segment; None when it does not verify. Raises WrongFormat."""
    if len(sector) < SECTOR or not sector.startswith(_SEGMENT_MAGIC):
        return None
    body, (checksum,) = sector[: _HEADER.size], _CRC.unpack_from(sector, _HEADER.size)
    if crc32(body) != checksum:
        return None
    _, version, log, number, size, sequence, keeps, numbers = _HEADER.unpack(body)
    if version != VERSION:
        raise WrongFormat(
            f"segment {number} has version {version}, this release knows {VERSION}",
            hint="use the release that wrote it",
        )
    found = meta.unpack(numbers)
    return None if found is None else SegmentHeader(log, number, size, sequence, keeps, found)


def pack_record(draft: RecordDraft, *, sequence: int, keeps: int, seed: int) -> bytes:
    """A record as it is written: head, payload, and what fills its last sector."""
    kind, mask = draft.kind, _mask_for(draft.payload)
    if mask is None:
        kind, mask = kind | NOT_MASKED, 0
    payload = masked(draft.payload, mask)
    head = _HEAD.pack(
        _RECORD_MAGIC,
        kind,
        mask,
        len(payload),
        crc32(payload, seed),
        sequence,
        draft.above,
        keeps,
        draft.tail_length,
        draft.numbers,
    )
    head += _CRC.pack(crc32(head, seed))
    whole = b"".join((head, payload))
    return whole + _FILL * (-len(whole) % SECTOR)


def _mask_for(payload: bytes) -> int | None:
    """A byte of which no sector of a record is full: masked with it none is blank. None if none is.

    One pass, whatever the payload is: clients choose what it is, and everybody waits for it.
    """
    if _BLANK not in payload:
        return 0
    begin = -HEAD_SIZE % SECTOR  # in the first sector is the head
    sectors = (payload[at : at + SECTOR] for at in range(begin, len(payload) - SECTOR + 1, SECTOR))
    full = {each[0] for each in sectors if each.count(each[0]) == SECTOR}
    return next((byte for byte in _BYTES if byte not in full), None)


def unpack_head(sector: bytes, *, seed: int) -> RecordHead | None:
    """The head of a record at the beginning of a sector; None when there is none that verifies."""
    if len(sector) < HEAD_SIZE or not sector.startswith(_RECORD_MAGIC):
        return None
    if crc32(sector[: _HEAD.size], seed) != _CRC.unpack_from(sector, _HEAD.size)[0]:
        return None
    return RecordHead._make(_HEAD.unpack_from(sector)[1:])


def payload_of(head: RecordHead, record: bytes) -> bytes:
    """The payload as it was given, of a record that verifies."""
    return masked(record[HEAD_SIZE : HEAD_SIZE + head.length], head.mask)


def verifies(head: RecordHead, record: bytes, *, seed: int) -> bool:
    """Does the payload's checksum hold?"""
    payload = memoryview(record)[HEAD_SIZE : HEAD_SIZE + head.length]
    return len(payload) == head.length and crc32(payload, seed) == head.checksum


def is_torn(head: RecordHead, record: bytes) -> bool:
    """Return whether some sector of a record with a wrong checksum was never written."""
    if head.kind & NOT_MASKED:
        return False
    return any(record[at : at + SECTOR] == _BLANK for at in range(0, len(record), SECTOR))


def is_written(sector: bytes) -> bool:
    """Return whether anything is there but the zeros that it was filled with."""
    return bool(sector.strip(b"\0"))


def masked(payload: bytes, mask: int) -> bytes:
    """Each byte changed by `mask`; the same again takes it off."""
    if not mask:
        return payload
    return payload.translate(bytes(byte ^ mask for byte in _BYTES))


def pack_mark(log: bytes, sequence: int) -> bytes:
    """Encode the mark that the record of this number was flushed."""
    body = _MARK.pack(_MARK_MAGIC, log, sequence)
    return body + _CRC.pack(crc32(body))


def unpack_mark(stored: bytes, log: bytes) -> int:
    """The number of the last record that is known to have been flushed; 0 when nothing is."""
    if len(stored) < MARK_SIZE:
        return 0
    body, (checksum,) = stored[: _MARK.size], _CRC.unpack_from(stored, _MARK.size)
    magic, whose, sequence = _MARK.unpack(body)
    if magic != _MARK_MAGIC or whose != log or crc32(body) != checksum:
        return 0
    return int(sequence)
