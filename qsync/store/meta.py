"""The few numbers that go with every commit of the log: ballot, confirmed index, durable mark."""

import struct
from dataclasses import dataclass
from typing import Final

from election.messages import Ballot, Index, Replica, Term
from qsync.checksum import crc32
from qsync.record import CHAIN_SEED, Crc
from qsync.store.contract import NO_BALLOT

# term, vote (0: none), member, confirmed, durable mark, checksum of the entry there; then a CRC-32.
_BODY = struct.Struct(">QIBQQI")
_CRC = struct.Struct(">I")


@dataclass(slots=True, init=False, unsafe_hash=True)
class Meta:
    """`durable` is the last index of the log at this commit, `crc` the checksum there.

    Whatever does not verify at or below `durable` is damage, for it may have been acked.
    """

    ballot: Final[Ballot]
    confirmed: Final[Index]
    durable: Final[Index]
    crc: Final[Crc]

    def __init__(self, *, ballot: Ballot, confirmed: Index, durable: Index, crc: Crc) -> None:
        self.ballot = ballot
        self.confirmed = confirmed
        self.durable = durable
        self.crc = crc


EMPTY = Meta(ballot=NO_BALLOT, confirmed=Index(0), durable=Index(0), crc=CHAIN_SEED)


def pack(ballot: Ballot, *, confirmed: int, durable: int, crc: int) -> bytes:
    """The stored form."""
    body = _BODY.pack(ballot.term, ballot.vote or 0, ballot.member, confirmed, durable, crc)
    return body + _CRC.pack(crc32(body))


def unpack(stored: bytes) -> Meta | None:
    """The numbers; None when the bytes do not verify."""
    if len(stored) != _BODY.size + _CRC.size:
        return None
    body = stored[: _BODY.size]
    if _CRC.pack(crc32(body)) != stored[_BODY.size :]:
        return None
    term, vote, member, confirmed, durable, crc = _BODY.unpack(body)
    ballot = Ballot(term=Term(term), vote=Replica(vote) if vote else None, member=bool(member))
    return Meta(ballot=ballot, confirmed=Index(confirmed), durable=Index(durable), crc=Crc(crc))
