"""Redacts bundles: no data of users is left, and the checkers prove the same rules by them.

Keys, values, names of spaces, ids of sessions and hashes of rows become digests under a key that is
made up for the bundle and forgotten: what was equal stays equal, and nobody finds a value by trying
all. Terms, indexes, times, lengths and names of nodes stay as they are; so do numbers that a rule
adds up (balances, counters).

Chain checksums are permuted, and the checksum of each body is set so that the chain still holds
where it held: a CRC is linear, so what the two checksums around an entry change by, that of its
body has to change by, too.
"""

import secrets
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b, shake_256
from pathlib import Path
from typing import Final

from admin.evidence.bundle import Bundle, BundlePart, rows_of, write_part
from admin.evidence.manifest import REDACTED, Manifest, NoEvidence
from admin.evidence.parts import check_parquet
from admin.evidence.tables import TABLES, Row
from admin.lab.new_directory import check_new
from qsync.record import HEADER_SIZE
from qsync.store.private import FILE_OF_ALL

KEPT_SETTINGS: Final = ("replication", "fence_seconds")
"""Those that a rule reads."""
_KEY_BYTES: Final = 32
_SEALED: Final = HEADER_SIZE - 4
"""Bytes of a header that its checksum covers."""
_ROUNDS: Final = 4
"""The rounds of a Feistel network: from three on it is pseudorandom (Luby and Rackoff)."""
_HALF: Final = 0xFFFF
_TEXT_FS: Final = frozenset({"get", "put"})
"""Models of texts that grow: an answer is made of pieces, and digests are not."""
_SUMMED_FS: Final = frozenset({"transfer", "add"})
_STEPS: Final = frozenset({"r", "w", "append"})
"""First member of a step of a transaction."""
_POLYNOMIAL: Final = 0xEDB88320
_ONE: Final = 1 << 31
_BYTE: Final = 1 << 23
"""x^0 and x^8 as remainders, in the order of bits that CRC-32 has."""


def redact(source: Bundle, folder: Path, *, key: bytes = b"") -> Bundle:
    """Write a redacted bundle into a new folder. `key`: for tests; else a random one.

    Files of lines become lines, those of Parquet become Parquet. Raises NoEvidence for what is not
    whole, or cannot be redacted.
    """
    source.check_whole()
    clear = source.manifest
    parts = [part for table in TABLES for part in source.parts(table)]
    if any(part.is_parquet for part in parts):
        check_parquet()
    redactor = Redactor(key=key, summed=_summed(source))
    check_new(folder, hint="name a new directory")
    folder.mkdir(parents=True, exist_ok=True)
    for part in parts:
        place = part.path.relative_to(source.path)
        if part.table == "ops":
            place = Path(f"ops{place.suffix}") if place.parent == Path() else place
        _write(folder / place, part, redactor.rows(part.table, _rows(part, clear.run_id)))
    return Bundle(folder, redactor.manifest(clear)).seal()


class Redactor:
    """Redacts rows under one key; those of a log in its order.

    `key`: for tests; else one that nobody knows. `summed`: keys of `ops` whose numbers a rule adds
    up.
    """

    def __init__(self, *, key: bytes = b"", summed: frozenset[str] = frozenset()) -> None:
        digests = KeyedDigests(key or secrets.token_bytes(_KEY_BYTES))
        self._ways: dict[str, Callable[[Iterable[Row]], Iterator[Row]]] = {
            "wal": _Log(digests).rows,
            "status": lambda rows: (_with(row, crc=digests.crc) for row in rows),
            "events": lambda rows: (_with(row, crc=digests.crc) for row in rows),
            "digests": lambda rows: (
                _with(row, space=digests.space, digest=digests.word) for row in rows
            ),
            "ops": _History(digests, summed).rows,
        }

    def rows(self, table: str, rows: Iterable[Row]) -> Iterator[Row]:
        """Return the redacted rows of a table. Raises NoEvidence for what cannot be redacted."""
        return self._ways.get(table, iter)(rows)

    def manifest(self, clear: Manifest) -> Manifest:
        """Return the redacted manifest."""
        nodes = tuple(
            replace(each, address="", problem=each.problem and REDACTED) for each in clear.nodes
        )
        settings = {name: each for name, each in clear.settings.items() if name in KEPT_SETTINGS}
        gaps = dict.fromkeys(clear.gaps, REDACTED)  # reasons name addresses and paths
        found = replace(clear, nodes=nodes, settings=settings, gaps=gaps)
        return replace(found, command=REDACTED, checksums={})


def _rows(part: BundlePart, run_id: str) -> Iterator[Row]:
    if not part.is_parquet:
        return rows_of(part, run_id)
    from admin.evidence import arrow  # noqa: PLC0415 - comes with the extra

    return arrow.rows(part, run_id)


def _write(place: Path, part: BundlePart, rows: Iterable[Row]) -> None:
    if not part.is_parquet:
        write_part(place, rows, mode=FILE_OF_ALL)
        return
    from admin.evidence import arrow  # noqa: PLC0415 - comes with the extra

    arrow.write_rows(place, part.table, rows, mode=FILE_OF_ALL)


def _with(row: Row, **ways: Callable[[object], object]) -> Row:
    """Return a row with some of its columns changed."""
    there = {name: row.get(name) for name in ways}
    return row | {name: ways[name](each) for name, each in there.items() if each is not None}


