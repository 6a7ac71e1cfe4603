"""The folded spaces in LMDB: every row with a checksum, and wiped when they cannot be trusted."""

from collections.abc import Generator, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import lmdb

from election.messages import Index
from qsync.checksum import crc32
from qsync.errors import Damaged, DirectoryGone, Rebuilding, StoreError, WrongFormat
from qsync.store import longkeys, mark, seals
from qsync.store.beside import SlowCall
from qsync.store.contract import FoldedRows, Wait
from qsync.store.digest import digest
from qsync.store.environment import FILE, MAP_SIZE, MAP_SIZE_MAX, Environment, identity_of
from qsync.store.head import HEAD_KEY, META, ROWS, SUM_KEY, Head
from qsync.store.importing import StoredImport, put_in_place
from qsync.store.mark import MARK, Marking
from qsync.store.rowsview import StoredRowsView, numbers_of, rows_backward, rows_forward
from qsync.store.seals import PACK, RESIDUE, SEAL_SIZE, SealChanges, Sums
from qsync.store.snapshot import RowsImport, SnapshotHead, StoredRow

if TYPE_CHECKING:
    from lmdb import Transaction, _Database

_ROWS, _META = ROWS.decode(), META.decode()
_CHUNK_FIRST, _CHUNK_MAX = 16, 1024
STEP_BYTES: Final = 256 << 10
"""A step of a fold ends after so much, however few rows that are: about 1 ms."""
_END: Final = b"\xff" * (longkeys.KEY_MAX + 1)
_NOT_OURS = (Damaged, WrongFormat, DirectoryGone)


