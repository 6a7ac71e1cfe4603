"""Checksums of stored rows, and sums over them that say in a few numbers what a space holds."""

import struct
from collections.abc import Iterable, Iterator, Sequence
from operator import mul
from typing import Final, NamedTuple

from qsync.checksum import crc32

SEAL_SIZE: Final = 4
GROUP_SIZE: Final = 4
"""Rows are summed by the first bytes of their keys: those of one space begin alike."""
RESIDUE: Final = 0x2144DF1C
"""The CRC-32 of anything that is followed by its own CRC-32."""
PACK: Final = struct.Struct("<I").pack
_SUM = struct.Struct(">QQQI")
_MASK: Final = (1 << 64) - 1


def seal(key: bytes, value: bytes) -> int:
    """The checksum of a row, its key included: a row in another one's place does not verify."""
    return crc32(value, crc32(key))


def sealed(value: bytes, number: int) -> bytes:
    """The stored form."""
    return value + PACK(number)


def opened(key: bytes, stored: bytes) -> bytes | None:
    """The value that was stored; None when it does not verify."""
    return stored[:-SEAL_SIZE] if crc32(stored, crc32(key)) == RESIDUE else None


def seal_of(stored: bytes) -> int:
    """The checksum that a stored row carries, right or wrong."""
    return int.from_bytes(stored[-SEAL_SIZE:], "little")


def _numbers(stored: Sequence[bytes]) -> tuple[int, ...]:
    """The checksums that stored rows carry."""
    ends = b"".join([each[-SEAL_SIZE:] for each in stored])
    return struct.unpack(f"<{len(stored)}I", ends)


class Sum(NamedTuple):
    """Rows, their checksums added, and their squares added: the order does not matter.

    Squares, because a checksum is linear: without them two values that changed places, or two
    changes that undo each other bit by bit, could add up to the same.
    """

    rows: int = 0
    first: int = 0
    second: int = 0

    def __str__(self) -> str:
        return f"{self.rows}:{self.first:016x}{self.second:016x}"


class Sums:
    """One `Sum` for every group of rows; groups without rows have none."""

    def __init__(self, groups: Iterable[tuple[bytes, Sum]] = ()) -> None:
        self.groups: dict[bytes, Sum] = dict(groups)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sums) and self.groups == other.groups

    __hash__ = None  # type: ignore[assignment]  # they change

    def add(self, changes: "SealChanges") -> None:
        """Take over what a fold has changed."""
        for group, found in changes.upon(self):
            if found.rows:
                self.groups[group] = found
            else:
                self.groups.pop(group, None)

    def differing(self, other: "Sums") -> list[bytes]:
        """The groups that are not the same in both, in order."""
        names = self.groups.keys() | other.groups.keys()
        return sorted(each for each in names if self.groups.get(each) != other.groups.get(each))


class SealChanges:
    """Changes of the sums by rows that come and go."""

    def __init__(self) -> None:
        self._groups: dict[bytes, list[int]] = {}

    def put(self, key: bytes, number: int, *, was: bytes | None = None) -> None:
        """A row with that checksum is there now, and maybe in the place of one that was stored."""
        if was is None:
            self.count(key, 1, number, number * number)
        else:
            former = seal_of(was)
            self.count(key, 0, number - former, number * number - former * former)

    def put_many(
        self, keys: Sequence[bytes], numbers: Sequence[int], was: Sequence[bytes | None]
    ) -> None:
        """The same for many rows."""
        if len({key[:GROUP_SIZE] for key in keys}) != 1:
            for key, number, former in zip(keys, numbers, was, strict=True):
                self.put(key, number, was=former)
            return
        self._count_alike(keys[0], numbers, _numbers([each for each in was if each is not None]))

    def verify(self, rows: list[tuple[bytes, bytes]]) -> bool:
        """Count rows as they are stored, in key order; false when one of them does not verify."""
        for key, stored in rows:
            if crc32(stored, crc32(key)) != RESIDUE or len(stored) < SEAL_SIZE:
                return False
        numbers = _numbers([stored for _, stored in rows])
        if rows and rows[0][0][:GROUP_SIZE] == rows[-1][0][:GROUP_SIZE]:
            # All are of one group: most pages hold rows of one space.
            self._count_alike(rows[0][0], numbers, ())
        else:
            for (key, _), number in zip(rows, numbers, strict=True):
                self.put(key, number)
        return True

    def _count_alike(self, key: bytes, numbers: Sequence[int], gone: Sequence[int]) -> None:
        """Rows of the group of that key have come, and others have gone."""
        self.count(
            key,
            len(numbers) - len(gone),
            sum(numbers) - sum(gone),
            sum(map(mul, numbers, numbers)) - sum(map(mul, gone, gone)),
        )

    def remove(self, key: bytes, was: bytes) -> None:
        """Take a stored row out of the sums."""
        former = seal_of(was)
        self.count(key, -1, -former, -former * former)

    def count(self, key: bytes, rows: int, first: int, second: int) -> None:
        """Add the number to all three."""
        found = self._groups.get(key[:GROUP_SIZE])
        if found is None:
            self._groups[key[:GROUP_SIZE]] = [rows, first, second]
        else:
            found[0] += rows
            found[1] += first
            found[2] += second

    def upon(self, sums: Sums) -> Iterator[tuple[bytes, Sum]]:
        """The groups that change, as they are afterwards."""
        nothing = Sum()
        for group, (rows, first, second) in self._groups.items():
            before = sums.groups.get(group, nothing)
            yield (
                group,
                Sum(
                    before.rows + rows,
                    (before.first + first) & _MASK,
                    (before.second + second) & _MASK,
                ),
            )


def pack(group: bytes, found: Sum) -> bytes:
    """Encode them as they are stored."""
    body = _SUM.pack(found.rows, found.first, found.second, 0)[:-SEAL_SIZE]
    return sealed(body, seal(group, body))


def unpack(group: bytes, stored: bytes) -> Sum | None:
    """The stored numbers; None when they do not verify."""
    if len(stored) != _SUM.size or opened(group, stored) is None:
        return None
    rows, first, second, _ = _SUM.unpack(stored)
    return Sum(rows, first, second)