class KeyedDigests:
    """Names, keys and values as digests under one key. Equal inputs have equal digests."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._tables = [
            array("H", shake_256(key + bytes((number,))).digest(2 << 16))
            for number in range(_ROUNDS)
        ]

    def word(self, value: object) -> object:
        """Redact a text."""
        return f"~{self._digest(b'word', str(value).encode(), 12).hex()}"

    def space(self, value: object) -> object:
        """Redact the name of a space; system spaces keep theirs."""
        return value if str(value).startswith("_") else self.word(value)

    def session(self, value: object) -> object:
        """Redact the id of a session: who knows it may ask for the outcomes of its requests.

        A number is no such id, but that of a client in a history of its own.
        """
        return self.word(value) if isinstance(value, str) else value

    def number(self, value: int) -> int:
        """Redact a number; 0 stays: some kinds of objects begin with it."""
        return int.from_bytes(self._digest(b"number", b"%d" % value, 6)) if value else 0

    def key_hash(self, value: object) -> object:
        """Redact the hash of a key: a signed number of 64 bits."""
        return int.from_bytes(self._digest(b"key", b"%d" % _int(value), 8), signed=True)

    def body_crc(self, value: int) -> int:
        """Redact the checksum of a body that no other one depends on."""
        return int.from_bytes(self._digest(b"body", b"%d" % value, 4))

    def crc(self, value: object) -> object:
        """Redact a chain checksum, one to one; 0, which means none, stays."""
        number = _int(value)
        return (self._permuted(number) or self._permuted(0)) if number else 0

    def _permuted(self, value: int) -> int:
        left, right = value >> 16, value & _HALF
        for table in self._tables:
            left, right = right, left ^ table[right]
        return left << 16 | right

    def _digest(self, kind: bytes, content: bytes, size: int) -> bytes:
        return blake2b(content, digest_size=size, key=self._key, person=kind).digest()


@dataclass(frozen=True, slots=True)
class _Before:
    """The entry before one, with its checksums before and after redaction."""

    index: int
    crc: int
    was: int


_BEGINNING: Final = _Before(0, 0, 0)


class _Log:
    """Redacts rows of `wal`, in the order of each log."""

    def __init__(self, digests: KeyedDigests) -> None:
        self._digests = digests
        self._before: dict[tuple[object, object], _Before] = {}

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Redact the rows one after the other."""
        for row in rows:
            digests, was = self._digests, _int(row["crc"])
            crc = _int(digests.crc(was))
            whose, index = (row["node"], row["generation"]), _int(row["index"])
            before = self._before.get(whose, _BEGINNING)
            if index <= before.index:  # it was cut while it was read, and is read again
                before = _BEGINNING
            self._before[whose] = _Before(index, crc, was)
            found = _with(row, key_hash=digests.key_hash, session=digests.session)
            body, size = row["body_crc"], row["body_len"]
            if body is not None:
                follows = before.index == index - 1
                if follows and size is not None:
                    moved = shifted(before.crc ^ before.was, _SEALED + _int(size))
                    found["body_crc"] = _int(body) ^ was ^ crc ^ moved
                else:
                    found["body_crc"] = digests.body_crc(_int(body))
            yield found | {"crc": crc}


class _History:
    """Redacts rows of `ops`. `summed`: keys of objects whose numbers a rule adds up."""

    def __init__(self, digests: KeyedDigests, summed: frozenset[str]) -> None:
        self._digests = digests
        self._summed = summed

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Redact the rows one after the other. Raises NoEvidence for texts that grow."""
        for row in rows:
            if row["f"] in _TEXT_FS:
                raise NoEvidence("a history of texts that grow cannot be redacted")
            numbers = repr(row["key"]) not in self._summed
            found = _with(
                row,
                key_hash=self._digests.key_hash,
                error=lambda _: REDACTED,
                session=self._digests.session,
            )
            found["key"] = self._value(row["key"], numbers=True)
            yield found | {"value": self._value(row["value"], numbers=numbers)}

    def _value(self, value: object, *, numbers: bool) -> object:
        """Redact a JSON value; its shape stays."""
        if isinstance(value, str):
            return self._digests.word(value)
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, int):
            return self._digests.number(value) if numbers else value
        if isinstance(value, list):
            if len(value) > 1 and isinstance(value[0], str) and value[0] in _STEPS:
                return [value[0], *(self._value(each, numbers=numbers) for each in value[1:])]
            return [self._value(each, numbers=numbers) for each in value]
        if isinstance(value, dict):
            return {
                str(self._digests.word(name)): self._value(each, numbers=numbers)
                for name, each in value.items()
            }
        return self._digests.word(value)  # a number with a fraction: nothing adds it up


def _summed(source: Bundle) -> frozenset[str]:
    """Return the keys of banks and counters; a key that was only read may be one of either."""
    fs: dict[str, set[str]] = {}
    for part in source.parts("ops"):
        for row in _rows(part, source.manifest.run_id):
            fs.setdefault(repr(row["key"]), set()).add(str(row["f"]))
    beside = frozenset().union(*fs.values()) & _SUMMED_FS
    return frozenset(
        key for key, found in fs.items() if found & _SUMMED_FS or (beside and found == {"read"})
    )


def shifted(crc: int, size: int) -> int:
    """Return a difference of CRC-32 checksums after this many more bytes."""
    return _times(_power(size), crc) if crc else 0


@lru_cache(maxsize=4096)
def _power(size: int) -> int:
    """Return x^(8 size), modulo the polynomial."""
    found, square = _ONE, _BYTE
    while size:
        if size & 1:
            found = _times(square, found)
        square = _times(square, square)
        size >>= 1
    return found


def _times(one: int, other: int) -> int:
    """Return the product of two remainders."""
    found, bit = 0, _ONE
    while bit:
        if one & bit:
            found ^= other
        other = (other >> 1) ^ _POLYNOMIAL if other & 1 else other >> 1
        bit >>= 1
    return found


def _int(value: object) -> int:
    assert isinstance(value, int), value
    return value
