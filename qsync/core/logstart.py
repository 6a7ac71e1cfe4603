"""The start of a log: the last trimmed entry, and the state of the fold there."""

import struct
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from election.messages import Index, Replica, Term
from qsync.checksum import crc32
from qsync.core.limbo import NOBODY, Owner
from qsync.errors import Compacted, Damaged
from qsync.record import CHAIN_SEED, Crc, Lsn

VERSION: Final = 2
"""Of the bytes. What another release adds to them has another number."""
VERSION_ALONE: Final = 1
"""Of those that tell of no entry but the last (`LogStart.alone`), which every release reads."""
LOG_START_BYTES_MAX: Final = 1 << 20
"""A record is never longer: with every replica id there is, it takes some kilobytes."""
ORIGINS_MAX: Final = 31
"""Highest replica id."""
TERMS_MAX: Final = 1000
"""The record has the entries of this many terms, the newest."""
ROLLED_BACK_MAX: Final = 1000
"""And this many rolled-back stretches."""

_MAGIC: Final = b"QSLS"
# version; index, term, crc, origin; the limbo's owner: index, replica, term; origins; configuration
_HEAD: Final = struct.Struct(">HQQIIQIQII")
_COUNT: Final = struct.Struct(">IQ")
_SEAL: Final = struct.Struct(">I")
# known; terms; stretches. Then each term with its first entry, and both ends of each stretch.
_PAST: Final = struct.Struct(">QII")
_PAIR: Final = struct.Struct(">QQ")


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
    """The replica that appended it; 0 before the first entry."""
    vclock: tuple[tuple[Replica, Lsn], ...]
    """Each origin and its last lsn, in order of the origins; they add up to `index`."""
    owner: Owner
    """Whose the limbo was, by the PROMOTE or DEMOTE that is the last one up to here."""
    configuration: bytes
    """The one in force there, never a later one (M6 a), as the body of an entry that would make
    it: also the founding one, which a node with an empty disk does not have. Empty for none."""
    terms: tuple[tuple[Index, Term], ...] = field(default=(), repr=False)
    """The first entry of each term and the term, oldest first: a receipt names an entry by both.
    Empty where the record says nothing of earlier entries, as those of older releases.
    """
    rolled_back: tuple[tuple[Index, Index], ...] = field(default=(), repr=False)
    """The rolled-back stretches, oldest first: the first victim, and the ROLLBACK."""
    forgotten: Index = field(default=Index(0), repr=False)
    """Up to here there were too many terms, or rolled-back ranges, for the record."""

    @property
    def can_begin(self) -> bool:
        """Whether a log may begin there: its receivers must know the voters (M6 a).

        Who joined a cluster that changed no voter before that has not heard of the first ones.
        """
        return bool(self.index and self.configuration)

    @property
    def unknown_upto(self) -> Index:
        """The index up to which neither terms nor fates of entries are known any more."""
        return self.forgotten if self.terms else Index(max(0, self.index - 1))

    def term_at(self, index: int) -> Term | None:
        """The term of an entry up to here; None if that is not known any more."""
        if index <= self.unknown_upto:
            return None
        if not self.terms:
            return self.term
        at = bisect_right(self.terms, index, key=lambda each: each[0]) - 1
        return self.terms[at][1]

    def took_back(self, index: int) -> bool:
        """Return whether that entry is known to be inside of a rolled-back range."""
        at = bisect_right(self.rolled_back, index, key=lambda each: each[0]) - 1
        return at >= 0 and index < self.rolled_back[at][1]

    def alone(self) -> "LogStart":
        """Return it without what it knows of earlier entries: all releases read that form."""
        return replace(self, terms=(), rolled_back=(), forgotten=Index(0)) if self.terms else self

    def told_by(self, later: "LogStart") -> "LogStart":
        """Return it with what a record of the same or a later entry knows of earlier entries."""
        if later.index < self.index or later.term_at(self.index) != self.term:
            return self
        ends = [each for each in later.rolled_back if each[1] <= self.index]
        found = replace(
            self,
            terms=tuple([each for each in later.terms if each[0] <= self.index]),
            rolled_back=tuple(ends),
            forgotten=later.forgotten,
        )
        return found if contradiction(found) is None else self

    def lsn_of(self, origin: int) -> Lsn:
        """The last lsn of an origin up to here; 0 if it has none."""
        return next((lsn for each, lsn in self.vclock if each == origin), Lsn(0))

    @property
    def lsn(self) -> Lsn:
        """The lsn of the entry itself, within its origin."""
        return self.lsn_of(self.origin)

    def encode(self) -> bytes:
        """Encode it with a checksum."""
        owner, text, past = self.owner, self.configuration, self._past()
        head = _HEAD.pack(
            VERSION if self.terms else VERSION_ALONE,
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
        body = b"".join((_MAGIC, head, *counts, text, *past))
        return body + _SEAL.pack(crc32(body))

    def _past(self) -> list[bytes]:
        if not self.terms:
            return []
        head = _PAST.pack(self.forgotten, len(self.terms), len(self.rolled_back))
        return [head, *(_PAIR.pack(*each) for each in (*self.terms, *self.rolled_back))]


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
    """Decode it. Raises Damaged for bytes that `LogStart.encode` cannot have written."""
    least = len(_MAGIC) + _HEAD.size + _SEAL.size
    if not least <= len(text) <= LOG_START_BYTES_MAX or text[: len(_MAGIC)] != _MAGIC:
        raise Damaged(f"{len(text)} bytes are no record of where a log begins")
    body = text[: -_SEAL.size]
    if _SEAL.unpack_from(text, len(body))[0] != crc32(body):
        raise Damaged("the checksum of the record of where a log begins does not hold")
    version, index, term, crc, origin, *owner, origins, length = _HEAD.unpack_from(
        body, len(_MAGIC)
    )
    if version not in (VERSION, VERSION_ALONE):
        raise Damaged(
            f"where a log begins is written in form {version}, this release knows {VERSION}"
        )
    at = len(_MAGIC) + _HEAD.size
    end = at + origins * _COUNT.size + length
    past = body[end:]
    if len(body) < end or (version == VERSION_ALONE and past):
        raise Damaged("the record of where a log begins has another length than it says")
    counts = [_COUNT.unpack_from(body, at + each * _COUNT.size) for each in range(origins)]
    start = LogStart(
        index=Index(index),
        term=Term(term),
        crc=Crc(crc),
        origin=Replica(origin),
        vclock=tuple((Replica(each), Lsn(lsn)) for each, lsn in counts),
        owner=Owner(Index(owner[0]), Replica(owner[1]), Term(owner[2])),
        configuration=body[at + origins * _COUNT.size : end],
    )
    if version == VERSION:
        start = _with_past(start, past)
    why = contradiction(start)
    if why is not None:
        raise Damaged(f"the record of where a log begins contradicts itself: {why}")
    return start


def _with_past(start: LogStart, past: bytes) -> LogStart:
    size = _PAST.size
    forgotten, terms, stretches = _PAST.unpack_from(past) if len(past) >= size else (0, 0, 0)
    if len(past) != _PAST.size + (terms + stretches) * _PAIR.size:
        raise Damaged("the record of where a log begins has another length than it says")
    pairs = list(_PAIR.iter_unpack(past[_PAST.size :]))
    return replace(
        start,
        terms=tuple((Index(first), Term(term)) for first, term in pairs[:terms]),
        rolled_back=tuple((Index(first), Index(end)) for first, end in pairs[terms:]),
        forgotten=Index(forgotten),
    )


def check_reach(start: LogStart, first: int) -> None:
    """Check that a log beginning there still has the entry `first`. Raises Compacted."""
    begins = start.index + 1
    if first < begins:
        raise Compacted(
            f"the log begins at {begins}: {first} is in snapshots and spaces only",
            details={"first": int(begins)},
        )


def contradiction(start: LogStart) -> str | None:
    """Return why no log can begin there; None when one can (protocol.md section 1)."""
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
    return _past_contradiction(start)


def _past_contradiction(start: LogStart) -> str | None:
    if not start.terms:
        return "stretches without terms" if start.rolled_back or start.forgotten else None
    firsts, terms = [first for first, _ in start.terms], [term for _, term in start.terms]
    in_order = _grow(firsts) and _grow(terms) and firsts[0] >= 1 and firsts[-1] <= start.index
    if not in_order or terms[-1] != start.term:
        return "its terms are in no order"
    if not firsts[0] - 1 <= start.forgotten < start.index:
        return f"it tells of entries behind {start.forgotten}, and of terms from {firsts[0]} on"
    ends = [end for each in start.rolled_back for end in each]
    if not _grow(ends) or (ends and ends[-1] > start.index):
        return "its rolled-back stretches are in no order"
    return None


def _grow(numbers: Sequence[int]) -> bool:
    return all(one < two for one, two in pairwise(numbers))
