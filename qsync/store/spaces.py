"""The folded spaces in LMDB: written lazily, and wiped when a crash left them of uncertain age."""

import os
import shutil
import struct
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from election.messages import Index
from qsync.store import faults, longkeys
from qsync.store.contract import Fold
from qsync.store.digest import digest
from qsync.store.environment import MAP_SIZE, MAP_SIZE_MAX, Environment, sync_directory

if TYPE_CHECKING:
    from lmdb import Transaction

_ROWS, _META = "rows", "meta"
_FOLDED_KEY = b"folded"
_FOLDED = struct.Struct(">Q")
_CLEAN, _DIRTY = "clean", "dirty"
_MARK = "mark"
_CHUNK_FIRST, _CHUNK_MAX = 16, 1024


def boot_id() -> str:
    """Names this run of the operating system; empty where it cannot be told."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


class SpaceStore:
    """See `contract.Spaces`. Commits are not flushed: the log carries durability.

    A mark beside the rows says whether there are commits that were not flushed, and in which run
    of the operating system. When that system crashes LMDB's pages are of any age, so the rows are
    wiped on opening, and `rebuilt` says so; a crash of the process alone does no harm.
    One thread gets, scans and folds; `sync` may run in another.
    """

    def __init__(
        self,
        path: Path,
        *,
        boot: str | None = None,
        map_size: int = MAP_SIZE,
        map_size_max: int = MAP_SIZE_MAX,
    ) -> None:
        """Open DIR/data. `boot` is this run's `boot_id()` unless a test says otherwise."""
        self._mark_file = path / _MARK
        self._boot = boot_id() if boot is None else boot
        self._marking = threading.Lock()
        self.rebuilt = _discard_untrusted(path, self._boot)
        self._env = Environment(
            path,
            databases=(_ROWS, _META),
            durable=False,
            map_size=map_size,
            map_size_max=map_size_max,
        )
        self._rows = self._env.db(_ROWS)
        self._view: Transaction[bytes] | None = None
        self._changing = False
        self._clean = _read_mark(self._mark_file) == _CLEAN
        stored = self._env.read(lambda txn: txn.get(_FOLDED_KEY, db=self._env.db(_META)))
        self.folded = Index(_FOLDED.unpack(stored)[0] if stored else 0)
        if not self._mark_file.exists():
            self.sync()

    def get(self, key: bytes) -> bytes | None:
        """The value at `key`."""
        view = self._view or self._begin()
        if len(key) <= longkeys.HEAD_SIZE:
            return view.get(key, db=self._rows) if key else None
        short = longkeys.stored_key(key)
        stored = view.get(short, db=self._rows)
        return None if stored is None else longkeys.read((short, stored))[1]

    def scan(self, lo: bytes, hi: bytes, *, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """The rows with `lo <= key < hi`, in order. A fold meanwhile may be seen in part."""
        first, last = longkeys.bounds(lo, hi)
        rows = longkeys.in_order(self._stored(first, last, reverse=reverse), reverse=reverse)
        if max(len(lo), len(hi)) <= longkeys.HEAD_SIZE:
            return rows
        return (row for row in rows if lo <= row[0] < hi)

    def fold(self, fold: Fold) -> None:
        """Take the rows and the index in one transaction. Raises StoreError, nothing half done."""
        for _ in self.folding(fold, len(fold.puts) + len(fold.deletes)):
            pass

    def folding(self, fold: Fold, rows_max: int) -> Generator[None, None, None]:
        """The same in steps of so many rows, in one transaction: nothing is done before the end.

        In key order: neighbours share a page, and a page is written once.
        """
        assert fold.folded >= self.folded
        key, value = longkeys.stored_key, longkeys.stored_value
        puts, deletes = sorted(fold.puts), sorted(fold.deletes)

        def commit(txn: "Transaction[bytes]") -> Generator[None, None, None]:
            rows = self._env.db(_ROWS)
            for at in range(0, len(deletes), max(1, rows_max)):
                for gone in deletes[at : at + rows_max]:
                    txn.delete(key(gone), db=rows)
                yield
            for at in range(0, len(puts), max(1, rows_max)):
                for name, content in puts[at : at + rows_max]:
                    txn.put(key(name), value(name, content), db=rows)
                yield
            txn.put(_FOLDED_KEY, _FOLDED.pack(fold.folded), db=self._env.db(_META))

        self._begin_change()
        try:
            yield from self._env.update_in_steps(commit, pause=self._end_view)
            with self._marking:
                self.folded = fold.folded
        finally:
            self._changing = False

    def sync(self) -> Index:
        """Make what is folded durable; the index up to which it is."""
        upto = self.folded
        self._env.sync()
        with self._marking:
            if self.folded == upto and not self._clean and not self._changing:
                # First: when writing fails the mark may say so all the same, and must be changed.
                self._clean = True
                _write_mark(self._mark_file, _CLEAN)
        return upto

    def wipe(self) -> None:
        """Forget every row: they are rebuilt from the log."""

        def commit(txn: "Transaction[bytes]") -> None:
            txn.drop(self._env.db(_ROWS), delete=False)
            txn.delete(_FOLDED_KEY, db=self._env.db(_META))

        self._begin_change()
        try:
            self._env.update(commit)
            with self._marking:
                self.folded = Index(0)
        finally:
            self._changing = False

    def digest(self, lo: bytes, hi: bytes) -> str:
        """A hash over the rows with `lo <= key < hi`, in key order."""
        return digest(self.scan(lo, hi))

    def bytes_used(self) -> int:
        """How much of the disk the rows take."""
        return self._env.bytes_used()

    def close(self) -> None:
        """Make durable and release."""
        self.sync()
        self.abandon()

    def abandon(self) -> None:
        """Release without flushing, as when the process dies."""
        self._end_view()
        self._env.close()

    def _begin_change(self) -> None:
        """The mark must be on the disk before anything is that is not flushed."""
        with self._marking:
            if self._clean:
                _write_mark(self._mark_file, self._boot or _DIRTY)
                self._clean = False
            self._changing = True
        self._end_view()

    def _begin(self) -> "Transaction[bytes]":
        self._view, self._rows = self._env.begin(), self._env.db(_ROWS)
        return self._view

    def _end_view(self) -> None:
        """A view would keep the map from growing and its pages from being used again."""
        if self._view is not None:
            self._view.abort()
            self._view = None

    def _stored(self, lo: bytes, hi: bytes, *, reverse: bool) -> Iterator[tuple[bytes, bytes]]:
        """Stored rows with `lo <= key < hi`, read in growing chunks."""
        size, seen = _CHUNK_FIRST, None
        fetch = self._backward if reverse else self._forward
        while lo < hi:
            chunk = fetch(lo, hi, size, seen)
            yield from chunk
            if len(chunk) < size:
                return
            seen = chunk[-1][0]
            lo, hi = (lo, seen) if reverse else (seen, hi)
            size = min(size * 4, _CHUNK_MAX)

    def _forward(
        self, lo: bytes, hi: bytes, size: int, seen: bytes | None
    ) -> list[tuple[bytes, bytes]]:
        """Up to `size` rows from `lo` on, without the one that was `seen`."""
        found: list[tuple[bytes, bytes]] = []
        with (self._view or self._begin()).cursor(db=self._rows) as cursor:
            here = cursor.set_range(lo) if lo else cursor.first()
            if here and cursor.key() == seen:
                here = cursor.next()
            while here and len(found) < size:
                item = cursor.item()
                if item[0] >= hi:
                    break
                found.append(item)
                here = cursor.next()
        return found

    def _backward(
        self, lo: bytes, hi: bytes, size: int, _seen: bytes | None
    ) -> list[tuple[bytes, bytes]]:
        """Up to `size` rows below `hi`, last first."""
        found: list[tuple[bytes, bytes]] = []
        with (self._view or self._begin()).cursor(db=self._rows) as cursor:
            here = cursor.prev() if cursor.set_range(hi) else cursor.last()
            while here and len(found) < size:
                item = cursor.item()
                if item[0] < lo:
                    break
                found.append(item)
                here = cursor.prev()
        return found


def is_trusted(path: Path, *, boot: str | None = None) -> bool:
    """There are rows in DIR/data, and no crash of the system may have mixed them up."""
    mark, here = _read_mark(path / _MARK), boot_id() if boot is None else boot
    return path.exists() and (mark == _CLEAN or (bool(mark) and mark == here))


def _discard_untrusted(path: Path, boot: str) -> bool:
    """Remove rows that are not to be trusted; whether there were any."""
    if not path.exists() or is_trusted(path, boot=boot):
        return False
    try:
        shutil.rmtree(path)
    except OSError as error:
        raise faults.typed(error, path) from error
    return True


def _read_mark(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise faults.typed(error, file) from error


def _write_mark(file: Path, mark: str) -> None:
    """Durable when it returns. At every moment there is a whole mark, the former or the new one."""
    unready = file.with_suffix(".new")
    try:
        handle = os.open(unready, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
        try:
            os.write(handle, mark.encode())
            os.fsync(handle)
        finally:
            os.close(handle)
        unready.rename(file)
        sync_directory(file.parent)
    except OSError as error:
        raise faults.typed(error, file.parent) from error
