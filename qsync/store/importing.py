"""Rows of a snapshot, imported into DIR/data.new and then put in the place of DIR/data.

The head lies in `data.new/snapshot`, durable before the first chunk. A chunk is one durable commit,
with its number. When all are there the mark is written, and only a folder that has it is put in the
place of another. A kill at any step leaves the old rows or the new ones, and what was imported.
"""

import shutil
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Final

from election.messages import Index
from qsync.errors import Damaged, StoreError, WrongFormat
from qsync.store import faults, mark, seals
from qsync.store.environment import (
    FILE,
    MAP_SIZE,
    MAP_SIZE_MAX,
    Environment,
    sync_directory,
    write_whole,
)
from qsync.store.head import HEAD_KEY, META, ROWS, SUM_KEY, Head
from qsync.store.mark import MARK
from qsync.store.seals import Sums
from qsync.store.snapshot import (
    SnapshotHead,
    added_up,
    check_all,
    check_next,
    decode_chunk,
    decode_head,
)

if TYPE_CHECKING:
    from lmdb import Transaction

NOTHING: Final = Index(0)
HEAD_FILE: Final = "snapshot"
_TAKEN_KEY: Final = b"taken"
_TAKEN = struct.Struct(">Q")
_ROWS, _META = ROWS.decode(), META.decode()


def beside(data: Path) -> Path:
    """Return the path at which rows are imported."""
    return data.with_name(f"{data.name}.new")


def former(data: Path) -> Path:
    """Return the path of rows that others have replaced, until they are removed."""
    return data.with_name(f"{data.name}.old")


class StoredImport:
    """See `snapshot.RowsImport`. `data`: the folder of the rows that are to be replaced."""

    def __init__(
        self,
        data: Path,
        head: SnapshotHead,
        *,
        map_size: int = MAP_SIZE,
        map_size_max: int = MAP_SIZE_MAX,
    ) -> None:
        """Continue an import of this very snapshot, or start one."""
        self.head = head
        self.path = beside(data)
        self._data = data
        self._maps = (map_size, map_size_max)
        self._opened: Environment | None = None
        self._sums, self._taken = Sums(), 0
        is_pending = pending(data) == head
        self.finished = is_pending and is_finished(data)
        if not is_pending:
            discard(data)
            _begin(self.path, head)
        if self.finished:
            return
        try:
            self._open()
        except (Damaged, WrongFormat):
            if not is_pending:
                raise
            self.discard()  # a power cut took a part of it

    def _open(self) -> None:
        size, limit = self._maps
        env = self._opened = Environment(
            self.path,
            databases=(_ROWS, _META),
            durable=True,
            map_size=size,
            map_size_max=limit,
        )
        kept = env.read(lambda txn: dict(txn.cursor(db=env.db(_META))))
        sums = mark.stored_sums(kept)
        if sums is None:
            raise Damaged(f"{self.path} was imported, and its sums do not hold")
        self._sums = sums
        if HEAD_KEY in kept:
            self._seal()  # the interrupted import had all rows, and no seal yet
        else:
            self._taken = int(_TAKEN.unpack(kept[_TAKEN_KEY])[0]) if _TAKEN_KEY in kept else 0

    def _seal(self) -> None:
        self.close()
        mark.write(self.path / MARK, mark.closed(self.path / FILE))
        self.finished, self._taken = True, 0

    @property
    def _env(self) -> Environment:
        if self._opened is None:
            raise StoreError(f"{self.path} takes no rows any more")
        return self._opened

    @property
    def taken(self) -> int:
        """The number of chunks that are here, durably."""
        return self._taken

    def take_chunk(self, chunk: bytes) -> None:
        """The next chunk, in one durable commit."""
        found = decode_chunk(chunk)
        check_next(self.head, self._taken, found)
        sums = added_up(self._sums, found.rows)

        def commit(txn: "Transaction[bytes]") -> None:
            rows, numbers = self._env.db(_ROWS), self._env.db(_META)
            for key, stored in found.rows:
                if not txn.put(key, stored, db=rows, append=True):
                    raise Damaged(f"chunk {found.number} is not behind the one before it")
            for group, each in sums.groups.items():
                txn.put(SUM_KEY + group, seals.pack(group, each), db=numbers)
            txn.put(_TAKEN_KEY, _TAKEN.pack(found.number), db=numbers)

        self._env.update(commit)
        self._sums, self._taken = sums, found.number

    def finish(self) -> None:
        """Complete the import: from now on the folder is opened with these rows.

        After an error again: it goes on.
        """
        if self._opened is None:
            self._open()  # all rows are there; what failed was their seal
            if self.finished:
                return
        check_all(self.head, self._sums)

        def commit(txn: "Transaction[bytes]") -> None:
            numbers = self._env.db(_META)
            txn.put(HEAD_KEY, Head(Index(self.head.start.index)).pack(), db=numbers)
            txn.delete(_TAKEN_KEY, db=numbers)

        self._env.update(commit)
        self._seal()

    def discard(self) -> None:
        """Forget what was taken, and start again."""
        self.close()
        discard(self._data)
        _begin(self.path, self.head)
        self._sums, self._taken, self.finished = Sums(), 0, False
        self._open()

    def remove(self) -> None:
        """Forget what was taken, for good. Raises StoreError."""
        self.close()
        discard(self._data)

    def close(self) -> None:
        """Release it; what was taken stays."""
        env, self._opened = self._opened, None
        if env is not None:
            env.close()