class SpaceStore:
    """See `contract.Spaces`. Commits are not flushed: the log carries durability.

    A mark beside the rows says whether there are commits that were not flushed, and in which run
    of the operating system. When that system crashes LMDB's pages are of any age, so the rows are
    wiped on opening, and `rebuilt` says why; a crash of the process alone does no harm. What was
    closed in order must be the same file again, byte for byte; anything else is looked at page
    by page and row by row before LMDB sees it (see `mark`).

    What does not verify later is never given out: `Rebuilding` says that the rows are to be wiped
    and rebuilt from the log. One thread gets, scans and folds; `sync` may run in another.
    """

    def __init__(
        self,
        path: Path,
        *,
        boot: str | None = None,
        map_size: int = MAP_SIZE,
        map_size_max: int = MAP_SIZE_MAX,
        repair: bool = True,
    ) -> None:
        """Open DIR/data. `boot` is this run's `boot_id()` unless a test says otherwise.

        Without `repair` nothing is ever wiped: the caller only reads.
        """
        self._path = path
        self._boot = mark.boot_id() if boot is None else boot
        self._maps = (map_size, map_size_max)
        self._view: Transaction[bytes] | None = None
        self._scrub: _Scrub | None = None
        self.rebuilt = mark.discard_untrusted(path, self._boot) if repair else None
        """Why there were rows that could not be trusted; None if there were none."""
        try:
            self._open(seals=repair)
        except (Damaged, WrongFormat) as error:
            if not repair:
                raise
            self.rebuilt = error.message
            mark.remove(path)
            self._open(seals=True)
        self._home = identity_of(path.parent)

    def _open(self, *, seals: bool) -> None:
        size, limit = self._maps
        self._env = Environment(
            self._path,
            databases=(_ROWS, _META),
            durable=False,
            map_size=size,
            map_size_max=limit,
        )
        self._rows = self._env.db(_ROWS)
        self._mark = Marking(self._path / MARK, self._boot, seals=seals)
        try:
            kept = self._env.read(lambda txn: dict(txn.cursor(db=self._env.db(_META))))
            head, sums = numbers_of(self._path, kept)
        except BaseException:
            self._env.close()
            raise
        self.folded, self.sums = head.folded, sums
        if not (self._path / MARK).exists():
            self.sync()

    def get(self, key: bytes) -> bytes | None:
        """The value at `key`."""
        if not key:
            return None
        is_short = len(key) <= longkeys.HEAD_SIZE
        name = key if is_short else longkeys.stored_key(key)
        try:
            stored = (self._view or self._begin()).get(name, db=self._rows)
        except (lmdb.Error, StoreError) as error:
            raise self._lost(str(error)) from error
        if stored is None:
            return None
        if crc32(stored, crc32(name)) != RESIDUE:
            raise self._lost("the checksum of a row does not hold")
        value = stored[:-SEAL_SIZE]
        return value if is_short else longkeys.read((name, value))[1]

    def scan(self, lo: bytes, hi: bytes, *, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """The rows with `lo <= key < hi`, in order. A fold meanwhile may be seen in part."""
        first, last = longkeys.bounds(lo, hi)
        rows = longkeys.in_order(self._stored(first, last, reverse=reverse), reverse=reverse)
        if max(len(lo), len(hi)) <= longkeys.HEAD_SIZE:
            return rows
        return (row for row in rows if lo <= row[0] < hi)

    def fold(self, fold: FoldedRows) -> None:
        """Take the rows and the index in one transaction. Raises StoreError, nothing half done."""
        for _ in self.folding(fold, len(fold.puts) + len(fold.deletes)):
            pass

    def folding(self, fold: FoldedRows, rows_max: int) -> Generator[Wait | None, None, None]:
        """Fold in steps of that many rows, in one transaction: nothing is done before the end.

        Best in key order: neighbours share a page, and a page is written once.
        """
        assert fold.folded >= self.folded
        passed = b"" if self._scrub is None else self._scrub.at
        change = _Change(fold, rows_max=max(1, rows_max), sums=self.sums, passed=passed)

        def commit(txn: "Transaction[bytes]") -> Iterator[None]:
            return change.commit(txn, self._env.db(_ROWS), self._env.db(_META))

        self._end_view()
        begin, done = SlowCall(self._mark.begin_change), False
        try:
            if self._mark.must_change:
                yield begin.wait
            begin.result()
            yield from self._env.update_in_steps(commit, pause=self._end_view)
            done = True
            self.folded = fold.folded
            self.sums.add(change.all)
            if self._scrub is not None:
                self._scrub.found.add(change.behind)
        except _NOT_OURS as error:
            if isinstance(error, DirectoryGone) and not _is_at_home(self._path, self._home):
                raise
            raise self._lost(error.message) from error
        finally:
            self._mark.end(done=done)

    def sync(self) -> Index:
        """Make what is folded durable; the index up to which it is."""
        upto, changes = self.folded, self._mark.changes
        self._env.sync()
        self._mark.flushed(changes)
        return upto

    def wipe(self) -> None:
        """Forget every row, and the file they were in: they are rebuilt from the log."""
        self._end_view()
        if not _is_at_home(self._path, self._home):
            raise DirectoryGone(f"{self._path.parent} is not the directory that was opened")
        self._env.close()
        self._scrub = None
        mark.remove(self._path)
        self._open(seals=True)

    def scrub(self, rows_max: int) -> bool:
        """Check that many further rows; true when all were checked, and the next call begins again.

        Folds in between are fine. Raises Rebuilding when a row was changed, lost or added.
        """
        scrub = self._scrub = self._scrub or _Scrub()
        rows = self._fetch(scrub.at, _END, rows_max, scrub.at)
        seen = SealChanges()
        if not seen.verify(rows):
            raise self._lost("the checksum of a row does not hold")
        scrub.found.add(seen)
        if len(rows) == rows_max:
            scrub.at = rows[-1][0]
            return False
        self._scrub = None
        if scrub.found != self.sums:
            raise self._lost("the rows are not those that were folded")
        return True

    def view(self) -> StoredRowsView:
        """Return all rows as they are now, for any thread."""
        return StoredRowsView(self._env, self._path)

    def importing(self, head: SnapshotHead) -> StoredImport:
        """Begin to take a snapshot beside these rows, or go on with it."""
        size, limit = self._maps
        return StoredImport(self._path, head, map_size=size, map_size_max=limit)

    def install(self, rows: RowsImport) -> None:
        """The rows that were imported take the place of these, and of their file."""
        rows.close()
        self._end_view()
        self._env.close()
        self._scrub = None
        put_in_place(self._path)
        self._open(seals=True)
        assert self.folded == rows.head.start.index

    def digest(self, lo: bytes, hi: bytes) -> str:
        """A hash over the rows with `lo <= key < hi`, in key order."""
        return digest(self.scan(lo, hi))

    def bytes_used(self) -> int:
        """The bytes that the rows take of the disk."""
        return self._env.bytes_used()

    def close(self) -> None:
        """Make durable and release."""
        self.sync()
        self.abandon()
        self._mark.seal(self._path / FILE)

    def abandon(self) -> None:
        """Release without flushing, as when the process dies."""
        self._end_view()
        self._env.close()

    def _lost(self, why: str) -> Rebuilding:
        """Note that the file cannot be trusted any more, unless it is rebuilt."""
        self._mark.distrust()
        return Rebuilding(f"rows that are stored cannot be trusted: {why}")

    def _begin(self) -> "Transaction[bytes]":
        self._view, self._rows = self._env.read_view(), self._env.db(_ROWS)
        return self._view

    def _end_view(self) -> None:
        """A view would keep the map from growing and its pages from being used again."""
        if self._view is not None:
            self._view.abort()
            self._view = None

    def _stored(self, lo: bytes, hi: bytes, *, reverse: bool) -> Iterator[tuple[bytes, bytes]]:
        """Rows with `lo <= key < hi`, read in growing chunks; who stops early verifies no more."""
        size, seen = _CHUNK_FIRST, None
        while lo < hi:
            chunk = self._fetch(lo, hi, size, seen, reverse=reverse)
            for key, stored in chunk:
                if crc32(stored, crc32(key)) != RESIDUE:
                    raise self._lost("the checksum of a row does not hold")
                yield key, stored[:-SEAL_SIZE]
            if len(chunk) < size:
                return
            seen = chunk[-1][0]
            lo, hi = (lo, seen) if reverse else (seen, hi)
            size = min(size * 4, _CHUNK_MAX)

    def _fetch(
        self, lo: bytes, hi: bytes, size: int, seen: bytes | None, *, reverse: bool = False
    ) -> list[StoredRow]:
        """Return up to `size` stored rows of a range, without the one that was `seen`."""
        fetch = rows_backward if reverse else rows_forward
        try:
            return fetch(self._view or self._begin(), self._rows, lo, hi, size=size, seen=seen)
        except (lmdb.Error, StoreError) as error:
            raise self._lost(str(error)) from error


def _is_at_home(path: Path, home: tuple[int, int] | None) -> bool:
    """Return whether the directory above is still the same; else there is nothing to mend."""
    try:
        return identity_of(path.parent) == home
    except StoreError:
        return False


class _Change:
    """A fold on its way into a transaction, and what it changes of the sums."""

    def __init__(self, fold: FoldedRows, *, rows_max: int, sums: Sums, passed: bytes) -> None:
        """`passed`: how far a scrub has come; what changes up to there it has counted already."""
        self._puts, self._deletes = fold.puts, fold.deletes
        self._folded = fold.folded
        self._rows_max = rows_max
        self._sums = sums
        self._passed = passed
        self.all, self.behind = SealChanges(), SealChanges()

    def commit(
        self, txn: "Transaction[bytes]", rows: "_Database", numbers: "_Database"
    ) -> Iterator[None]:
        """In steps. It may be run again, from the start."""
        self.all, self.behind = SealChanges(), SealChanges()
        yield from self._delete(txn, rows)
        yield from self._put(txn, rows)
        for group, each in self.all.upon(self._sums):
            if each.rows:
                txn.put(SUM_KEY + group, seals.pack(group, each), db=numbers)
            else:
                txn.delete(SUM_KEY + group, db=numbers)
        txn.put(HEAD_KEY, Head(self._folded).pack(), db=numbers)

    def _delete(self, txn: "Transaction[bytes]", rows: "_Database") -> Iterator[None]:
        for at in range(0, len(self._deletes), self._rows_max):
            for key in map(longkeys.stored_key, self._deletes[at : at + self._rows_max]):
                was = txn.pop(key, db=rows)
                if was is not None:
                    self.all.remove(key, was)
                    if key <= self._passed:
                        self.behind.remove(key, was)
            yield

    def _put(self, txn: "Transaction[bytes]", rows: "_Database") -> Iterator[None]:
        rest = iter(self._puts)
        with txn.cursor(db=rows) as cursor:
            # Opening a cursor takes a third of the time of a write.
            replace = cursor.replace
            while True:
                keys: list[bytes] = []
                numbers: list[int] = []
                was: list[bytes | None] = []
                room = STEP_BYTES
                for name, content in islice(rest, self._rows_max):
                    key = longkeys.stored_key(name)
                    value = longkeys.stored_value(name, content)
                    number = crc32(value, crc32(key))
                    was.append(replace(key, value + PACK(number)))
                    keys.append(key)
                    numbers.append(number)
                    room -= len(value)
                    if room <= 0:
                        break
                if not keys:
                    return
                self._count(keys, numbers, was)
                yield

    def _count(self, keys: list[bytes], numbers: list[int], was: list[bytes | None]) -> None:
        self.all.put_many(keys, numbers, was)
        if self._passed:
            for key, number, former in zip(keys, numbers, was, strict=True):
                if key <= self._passed:
                    self.behind.put(key, number, was=former)


class _Scrub:
    """How far a check of all rows has come, and the sums of the rows so far."""

    def __init__(self) -> None:
        self.at = b""
        self.found = Sums()
