"""One LMDB environment: it grows when it must, reopens after a fault, and has typed errors."""

import os
import threading
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import lmdb

from qsync.errors import StoreError
from qsync.store import faults

if TYPE_CHECKING:
    from lmdb import Transaction, _Database

MAP_SIZE = 1 << 30
MAP_SIZE_MAX = 1 << 40
_DATABASES_MAX = 8
_CHUNK_FIRST, _CHUNK_MAX = 16, 1024
_CHUNK_BYTES_MAX = 8 << 20
_ASIDE_MAX = 9

T = TypeVar("T")


class Environment:
    """A directory with LMDB's two files.

    One thread writes; another may read meanwhile. Reads copy what they need and are short,
    because the map must not move under them when it grows.
    """

    def __init__(
        self,
        path: Path,
        *,
        databases: tuple[str, ...],
        durable: bool,
        map_size: int = MAP_SIZE,
        map_size_max: int = MAP_SIZE_MAX,
    ) -> None:
        """Open, creating what is missing. `durable`: a commit is on the disk when it returns."""
        self.path = path
        self.map_size_max = map_size_max
        self._names = databases
        self._durable = durable
        self._map_size = min(map_size, map_size_max)
        self._suspect = False
        self._moving = threading.RLock()
        self._flushing = threading.Lock()
        self._env, self._dbs = self._open()

    def update(self, change: Callable[["Transaction[bytes]"], T]) -> T:
        """Run `change` in one write transaction and commit it. All of it, or nothing.

        `change` is run again when the map had to grow, so it must have no other effect.
        """
        if self._suspect:
            self._reopen()
        while True:
            try:
                with self._env.begin(write=True) as txn:
                    return change(txn)
            except lmdb.MapFullError:
                self._grow()
            except (OSError, lmdb.Error) as error:
                # LMDB may refuse everything after a failed commit; a fresh handle starts clean.
                self._suspect = True
                raise faults.typed(error, self.path) from error

    def update_in_steps(
        self, change: Callable[["Transaction[bytes]"], Iterator[None]], *, pause: Callable[[], None]
    ) -> Generator[None, None, None]:
        """Run `change` in one write transaction, a step at a time, and commit at its end.

        Between two steps others may read; `pause` ends their views before the map grows or the
        transaction commits. Leaving it half-way gives everything up. Nobody else may write
        meanwhile. `change` is run again when the map had to grow.
        """
        if self._suspect:
            self._reopen()
        while True:
            try:
                with self._env.begin(write=True) as txn:
                    yield from change(txn)
                    pause()
            except lmdb.MapFullError:
                pause()
                self._grow()
            except lmdb.Error as error:
                self._suspect = True
                raise faults.typed(error, self.path) from error
            else:
                return

    def read(self, ask: Callable[["Transaction[bytes]"], T]) -> T:
        """Run `ask` on a read view. It must return copies, not cursors."""
        with self._moving:
            try:
                with self._env.begin() as txn:
                    return ask(txn)
            except lmdb.Error as error:
                raise faults.typed(error, self.path) from error

    def begin(self) -> "Transaction[bytes]":
        """A read view that the caller ends before the next `update`. The writing thread only."""
        try:
            return self._env.begin()
        except lmdb.Error as error:
            raise faults.typed(error, self.path) from error

    def db(self, name: str) -> "_Database":
        """The handle of a named database. Ask inside a transaction: reopening makes new ones."""
        return self._dbs[name]

    def rows(self, name: str, *, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """The rows of a database from `start` on, read in growing chunks."""
        size = _CHUNK_FIRST
        while True:
            chunk, more = self.read(partial(self._chunk, name=name, start=start, size=size))
            yield from chunk
            if not more:
                return
            start, size = chunk[-1][0] + b"\0", min(size * 4, _CHUNK_MAX)

    def _chunk(
        self, txn: "Transaction[bytes]", *, name: str, start: bytes, size: int
    ) -> tuple[list[tuple[bytes, bytes]], bool]:
        """Up to `size` rows, fewer if they are large, and whether there may be more."""
        found: list[tuple[bytes, bytes]] = []
        room = _CHUNK_BYTES_MAX
        with txn.cursor(db=self._dbs[name]) as cursor:
            if not cursor.set_range(start):
                return found, False
            for key, value in cursor:
                found.append((key, value))
                room -= len(value)
                if len(found) == size or room < 0:
                    return found, True
        return found, False

    def sync(self) -> None:
        """Flush what lazy commits left to the operating system."""
        try:
            with self._flushing:
                self._env.sync(True)  # noqa: FBT003 - positional in lmdb
        except lmdb.Error as error:
            raise faults.typed(error, self.path) from error

    def bytes_used(self) -> int:
        """The size of the map that holds data or has held it."""
        return (int(self._env.info()["last_pgno"]) + 1) * int(self._env.stat()["psize"])

    def close(self) -> None:
        """Close; without `sync`, lazy commits are left to the operating system."""
        with self._moving, self._flushing:
            self._env.close()

    def _open(self) -> tuple[lmdb.Environment, dict[str, "_Database"]]:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            env = lmdb.open(
                str(self.path),
                map_size=self._map_size,
                max_dbs=_DATABASES_MAX,
                max_spare_txns=2,
                sync=self._durable,
                metasync=self._durable,
            )
            try:
                self._map_size = int(env.info()["map_size"])
                _cover(env, self.path / "data.mdb")
                dbs = {name: env.open_db(name.encode()) for name in self._names}
                # Always: whoever made the files may have been killed before their names were safe.
                sync_directory(self.path)
                sync_directory(self.path.parent)
            except (OSError, lmdb.Error):
                env.close()
                raise
        except lmdb.MapFullError as error:
            raise faults.map_full(self.path, self._map_size) from error
        except (OSError, lmdb.Error) as error:
            raise faults.typed(error, self.path) from error
        return env, dbs

    def _reopen(self) -> None:
        with self._moving, self._flushing:
            self._env.close()
            self._env, self._dbs = self._open()
            self._suspect = False

    def _grow(self) -> None:
        """Double the map. Nobody reads meanwhile: the map may move."""
        if self._map_size >= self.map_size_max:
            raise faults.map_full(self.path, self.map_size_max)
        with self._moving:
            size = min(self._map_size * 2, self.map_size_max)
            try:
                self._env.set_mapsize(size)
            except lmdb.Error as error:
                raise faults.typed(error, self.path) from error
            self._map_size = size


def _cover(env: lmdb.Environment, file: Path) -> None:
    """Lengthen a file that is shorter than its map says.

    Reading a map beyond the end of its file kills the process; a page of zeros is an error.
    """
    pages = int(env.info()["last_pgno"]) + 1
    size = pages * int(env.stat()["psize"])
    if file.stat().st_size < size:
        os.truncate(file, size)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def set_aside_before(path: Path) -> Iterator[Path]:
    """What was set aside of a directory so far."""
    return (aside for aside in _asides(path) if aside.exists())


def _asides(path: Path) -> list[Path]:
    return [path.with_name(f"{path.name}.damaged-{n}") for n in range(1, _ASIDE_MAX + 1)]


def set_aside(path: Path, *, why: str) -> Path:
    """Rename a directory so that it is kept but not used; `why` is written into it."""
    for aside in _asides(path):
        if not aside.exists():
            try:
                (path / "why.txt").write_text(f"{why}\n", encoding="utf-8")
                path.rename(aside)
                sync_directory(path.parent)
            except OSError as error:
                raise faults.typed(error, path) from error
            return aside
    raise StoreError(
        f"{path} was set aside {_ASIDE_MAX} times already",
        hint=f"look at {path.name}.damaged-* and remove what is not needed",
    )