def pending(data: Path) -> SnapshotHead | None:
    """Which snapshot is being imported beside these rows, or is there; None without one."""
    try:
        return decode_head((beside(data) / HEAD_FILE).read_bytes())
    except (FileNotFoundError, Damaged):
        return None
    except OSError as error:
        raise faults.typed(error, beside(data)) from error


def is_finished(data: Path) -> bool:
    """Return whether all of it is there."""
    return mark.read(beside(data) / MARK) is not None


def put_in_place(data: Path) -> None:
    """Let imported rows be those that count. Killed in between, `settle` does the rest.

    After an error again: it goes on.
    """
    try:
        if beside(data).exists():
            assert is_finished(data)
            _remove(former(data))
            if data.exists():
                data.rename(former(data))
                sync_directory(data.parent)
            beside(data).rename(data)
        sync_directory(data.parent)
        _remove(former(data))
    except OSError as error:
        raise faults.typed(error, data) from error


def settle(data: Path, *, begins: Index, confirmed: Index = NOTHING) -> None:
    """At a start, before rows are opened: complete or forget what was under way.

    `begins`: behind which index the log begins. Where that is the one of rows that wait, the log
    was restarted for them. Rows that are not ahead of it, or of what the log has up to `confirmed`,
    are not needed.
    """
    try:
        head = pending(data)
        was_switched = former(data).exists() and not data.exists()
        if head is not None and is_finished(data):
            if was_switched or (begins and head.start.index == begins):
                put_in_place(data)
        elif was_switched:
            former(data).rename(data)
            sync_directory(data.parent)
        if former(data).exists():
            _remove(former(data))
        head = pending(data)
        if head is None or head.start.index <= max(begins, confirmed):
            discard(data)
    except OSError as error:
        raise faults.typed(error, data) from error


def discard(data: Path) -> None:
    """Forget what was imported."""
    try:
        _remove(beside(data))
    except OSError as error:
        raise faults.typed(error, data) from error


def _begin(path: Path, head: SnapshotHead) -> None:
    try:
        path.mkdir(parents=True)
        write_whole(path / HEAD_FILE, head.encode())
        sync_directory(path.parent)
    except OSError as error:
        raise faults.typed(error, path) from error


def _remove(path: Path) -> None:
    """The mark goes first, so that nothing of the rest is trusted."""
    if path.exists():
        (path / MARK).unlink(missing_ok=True)
        shutil.rmtree(path)
