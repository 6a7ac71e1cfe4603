"""Checksums of many log entries at once, from their columns, because a CRC is linear.

A table has the contribution of each two bytes of a header, independent of the other bytes. A column
with few different values costs little: a value that is the same in all rows is looked up once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint32]

_POLYNOMIAL = 0xEDB88320
_ONES = np.uint32(0xFFFFFFFF)
_LOW = np.uint32(0xFFFF)
HEADER = 42
"""Bytes of a header up to its checksum; see the page about the record."""


@dataclass(frozen=True, slots=True)
class ChecksumColumns:
    """The input of the checksums, one row per entry. `previous`: the previous entry's checksum."""

    index: Numbers
    term: Numbers
    origin: Numbers
    lsn: Numbers
    kind: Numbers
    flags: Numbers
    time: NDArray[np.float64]
    body_crc: Numbers
    body_len: Numbers
    previous: Numbers


def checksums(sealed: ChecksumColumns) -> Numbers:
    """The columns that every entry must have."""
    found = _advanced(_halves(HEADER), sealed.previous.astype(np.uint32) ^ _ONES)
    for column, start, width in _columns(sealed):
        _add(found, column, start, width)
    found ^= _ONES
    found = _over_bodies(found, sealed.body_len)
    return found.astype(np.int64) ^ sealed.body_crc


def _columns(sealed: ChecksumColumns) -> Iterator[tuple[NDArray[np.uint64], int, int]]:
    """Each with its offset in the header and its width in bytes."""
    yield sealed.index.astype(np.uint64), 0, 8
    yield sealed.term.astype(np.uint64), 8, 8
    yield sealed.origin.astype(np.uint64), 16, 4
    yield sealed.lsn.astype(np.uint64), 20, 8
    yield (sealed.kind << 8 | sealed.flags).astype(np.uint64), 28, 2
    yield sealed.body_len.astype(np.uint64), 30, 4
    yield sealed.time.view(np.uint64), 34, 8


def _add(found: Words, column: NDArray[np.uint64], start: int, width: int) -> None:
    """The contribution of one column, two bytes at a time."""
    changing = int(np.bitwise_or.reduce(column ^ column[0]))
    for lane in range(width // 2):
        shift = 8 * (width - 2) - 16 * lane
        table = _pairs()[HEADER - start - 2 * lane - 2]
        if changing >> shift & 0xFFFF:
            found ^= table[(column >> np.uint64(shift)).astype(np.uint16)]
        else:
            found ^= table[int(column[0]) >> shift & 0xFFFF]


def _over_bodies(found: Words, length: Numbers) -> Words:
    """Advance every checksum over as many zero bytes as its body is long."""
    some, all_ = int(np.bitwise_or.reduce(length)), int(np.bitwise_and.reduce(length))
    bit = 0
    while some >> bit:
        if some >> bit & 1:
            moved = _advanced(_halves(1 << bit), found)
            found = moved if all_ >> bit & 1 else np.where(length >> bit & 1, moved, found)
        bit += 1
    return found


def _advanced(halves: tuple[Words, Words], register: Words) -> Words:
    low, high = halves
    found: Words = low[(register & _LOW).astype(np.uint16)]
    found ^= high[(register >> np.uint32(16)).astype(np.uint16)]
    return found


@cache
def _bytes() -> Words:
    found = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        found = np.where(found & 1, (found >> 1) ^ np.uint32(_POLYNOMIAL), found >> 1)
    return found.astype(np.uint32)


def _over_zero(register: Words) -> Words:
    """The register after one more byte, which is zero."""
    found: Words = _bytes()[register & np.uint32(0xFF)] ^ (register >> np.uint32(8))
    return found


@cache
def _pairs() -> tuple[Words, ...]:
    """Return the contribution of two bytes, the first one higher, by the number of bytes after."""
    value = np.arange(1 << 16, dtype=np.uint32)
    first = _bytes()[value >> np.uint32(8)]
    found = [_bytes()[(first ^ value) & np.uint32(0xFF)] ^ (first >> np.uint32(8))]
    for _ in range(HEADER - 2):
        found.append(_over_zero(found[-1]))
    return tuple(found)


@cache
def _halves(zeros: int) -> tuple[Words, Words]:
    """The effect of this many zero bytes on the low and on the high half of a register."""
    value = np.arange(1 << 16, dtype=np.uint32)
    if zeros == 1:
        return _over_zero(value), _over_zero(value << np.uint32(16))
    half = _halves(zeros // 2)
    low, high = _advanced(half, half[0]), _advanced(half, half[1])
    return (_over_zero(low), _over_zero(high)) if zeros % 2 else (low, high)
