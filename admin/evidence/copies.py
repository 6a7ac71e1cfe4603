"""A copy of a log's LMDB environment, looked at without changing a byte of it."""

import struct
from collections.abc import Iterator
from pathlib import Path

import lmdb

from admin.evidence.manifest import NoEvidence
from qsync.store import meta
from qsync.wire import packed

_KEY = struct.Struct(">Q")
_BATCHES, _META, _NUMBERS = b"batches", b"meta", b"numbers"
_DATA = "data.mdb"
_DATABASES = 4
BATCH_BYTES = 4 << 20


class Copy:
    """Its numbers, and its entries. Close it."""

    def __init__(self, path: Path) -> None:
        """Open. Raises NoEvidence when it is no copy of a log."""
        place = path / "log" if (path / "log" / _DATA).is_file() else path
        if not (place / _DATA).is_file():
            raise NoEvidence(f"{path} is no copy of a log: no {_DATA} in it or in its log")
        try:
            self._env = lmdb.open(
                str(place), readonly=True, lock=False, create=False, max_dbs=_DATABASES
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
        """Let go of it."""
        self._env.close()
