"""Views and imports of rows in memory: what `rowsview` and `importing` are on a disk."""

from collections.abc import Iterable

from election.messages import Index
from qsync.store import longkeys, seals
from qsync.store.seals import Sums
from qsync.store.snapshot import (
    SnapshotHead,
    StoredRow,
    added_up,
    check_all,
    check_next,
    decode_chunk,
)


class MemoryRowsView:
    """See `contract.RowsView`: a copy."""

    def __init__(self, rows: Iterable[tuple[bytes, bytes]], *, folded: Index) -> None:
        self.folded = folded
        self._rows: list[StoredRow] = []
        for name, content in rows:
            key, value = longkeys.stored_key(name), longkeys.stored_value(name, content)
            self._rows.append((key, seals.sealed(value, seals.seal(key, value))))
        self._rows.sort()
        self.sums: Sums = added_up(Sums(), self._rows)

    def rows(self, after: bytes, bytes_max: int) -> list[StoredRow]:
        """Rows behind a stored key."""
        found: list[StoredRow] = []
        for row in self._rows:
            if row[0] > after:
                found.append(row)
                bytes_max -= len(row[0]) + len(row[1])
                if bytes_max <= 0:
                    break
        return found

    def close(self) -> None:
        """Do nothing: nothing was kept for it."""


class MemoryImport:
    """See `snapshot.RowsImport`."""

    def __init__(self, head: SnapshotHead) -> None:
        self.head = head
        self.finished = False
        self._rows: list[StoredRow] = []
        self._taken = 0

    @property
    def taken(self) -> int:
        """The number of chunks that are here."""
        return self._taken

    def take_chunk(self, chunk: bytes) -> None:
        """The next chunk."""
        found = decode_chunk(chunk)
        check_next(self.head, self._taken, found)
        self._rows += found.rows
        self._taken = found.number

    def finish(self) -> None:
        """No chunk is left."""
        check_all(self.head, added_up(Sums(), self._rows))
        self.finished = True

    def discard(self) -> None:
        """Forget what was taken."""
        self._rows, self._taken, self.finished = [], 0, False

    def remove(self) -> None:
        """Forget what was taken, for good."""
        self.discard()

    def close(self) -> None:
        """Close it; what was taken stays."""

    def contents(self) -> dict[bytes, bytes]:
        """Keys and values as they were folded."""
        assert self.finished
        return dict(longkeys.read((key, stored[: -seals.SEAL_SIZE])) for key, stored in self._rows)
