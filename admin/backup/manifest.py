"""The manifest of a backup: JSON with a checksum, written when all its files are there."""

import hashlib
import json
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Final, TypeVar

from admin.backup.failures import BackupDamaged
from admin.backup.sealing import PlaceSeal
from qsync.checksum import crc32
from qsync.errors import WrongFormat

FORMAT: Final = 1
"""Raised when a reader of the former format would misunderstand."""
SEALED_FORMAT: Final = 2
"""Of the manifest of a sealed place: readers that know of no seals refuse it."""
_SUM: Final = "sum"

T = TypeVar("T", "PlaceManifest", "BackupManifest", "LogManifest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A file, with its size and hash."""

    name: str
    size: int
    crc: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceManifest:
    """The cluster of a place, and how it is sealed. Written first, never changed.

    `id`: tells it from other places, whatever they are called by whom; empty in former releases.
    """

    cluster: str
    id: str = ""
    format: int = FORMAT
    seal: PlaceSeal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupManifest:
    """One backup: all rows exact at `start`, and the log from there up to `last`.

    `start`: the record of where a log goes on behind the rows, as hexadecimal text; `index`,
    `term` and `crc` are those of that entry. `begun` and `ended`: wall clock of the machine that
    made it, in seconds. `index_time`: of the entry at `index`, by the clock of its leader; `time`:
    the latest one up to `last`; `youngest`: the latest one up to `index` that the place told of,
    0 in backups of former releases.
    """

    cluster: str
    index: int
    term: int
    crc: int
    start: str
    index_time: float
    last: int
    last_term: int
    node: str
    instance: str
    begun: float
    ended: float
    time: float
    rows: int
    parts: tuple[Part, ...]
    log: tuple[str, ...]
    release: str
    youngest: float = 0.0
    format: int = FORMAT


@dataclass(frozen=True, slots=True, kw_only=True)
class LogManifest:
    """One part of the log: the entries `first..last`, as nodes store them.

    `before`: the chain checksum of entry `first - 1`; `crc` that of `last`. `settled`: all up to
    `last` was confirmed when it was written, and `last` is in no rolled-back stretch. `follows`:
    the part that was there already and ends just before it. `earliest`, `latest`: times of the
    entries, by the clocks of their leaders; `archived`: when they were seen as confirmed.
    """

    cluster: str
    first: int
    last: int
    before: int
    crc: int
    term: int
    earliest: float
    latest: float
    archived: float
    settled: bool
    follows: str
    part: Part
    format: int = FORMAT


def part_of(name: str, content: bytes) -> Part:
    """Return size and hash of a file's bytes."""
    return Part(
        name=name,
        size=len(content),
        crc=crc32(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )


def check_part(part: Part, content: bytes) -> None:
    """Check that a file is as it was written. Raises BackupDamaged."""
    check_size(part, len(content))
    if hashlib.sha256(content).hexdigest() != part.sha256:
        raise BackupDamaged(f"{part.name} is not as it was written: its checksum does not hold")


def check_size(part: Part, size: int) -> None:
    """Check that a file is as long as it was written. Raises BackupDamaged."""
    if size != part.size:
        raise BackupDamaged(f"{part.name} has {size} bytes and not {part.size}")


def encode(manifest: "PlaceManifest | BackupManifest | LogManifest") -> bytes:
    """Encode it with a checksum."""
    members = json.loads(json.dumps(asdict(manifest)))
    return (json.dumps(members | {_SUM: _sum(members)}, indent=2) + "\n").encode()


def decode(cls: type[T], name: str, content: bytes) -> T:
    """Decode what `encode` has written. Raises BackupDamaged, WrongFormat."""
    try:
        found = json.loads(content)
        total = found.pop(_SUM)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BackupDamaged(f"{name} is no manifest: {_why(error)}") from error
    if total != _sum(found):
        raise BackupDamaged(f"{name} is not as it was written: its checksum does not hold")
    known_format = SEALED_FORMAT if found.get("seal") else FORMAT
    if found.get("format") != known_format:
        raise WrongFormat(
            f"{name} has format {found.get('format')}, this release knows {known_format}",
            hint="use the release that wrote it, or a newer one",
        )
    _check_kind(cls, name, found.keys())
    known = {each.name for each in fields(cls)}
    members = {key: value for key, value in found.items() if key in known}
    try:
        if cls is BackupManifest:
            members["parts"] = tuple(Part(**each) for each in members["parts"])
            members["log"] = tuple(members["log"])
        elif cls is LogManifest:
            members["part"] = Part(**members["part"])
            _check_indexes(members["first"], members["last"])
        elif cls is PlaceManifest and members.get("seal") is not None:
            members["seal"] = PlaceSeal(**members["seal"])
        return cls(**members)
    except (KeyError, TypeError) as error:
        raise BackupDamaged(f"{name} is no manifest of this kind: {error}") from error


def _check_kind(cls: type[T], name: str, members: AbstractSet[str]) -> None:
    """Check that it is not a manifest of another kind, copied there. Raises BackupDamaged.

    It has more members than those of a place, and what is not known would be left out.
    """
    for kind, words in _KINDS.items():
        if not _required(kind) <= _required(cls) and _required(kind) <= members:
            raise BackupDamaged(f"{name} is the manifest of {words}, not of {_KINDS[cls]}")


def _required(cls: type[PlaceManifest | BackupManifest | LogManifest]) -> set[str]:
    return {each.name for each in fields(cls) if each.default is MISSING}


_KINDS: Final[dict[type[PlaceManifest | BackupManifest | LogManifest], str]] = {
    PlaceManifest: "a place",
    BackupManifest: "a backup",
    LogManifest: "a part of the log",
}


def _check_indexes(*found: object) -> None:
    """Names of files are made of them. Raises TypeError."""
    for each in found:
        if not isinstance(each, int):
            raise TypeError(f"{each!r} is no index")


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else "members of it are missing"


def _sum(members: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(members, sort_keys=True).encode()).hexdigest()
