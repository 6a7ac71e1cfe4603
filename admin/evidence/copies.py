"""Reads a copy of a log without changing it: in segments, or in LMDB of older releases."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import lmdb

from admin.evidence.manifest import NoEvidence
from qsync.errors import StoreError
from qsync.store import meta
from qsync.store.segments.copied import SegmentCopy
from qsync.store.segments.files import has_segments
from qsync.wire import packed

_KEY = struct.Struct(">Q")
_BATCHES, _META, _NUMBERS = b"batches", b"meta", b"numbers"
_DATA = "data.mdb"
_DATABASES = 4
BATCH_BYTES = 4 << 20


class LogCopy(Protocol):
    """A copied log: how far it goes, and its entries. Close it after use."""

    @property
    def confirmed(self) -> int:
        """The confirmed index that it names."""
        ...

    @property
    def durable(self) -> int:
        """The index of its last durable entry."""
        ...

    @property
    def begins(self) -> int:
        """The index of its first entry."""
        ...

    @property
    def problem(self) -> str:
        """What is damaged behind its last entry; empty if nothing is."""
        ...

    def batches(self, first: int) -> Iterator[bytes]:
        """Entries from `first` on, as stored. Raises NoEvidence where it cannot be read."""
        ...

    def close(self) -> None:
        """Close its files."""
        ...


def open_copy(path: Path) -> LogCopy:
    """Open a copy of a log, or a directory with one. Raises NoEvidence."""
    for place in (path / "log", path):
        if has_segments(place):
            return CopyInSegments(place)
        if (place / _DATA).is_file():
            return CopyInLmdb(place)
    raise NoEvidence(f"{path} is no copy of a log: no segments and no {_DATA} in it or in its log")


class CopyInSegments:
    """A copy in segments; see `LogCopy`."""

    def __init__(self, path: Path) -> None:
        """Read it to its end. Raises NoEvidence."""
        try:
            self._copy = SegmentCopy(path)
        except StoreError as error:
            raise NoEvidence(f"{path} cannot be opened as a log: {error.message}") from error
        self.confirmed, self.durable = self._copy.confirmed, self._copy.last
        self.begins, self.problem = max(1, self._copy.begins), self._copy.fault or ""

    def batches(self, first: int) -> Iterator[bytes]:
        """All whole entries from `first` on, or from where it begins."""
        part, first = b"", max(first, self._copy.begins)
        for batch in self._copy.batches(first):
            skipped = max(0, first - packed.first_index(batch))
            part += batch[packed.skip(batch, skipped) :]
            if len(part) >= BATCH_BYTES:
                yield part
                part = b""
        if part:
            yield part

    def close(self) -> None:
        """Do nothing: no file is open between reads."""


class CopyInLmdb:
    """A copy in LMDB; see `LogCopy`."""

    def __init__(self, path: Path) -> None:
        """Open. Raises NoEvidence."""
        try:
            self._env = lmdb.open(
                str(path), readonly=True, lock=False, create=False, max_dbs=_DATABASES
            )
        except (OSError, lmdb.Error) as error:
            raise NoEvidence(f"{path} cannot be opened as a log: {error}") from error
        try:
            self._batches = self._env.open_db(_BATCHES, create=False)
            numbers = self._env.open_db(_META, create=False)
            with self._env.begin() as txn:
                found = meta.unpack(txn.get(_NUMBERS, default=b"", db=numbers))
        except lmdb.Error as error:
            self._env.close()
            raise NoEvidence(f"{path} is no log of a node: {error}") from error
        if found is None:
            self._env.close()
            raise NoEvidence(f"{path} is damaged: its numbers do not verify")
        self.begins, self.problem = 1, ""  # releases with such logs trimmed none
        self.confirmed = int(found.confirmed)
        self.durable = int(found.durable)

    def batches(self, first: int) -> Iterator[bytes]:
        """Entries from `first` on, as stored. Raises NoEvidence where it cannot be read."""
        try:
            yield from self._read(first)
        except lmdb.Error as error:
            raise NoEvidence(f"{self._env.path()} cannot be read: {error}") from error

    def _read(self, first: int) -> Iterator[bytes]:
        with self._env.begin() as txn, txn.cursor(db=self._batches) as cursor:
            above = cursor.set_range(_KEY.pack(first + 1))
            here = cursor.prev() if above else cursor.last()
            if not here and not cursor.first():
                return
            # The record that holds `first` may begin before it.
            begins = _KEY.unpack(cursor.key())[0]
            part = cursor.value()
            part = part[packed.skip(part, max(0, first - begins)) :]
            while cursor.next():
                if len(part) >= BATCH_BYTES:
                    yield part
                    part = b""
                part += cursor.value()
            if part:
                yield part

    def close(self) -> None:
        """Close the environment."""
        self._env.close()
