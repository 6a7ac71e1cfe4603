"""A record of what happened, as bytes: a byte that says which it is, and numbers of fixed width.

What is rare, or does not fit, is CBOR. Frames of former versions are one CBOR array each, which
begins with a byte that no record begins with.
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from struct import Struct
from typing import Final

import cbor2

Record = Sequence[object]


class What(IntEnum):
    """The first member of a record; the second is the monotonic time in ns."""

    STARTED = 0
    """Who and where: a table; and the log on disk: its terms in runs, and its checksums."""
    WROTE = 1
    """Durable: the ballot if it is another one, where the log was cut, and new entries."""
    VOTE = 2
    ACK = 3
    LEADS = 4
    CONFIRMED = 5
    ANSWERED = 6
    """Writes up to a confirmed index are answered."""
    SERVED = 7
    """Clients are shown an index: when the last of them had asked, what of it is confirmed, and the
    term of the entry there."""
    STOPPED = 8
    """Nothing follows in this file, though the process goes on; and why."""
    PROMISED = 9
    """A promise to a leader to vote for no other node: its id and term, and the end in ns."""
    RELEASED = 10
    """Its own word ends what was promised to it: who said it, and in which term."""
    CONFIGURED = 11
    """What is counted by from now on: the index and term of the entry that says so, and pairs of a
    voter and what stands for its instance."""
    OPENED = 12
    """The log is reopened: device and inode of its file."""
    SLEPT = 13
    """For how many ns the machine had been suspended since it was booted, if that is news."""
    BEGAN = 14
    """The log begins at a snapshot now: index, term and checksum of the entry just before it."""


_CBOR: Final = 0x7F
_ARRAY: Final = 0x80
"""A CBOR array begins with this or more."""
_SIZE: Final = Struct("<BI")
_GREW: Final = Struct("<BqqqI")
"""The commonest write: entries of one term behind the last one, and how many."""
_LAYOUTS: Final = {
    int(what): Struct(layout)
    for what, layout in (
        (What.VOTE, "<BqIq"),
        (What.ACK, "<BqIqqI"),
        (What.LEADS, "<Bqq"),
        (What.CONFIRMED, "<BqqqII"),
        (What.ANSWERED, "<Bqq"),
        (What.SERVED, "<Bqqqqq"),
        (What.PROMISED, "<BqIqq"),
        (What.RELEASED, "<BqIq"),
        (What.SLEPT, "<Bqq"),
    )
}
_PACKS: Final[dict[object, Callable[..., bytes]]] = {k: each.pack for k, each in _LAYOUTS.items()}
_WROTE: Final = int(What.WROTE)


def pack(record: Record) -> bytes:
    """Pack numbers into few bytes, quickly."""
    kind = record[0]
    try:
        if kind == _WROTE:
            _, now, ballot, cut, first, runs, crcs = record
            if ballot is None and cut is None and isinstance(runs, list) and len(runs) == 1:
                count, term = runs[0]
                assert isinstance(crcs, bytes)
                return _GREW.pack(_WROTE, now, first, term, count) + crcs
        elif kind in _PACKS:
            return _PACKS[kind](*record)
    except struct.error:
        pass  # a number that is not known, or too large
    payload = cbor2.dumps(record)
    return _SIZE.pack(_CBOR, len(payload)) + payload


def unpack(payload: bytes) -> Iterable[list[object]]:
    """The records of a frame, in order."""
    if payload and payload[0] >= _ARRAY:
        records: list[list[object]] = cbor2.loads(payload)
        return records
    return _unpacked(payload)


def _unpacked(payload: bytes) -> Iterator[list[object]]:
    at = 0
    while at < len(payload):
        kind = payload[at]
        if kind == _CBOR:
            _, size = _SIZE.unpack_from(payload, at)
            at += _SIZE.size + size
            yield cbor2.loads(payload[at - size : at])
        elif kind == _WROTE:
            _, now, first, term, count = _GREW.unpack_from(payload, at)
            at += _GREW.size + 4 * count
            crcs = payload[at - 4 * count : at]
            yield [kind, now, None, None, first, [[count, term]], crcs]
        else:
            layout = _LAYOUTS[kind]
            yield list(layout.unpack_from(payload, at))
            at += layout.size
