"""Packed rows of a log as columns of numbers, without a loop over rows (needs numpy)."""

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from admin.evidence.opening import (
    INT_MAX,
    KEY_BYTES_MAX,
    LENGTH_FACTOR,
    SESSION_BYTES_MAX,
    SHIFT,
    SPACE_FACTOR,
    WORD_FACTOR,
)
from qsync.record import HEADER_SIZE, EntryKind
from qsync.wire.packed import PackedRows

Ints: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.uint64]
Reals: TypeAlias = npt.NDArray[np.float64]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Bools: TypeAlias = npt.NDArray[np.bool_]

_HEADER = (
    ("index", ">u8"),
    ("term", ">u8"),
    ("origin", ">u4"),
    ("lsn", ">u8"),
    ("kind", "u1"),
    ("flags", "u1"),
    ("body_len", ">u4"),
    ("time", ">f8"),
    ("crc", ">u4"),
)
_REF_SIZE: Final = 19
_PADDING: Final = SESSION_BYTES_MAX
"""The padding after the last row: every read within the row ends in it."""
_INFOS: Final = 28
_FAR: Final = 1 << 40
_SIZES = np.array([*[0] * 24, 1, 2, 4, 8, *[0] * 4], dtype=np.int64)
_HEX = np.frombuffer(bytes(range(256)).hex().encode(), dtype=np.uint16)
"""The two digits of every byte."""


@dataclass(slots=True)
class Maybe:
    """Numbers with a mask: only those that are `known` mean anything."""

    numbers: Ints
    known: Bools


@dataclass(slots=True)
class LogColumns:
    """Entries of a log, one array for each column. `sessions`: their bytes in one buffer.

    `whole`: every opening was long enough; else ask again for `opening.BYTES_MAX` of every body.
    """

    index: Ints
    term: Ints
    kind: Bytes
    origin: Ints
    lsn: Ints
    flags: Ints
    time: Reals
    crc: Ints
    body_len: Ints
    body_crc: Ints
    ref_owner: Maybe
    ref_lsn: Maybe
    session_hex: Bytes
    session_sizes: Ints
    seq: Maybe
    effects: Maybe
    space: Maybe
    key_hash: Maybe
    whole: bool

    def __len__(self) -> int:
        return len(self.index)


def columns(rows: PackedRows) -> LogColumns:
    """Unpack rows into columns."""
    shape = np.dtype([*_HEADER, ("opening", "u1", (rows.width - HEADER_SIZE,))])
    table = np.frombuffer(rows.slab, dtype=shape)
    ints = {
        name: table[name].astype(np.int64)
        for name, type_ in _HEADER
        if type_ != ">f8" and name != "kind"
    }
    bodies = _Bodies(rows, ints["body_len"])
    is_txn = table["kind"] == int(EntryKind.TXN)
    owner, lsn = bodies.refs(~is_txn)
    opened = bodies.openings(is_txn)
    return LogColumns(
        **ints,
        kind=table["kind"].copy(),
        time=table["time"].astype(np.float64),
        body_crc=np.frombuffer(rows.crcs, dtype="<u4").astype(np.int64),
        ref_owner=owner,
        ref_lsn=lsn,
        session_hex=opened.hex,
        session_sizes=opened.sizes,
        seq=opened.seq,
        effects=opened.effects,
        space=opened.space,
        key_hash=opened.key_hash,
        whole=opened.whole,
    )


@dataclass(slots=True)
class _Told:
    hex: Bytes
    sizes: Ints
    seq: Maybe
    effects: Maybe
    space: Maybe
    key_hash: Maybe
    whole: bool


