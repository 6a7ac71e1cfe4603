"""Where a log begins: the last entry that is not in it any more, and all that held there."""

import struct
import zlib
from dataclasses import dataclass
from typing import Final

from election.messages import Index, Replica, Term
from qsync.core.limbo import NOBODY, Owner
from qsync.errors import Compacted, Damaged
from qsync.record import CHAIN_SEED, Crc, Lsn

VERSION: Final = 1
"""Of the bytes. What another release adds to them has another number."""
LOG_START_BYTES_MAX: Final = 1 << 20
"""A record is never longer: with every replica id there is, it takes some kilobytes."""
ORIGINS_MAX: Final = 31
"""Highest replica id."""

_MAGIC: Final = b"QSLS"
# version; index, term, crc, origin; the limbo's owner: index, replica, term; origins; configuration
_HEAD: Final = struct.Struct(">HQQIIQIQII")
_COUNT: Final = struct.Struct(">IQ")
_SEAL: Final = struct.Struct(">I")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogStart:
    """The entry just before the first one of a log, and what a fold over the log needs from there.

    Everything that is learned from entries at or below `index` and asked for later is in it. The
    entry is confirmed and in no rolled-back stretch (membership.md M6 a), so nothing behind it
    reaches back over it (M6 f). Sessions, schema and settings are rows of the folded spaces.
    """

    index: Index
    term: Term
    crc: Crc
    """Its chain checksum: what follows is sealed by it."""
    origin: Replica
    """Who appended it; 0 for nobody, before the first entry."""
    vclock: tuple[tuple[Replica, Lsn], ...]
    """Each origin and its last lsn, in order of the origins; they add up to `index`."""
    owner: Owner
    """Whose the limbo was, by the PROMOTE or DEMOTE that is the last one up to here."""
    configuration: bytes
    """The one in force there, never a later one (M6 a), as the body of an entry that would make
    it: also the founding one, which who lost its disk does not have. Empty for none."""

    def lsn_of(self, origin: int) -> Lsn:
        """The last lsn of an origin up to here; 0 if it has none."""
        return next((lsn for each, lsn in self.vclock if each == origin), Lsn(0))

    @property
    def lsn(self) -> Lsn:
        """Of the entry itself, within its origin."""
        return self.lsn_of(self.origin)

    def encode(self) -> bytes:
        """As bytes that say themselves whether they are whole."""
        owner, text = self.owner, self.configuration
        head = _HEAD.pack(
            VERSION,
            self.index,
            self.term,
            self.crc,
            self.origin,
            owner.index,
            owner.owner,
            owner.term,
            len(self.vclock),
            len(text),
        )
        counts = [_COUNT.pack(origin, lsn) for origin, lsn in self.vclock]
        body = b"".join((_MAGIC, head, *counts, text))
        return body + _SEAL.pack(zlib.crc32(body))


EMPTY: Final = LogStart(
    index=Index(0),
    term=Term(0),
    crc=CHAIN_SEED,
    origin=Replica(0),
    vclock=(),
    owner=NOBODY,
    configuration=b"",
)
"""A log that begins with the first entry."""


def decode(text: bytes) -> LogStart:
    """The record. Raises Damaged for what `LogStart.encode` cannot have written."""
    least = len(_MAGIC) + _HEAD.size + _SEAL.size
    if not least <= len(text) <= LOG_START_BYTES_MAX or text[: len(_MAGIC)] != _MAGIC:
        raise Damaged(f"{len(text)} bytes are no record of where a log begins")
    body = text[: -_SEAL.size]
    if _SEAL.unpack_from(text, len(body))[0] != zlib.crc32(body):
        raise Damaged("the checksum of the record of where a log begins does not hold")
    version, index, term, crc, origin, *owner, origins, length = _HEAD.unpack_from(
        body, len(_MAGIC)
    )
    if version != VERSION:
        raise Damaged(f"where a log begins is written in form {version}, this release knows 1")
    at = len(_MAGIC) + _HEAD.size
    if len(body) != at + origins * _COUNT.size + length:
        raise Damaged("the record of where a log begins has another length than it says")
    counts = [_COUNT.unpack_from(body, at + each * _COUNT.size) for each in range(origins)]
    start = LogStart(
        index=Index(index),
        term=Term(term),
        crc=Crc(crc),
        origin=Replica(origin),
        vclock=tuple((Replica(each), Lsn(lsn)) for each, lsn in counts),
        owner=Owner(Index(owner[0]), Replica(owner[1]), Term(owner[2])),
        configuration=body[at + origins * _COUNT.size :],
    )
    why = contradiction(start)
    if why is not None:
        raise Damaged(f"the record of where a log begins contradicts itself: {why}")
    return start


def check_reach(start: LogStart, first: int) -> None:
    """Raises Compacted when a log that begins there has no entry `first` any more."""
    begins = start.index + 1
    if first < begins:
        raise Compacted(
            f"the log begins at {begins}: {first} is in snapshots and spaces only",
            details={"first": int(begins)},
        )


def contradiction(start: LogStart) -> str | None:
    """Why no log can begin there; None when one can (protocol.md section 1)."""
    if not start.index:
        return None if start == EMPTY else "nothing holds before the first entry"
    origins = [origin for origin, _ in start.vclock]
    if sum(lsn for _, lsn in start.vclock) != start.index:
        return f"the vclock does not add up to {start.index}"
    if origins != sorted(set(origins)) or not 1 <= origins[0] <= origins[-1] <= ORIGINS_MAX:
        return f"the origins are {origins}"
    if start.origin not in origins or not all(lsn for _, lsn in start.vclock):
        return f"entry {start.index} of origin {start.origin} is not in the vclock"
    if not start.term or start.owner.term > start.term or start.owner.index > start.index:
        return "the limbo had an owner of a later time"
    return None
