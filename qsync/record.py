"""Entries of the log: a binary header and a CBOR body, never encoded again."""

import struct
from collections.abc import Iterable, Iterator
from enum import IntEnum, IntFlag
from typing import Final, NamedTuple, NewType, final

from election.messages import Index, Replica, Term
from qsync.checksum import crc32

Lsn = NewType("Lsn", int)
"""How many entries an origin has in this log up to here."""
Instance = NewType("Instance", int)
"""128 random bits that are made with an empty directory and stay in it (membership.md, Words)."""
Crc = NewType("Crc", int)
"""Chain checksum (CRC-32): covers an entry and the checksum of the entry before it."""

CHAIN_SEED = Crc(0)
"""The checksum "before the first entry"."""

# index, term, origin, lsn, kind, flags, body length, wall-clock seconds; then the chain checksum.
_HEAD = struct.Struct(">QQIQBBId")
_CRC = struct.Struct(">I")
HEADER = struct.Struct(">QQIQBBIdI")
SUMMARY: Final = struct.Struct(">QQ12xBBI8xI")
"""What a start needs of every header: index, term, kind, flags, body length, chain checksum."""
HEADER_SIZE = HEADER.size
_CRC_AT = _HEAD.size


class EntryKind(IntEnum):
    """protocol.md section 1."""

    TXN = 1
    CONFIRM = 2
    ROLLBACK = 3
    PROMOTE = 4
    DEMOTE = 5


class Flags(IntFlag):
    """`WAIT_ACK`: synchronous. `WAIT_SYNC`: asynchronous, queued behind a synchronous one.

    `CONFIG`: a transaction with the whole resulting configuration (membership.md M1 a).
    """

    NONE = 0
    WAIT_ACK = 1
    WAIT_SYNC = 2
    CONFIG = 4


WAIT_ACK = int(Flags.WAIT_ACK)
WAIT_SYNC = int(Flags.WAIT_SYNC)
CONFIG = int(Flags.CONFIG)


@final
class Entry:
    """One place in the log. `raw`: header and body as stored and sent; `time`: for people.

    Two are the same if their bytes are: all else is in these. A tuple with names would take longer
    to make, and compiled several times as long to read.
    """

    __slots__ = ("crc", "flags", "index", "kind", "lsn", "origin", "raw", "term", "time")

    def __init__(
        self,
        index: Index,
        term: Term,
        origin: Replica,
        lsn: Lsn,
        *,
        kind: int,
        flags: int,
        time: float,
        crc: Crc,
        raw: bytes,
    ) -> None:
        self.index: Final = index
        self.term: Final = term
        self.origin: Final = origin
        self.lsn: Final = lsn
        self.kind: Final = kind
        self.flags: Final = flags
        self.time: Final = time
        self.crc: Final = crc
        self.raw: Final = raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(self.raw)

    def __repr__(self) -> str:
        return (
            f"Entry(index={self.index}, term={self.term}, origin={self.origin}, lsn={self.lsn}, "
            f"kind={self.kind}, flags={self.flags}, crc={self.crc:08x})"
        )

    @property
    def body(self) -> bytes:
        """The CBOR body, unopened."""
        return self.raw[HEADER_SIZE:]


class LimboRef(NamedTuple):
    """The entries that a CONFIRM, ROLLBACK or PROMOTE is about: of `owner`, at or from `lsn`."""

    owner: Replica
    lsn: Lsn


ONE_INSTANCE = Instance(0)
"""Of every node where directories are not told apart: in simulations that lose none."""
NO_INSTANCE = Instance(-1)
"""The instance of a node that names none: no directory has it."""


def read_instance(text: str) -> Instance:
    """The instance id that a UUID stands for; NO_INSTANCE for any other text."""
    digits = text.replace("-", "")
    try:
        return Instance(int(digits, 16)) if len(digits) == _INSTANCE_DIGITS else NO_INSTANCE
    except ValueError:
        return NO_INSTANCE