class _Bodies:
    """The first bytes of all bodies in one array, with the ends of each."""

    def __init__(self, rows: PackedRows, lengths: Ints) -> None:
        self._flat = np.frombuffer(rows.slab + bytes(_PADDING), dtype=np.uint8)
        self._last = len(self._flat) - _PADDING
        self._words = np.ndarray(
            (len(self._flat) - 7,), dtype=">u8", buffer=self._flat, strides=(1,)
        )
        self._count = rows.entries
        self._starts = np.arange(rows.entries, dtype=np.int64) * rows.width + HEADER_SIZE
        self.ends = self._starts + lengths
        """The end of each body, if all of it is present."""
        self.windows = self._starts + (rows.width - HEADER_SIZE)
        """The end of the present part of each body."""

    def refs(self, wanted: Bools) -> tuple[Maybe, Maybe]:
        """Return owner and lsn of control entries."""
        known = wanted & (self.ends - self._starts == _REF_SIZE)
        known &= self.windows - self._starts >= _REF_SIZE
        owner, lsn = (self._word(self._starts + at) for at in (2, 11))
        known &= (owner <= np.uint64(INT_MAX)) & (lsn <= np.uint64(INT_MAX))
        return Maybe(_signed(owner, known), known), Maybe(_signed(lsn, known), known)

    def openings(self, wanted: Bools) -> _Told:
        """Return what the openings of transactions contain."""
        walk = _Walk(self, self._starts, wanted)
        walk.byte(0x84, 0x85)
        size = walk.head(2)
        walk.must(size <= SESSION_BYTES_MAX)
        session_at = walk.at
        walk.skip(size)
        seq = walk.head(0)
        walk.head(0)
        effects = walk.head(4)
        some = walk.those(effects > 0)
        some.byte(0x83)
        space, length = some.head(0), some.head(2)
        some.must(some.at + length <= self.ends)
        key_at = some.at
        some.skip(np.minimum(length, KEY_BYTES_MAX))
        known = walk.sure & ((effects == 0) | some.sure)
        keyed = known & (effects > 0)
        hashes = np.zeros(self._count, dtype=np.int64)
        at = np.flatnonzero(keyed)
        hashes[at] = self._hashes(space[at], key_at[at], length[at])
        size = np.where(known, size, 0)
        return _Told(
            hex=self._hex(session_at, size),
            sizes=size,
            seq=Maybe(seq, known & (seq > 0)),
            effects=Maybe(effects, known),
            space=Maybe(space, keyed),
            key_hash=Maybe(hashes, keyed),
            whole=not (walk.cut_short or some.cut_short),
        )

    def _hashes(self, spaces: Ints, at: Ints, lengths: Ints) -> Ints:
        """Return `opening.key_hash` of many keys."""
        found: Words = spaces.astype(np.uint64) * np.uint64(SPACE_FACTOR)
        found += lengths.astype(np.uint64) * np.uint64(LENGTH_FACTOR)
        left = np.minimum(lengths, KEY_BYTES_MAX)
        rows = np.arange(len(at))
        offset = 0
        while len(rows := rows[left[rows] > offset]):
            word = self._word(at[rows] + offset).byteswap()
            unused = np.maximum(0, 8 - (left[rows] - offset)).astype(np.uint64) * np.uint64(8)
            word &= np.uint64(0xFFFF_FFFF_FFFF_FFFF) >> unused
            mixed = (found[rows] ^ word) * np.uint64(WORD_FACTOR)
            found[rows] = mixed ^ (mixed >> np.uint64(SHIFT))
            offset += 8
        return found.view(np.int64)

    def _hex(self, at: Ints, sizes: Ints) -> Bytes:
        """Return the sessions as hexadecimal digits, one after the other."""
        longest = int(sizes.max(initial=0))
        if not longest:
            return np.zeros(0, dtype=np.uint8)
        # A window that begins at every byte: so many bytes of a row are one element of it.
        windows: npt.NDArray[np.void] = np.ndarray(
            (self._last + 1,), dtype=f"V{longest}", buffer=self._flat, strides=(1,)
        )
        raw = windows[np.minimum(at, self._last)].view(np.uint8)
        digits = _HEX[raw].view(np.uint8).reshape(self._count, 2 * longest)
        if int(sizes.min()) == longest:
            return digits.reshape(-1)
        used: Bytes = digits[np.arange(2 * longest) < 2 * sizes[:, None]]
        return used

    def byte_at(self, at: Ints) -> Bytes:
        """Return a byte of every row."""
        found: Bytes = self._flat[np.minimum(at, self._last)]
        return found

    def _word(self, at: Ints) -> Words:
        found: Words = self._words[np.minimum(at, self._last)].astype(np.uint64)
        return found

    def number_at(self, at: Ints, size: Ints) -> Words:
        """Return big-endian numbers of 1 to 8 bytes."""
        return self._word(at) >> ((8 - np.maximum(size, 1)) * 8).astype(np.uint64)


class _Walk:
    """Parses all openings in step. `good`: not damaged so far; `fit`: all bytes are here."""

    def __init__(self, bodies: _Bodies, at: Ints, good: Bools, fit: Bools | None = None) -> None:
        self.at = at
        self._bodies = bodies
        self._good = good
        self._fit = np.ones(len(at), dtype=np.bool_) if fit is None else fit

    @property
    def sure(self) -> Bools:
        """Which of them are valid, as far as they were read."""
        return self._good & self._fit

    @property
    def cut_short(self) -> bool:
        """Mark those that continue beyond the bytes that are here."""
        return bool(np.any(self._good & ~self._fit))

    def those(self, wanted: Bools) -> "_Walk":
        """Continue with some of the valid ones."""
        return _Walk(self._bodies, self.at, self.sure & wanted, self._fit)

    def must(self, fact: Bools) -> None:
        """Mark as damaged where the condition is false; missing bytes are no damage."""
        self._good = self._good & (fact | ~self._fit)

    def byte(self, *wanted: int) -> None:
        """Read a byte that has to be one of these."""
        self._fit = self._fit & (self.at < self._bodies.windows)
        self.must(np.isin(self._bodies.byte_at(self.at), wanted) & (self.at < self._bodies.ends))
        self.at = self.at + 1

    def head(self, major: int) -> Ints:
        """Read the numbers in CBOR heads of this kind."""
        byte = self._bodies.byte_at(self.at)
        info = (byte & 31).astype(np.int64)
        size = _SIZES[info]
        self._fit = self._fit & (self.at < self._bodies.windows)
        self.must((byte >> 5 == major) & (info < _INFOS) & (self.at < self._bodies.ends))
        numbers = info
        if size.any():
            wide = self._bodies.number_at(self.at + 1, size)
            numbers = np.where(size > 0, wide.view(np.int64), info)
        self.at = self.at + 1
        self.skip(size)
        self.must(numbers >= 0)
        return numbers

    def skip(self, size: Ints) -> None:
        """Skip this many bytes, which must exist."""
        # Numbers that were made up may be anything; from where they led nothing is read.
        self.at = self.at + np.where(self._fit, np.clip(size, 0, _FAR), 0)
        self.must(self.at <= self._bodies.ends)
        self._fit = self._fit & (self.at <= self._bodies.windows)


def _signed(words: Words, known: Bools) -> Ints:
    return np.where(known, words.view(np.int64), 0)