def instance_text(instance: Instance) -> str:
    """Return an instance as a UUID, the form for people."""
    digits = f"{instance:032x}"
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return "-".join(parts)


_INSTANCE_DIGITS = 32


class RecordDamage(Exception):
    """Bytes that are not a batch of entries. `index` is the last index known to be whole."""

    def __init__(self, why: str, *, index: int) -> None:
        super().__init__(f"{why} after index {index}")
        self.index = index


def make(
    *,
    index: int,
    term: int,
    origin: int,
    lsn: int,
    kind: int,
    flags: int,
    time: float,
    body: bytes,
    previous: int,
) -> Entry:
    """Build an entry and seal it: the checksum chains on `previous`."""
    head = _HEAD.pack(index, term, origin, lsn, kind, flags, len(body), time)
    crc = crc32(body, crc32(head, previous))
    return Entry(
        Index(index),
        Term(term),
        Replica(origin),
        Lsn(lsn),
        kind=kind,
        flags=flags,
        time=time,
        crc=Crc(crc),
        raw=b"".join((head, _CRC.pack(crc), body)),
    )


def encode(entries: Iterable[Entry]) -> bytes:
    """A batch: the entries back to back."""
    return b"".join([entry.raw for entry in entries])


def decode(batch: bytes, *, previous: int | None = None) -> list[Entry]:
    """Split a batch. With `previous`, verify the chain that starts there.

    Raises RecordDamage when the bytes are torn, not dense, or the chain does not hold.
    """
    entries: list[Entry] = []
    at, end, index = 0, len(batch), -1
    unpack, size = HEADER.unpack_from, HEADER_SIZE
    while at < end:
        if at + size > end:
            raise RecordDamage("torn header", index=index)
        number, term, origin, lsn, kind, flags, length, time, crc = unpack(batch, at)
        stop = at + size + length
        if stop > end:
            raise RecordDamage("torn body", index=index)
        if index >= 0 and number != index + 1:
            raise RecordDamage(f"index {number} follows", index=index)
        raw = batch[at:stop]
        if previous is not None:
            seal = crc32(raw[:_CRC_AT], previous)
            if crc32(raw[size:], seal) != crc:
                raise RecordDamage(f"checksum of {number} does not hold", index=index)
            previous = crc
        entries.append(
            Entry(number, term, origin, lsn, kind=kind, flags=flags, time=time, crc=crc, raw=raw)
        )
        index, at = number, stop
    return entries


Header = tuple[int, int, int, int, int, int, int, float, int]
"""`(index, term, origin, lsn, kind, flags, length, time, crc)`, as it is stored."""


def headers(batch: bytes) -> Iterator[Header]:
    """Unverified headers."""
    at, end = 0, len(batch)
    while at + HEADER_SIZE <= end:
        header: Header = HEADER.unpack_from(batch, at)
        yield header
        at += HEADER_SIZE + header[6]


# Control bodies are fixed-width CBOR arrays of unsigned integers, so the pure core can read them.
_REF = struct.Struct(">BBQBQ")
_U64 = 0x1B
_ARRAY2 = 0x82


def ref_body(ref: LimboRef) -> bytes:
    """Body of CONFIRM, ROLLBACK, PROMOTE (the former owner and its last lsn) and DEMOTE."""
    return _REF.pack(_ARRAY2, _U64, ref.owner, _U64, ref.lsn)


def read_ref(entry: Entry) -> LimboRef:
    """The reference of a control entry. Raises RecordDamage for any other body."""
    if len(entry.raw) != HEADER_SIZE + _REF.size:
        raise RecordDamage(f"control entry {entry.index} has no reference", index=entry.index - 1)
    _, _, owner, _, lsn = _REF.unpack_from(entry.raw, HEADER_SIZE)
    return LimboRef(Replica(owner), Lsn(lsn))
