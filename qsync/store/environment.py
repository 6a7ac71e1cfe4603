"""One LMDB environment: it grows when it must, reopens after a fault, and has typed errors."""

import os
import threading
import weakref
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import lmdb

from qsync.errors import DirectoryGone, StoreError
from qsync.store import faults
from qsync.store.beside import SlowCall
from qsync.store.contract import Opened, Wait
from qsync.store.lasting import LastingView

if TYPE_CHECKING:
    from lmdb import Transaction, _Database

MAP_SIZE = 1 << 30
MAP_SIZE_MAX = 1 << 40
_DATABASES_MAX = 8
_CHUNK_FIRST, _CHUNK_MAX = 16, 1024
_CHUNK_BYTES_MAX = 8 << 20
_ASIDE_MAX = 9
_END: Final = object()
FILE = "data.mdb"

T = TypeVar("T")
Databases = dict[str, "_Database"]
Verify = Callable[["Transaction[bytes]", Databases], None]
"""Checks that the reopened file is the one that was open before; raises StoreError if not."""


class _Form(NamedTuple):
    """How an environment is opened, and reopened."""

    databases: tuple[str, ...]
    durable: bool
    verify: Verify | None


class Environment:
    """A directory with LMDB's two files.

    One thread writes; another may read meanwhile. Reads copy what they need and are short,
    because the map must not move under them when it grows.

    Only the first opening creates anything. A file that is reopened later must be the very file
    that was open before: where a volume is gone there is often an empty directory of another
    disk, and what is acked from there is lost when the volume is back (membership.md M7 b).
    """

    def __init__(
        self,
        path: Path,
        *,
        databases: tuple[str, ...],
        durable: bool,
        map_size: int = MAP_SIZE,
        map_size_max: int = MAP_SIZE_MAX,
        verify: Verify | None = None,
    ) -> None:
        """Open, creating what is missing. `durable`: a commit is on the disk when it returns."""
        self.path = path
        self.map_size_max = map_size_max
        self._form = _Form(databases, durable, verify)
        self._map_size = min(map_size, map_size_max)
        self._suspect = False
        self._moving = threading.RLock()
        self._flushing = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lmdb")
        """For what is written in steps; it begins with the first of them."""
        self._opened = [Opened(times=0)] * 2
        """The first and the last opening: an observer need not trust `gone`."""
        self._views: weakref.WeakSet[LastingView] = weakref.WeakSet()
        self._env, self._dbs = self._open(create=True)
        self._opened[0] = self.opened

    def update(self, change: Callable[["Transaction[bytes]"], T]) -> T:
        """Run `change` in one write transaction and commit it. All of it, or nothing.

        `change` is run again when the map had to grow, so it must have no other effect.
        """
        self._prepare()
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
    ) -> Generator[Wait | None, None, None]:
        """Run `change` in one write transaction, a step at a time, and commit at its end.

        Between two steps others may read; `pause` ends their views before the map grows and when
        the transaction has committed. What may take long is handed over (see `Wait`): the commit,
        which writes every page that was touched. Leaving it half-way gives everything up. Nobody
        else may write meanwhile. `change` is run again when the map had to grow.

        A write transaction belongs to one thread, so there is one for it. The caller of the steps
        waits for each, so that the two do not compete for the interpreter.
        """
        self._prepare()
        while True:
            try:
                yield from self._transact(change)
            except lmdb.MapFullError:
                pause()
                self._grow()
            except lmdb.Error as error:
                self._suspect = True
                raise faults.typed(error, self.path) from error
            else:
                pause()
                return

    def _transact(
        self, change: Callable[["Transaction[bytes]"], Iterator[None]]
    ) -> Generator[Wait | None, None, None]:
        do = self._thread.submit
        txn = do(self._env.begin, write=True).result()
        try:
            steps = change(txn)
            while do(next, steps, _END).result() is not _END:
                yield None
            commit = SlowCall(lambda: do(txn.commit).result())
            yield commit.wait
            commit.result()
        except BaseException:
            do(txn.abort).result()
            raise

    def read(self, ask: Callable[["Transaction[bytes]"], T]) -> T:
        """Run `ask` on a read view. It must return copies, not cursors."""
        with self._moving:
            try:
                with self._env.begin() as txn:
                    return ask(txn)
            except lmdb.Error as error:
                raise faults.typed(error, self.path) from error

    def read_view(self) -> "Transaction[bytes]":
        """A read view that the caller ends before the next `update`. The writing thread only."""
        try:
            return self._env.begin()
        except lmdb.Error as error:
            raise faults.typed(error, self.path) from error

    def lasting_view(self) -> LastingView:
        """A read view that lasts beside writes, as long as the map need not grow."""
        with self._moving:
            view = LastingView(self.read_view(), self.path)
            self._views.add(view)
            return view

    def _end_views(self) -> None:
        for view in list(self._views):
            view.close()

    def db(self, name: str) -> "_Database":
        """The handle of a named database. Ask inside a transaction: reopening makes new ones."""
        return self._dbs[name]

    def sync(self) -> None:
        """Flush what lazy commits left to the operating system."""
        try:
            with self._flushing:
                self._env.sync(True)  # noqa: FBT003 - positional in lmdb
        except lmdb.Error as error:
            raise faults.typed(error, self.path) from error

    @property
    def opened(self) -> Opened:
        """The file that was opened last."""
        return self._opened[1]

    def gone(self) -> str | None:
        """Why the file that is open is not the one at its path any more; None while it is."""
        try:
            here = identity_of(self.path / FILE)
        except StoreError as error:
            return error.message
        if here == self._opened[0][1:]:
            return None
        if here is None:
            return f"{self.path / FILE} does not exist any more"
        return f"{self.path / FILE} is another file than the one that was opened"

    def bytes_used(self) -> int:
        """The size of the map that holds data or has held it."""
        try:
            return (int(self._env.info()["last_pgno"]) + 1) * int(self._env.stat()["psize"])
        except lmdb.Error as error:
            raise faults.typed(error, self.path) from error

    def close(self) -> None:
        """Close; without `sync`, lazy commits are left to the operating system."""
        self._thread.shutdown()
        self._end_views()
        with self._moving, self._flushing:
            self._env.close()

    def _open(self, *, create: bool) -> tuple[lmdb.Environment, Databases]:
        try:
            if create:
                self.path.mkdir(parents=True, exist_ok=True)
            env = lmdb.open(
                str(self.path),
                map_size=self._map_size,
                max_dbs=_DATABASES_MAX,
                max_spare_txns=2,
                sync=self._form.durable,
                metasync=self._form.durable,
                create=create,
            )
            try:
                there = (self.path / FILE).stat()
                self._opened[1] = Opened(self.opened.times + 1, there.st_dev, there.st_ino)
                self._map_size = int(env.info()["map_size"])
                _cover(env, self.path / FILE)
                dbs = {
                    name: env.open_db(name.encode(), create=create) for name in self._form.databases
                }
                if create:
                    # Always: the creator of the files may have been killed before their names
                    # were safe.
                    sync_directory(self.path)
                    sync_directory(self.path.parent)
                else:
                    self._check(env, dbs)
            except (OSError, lmdb.Error, StoreError):
                env.close()
                raise
        except lmdb.MapFullError as error:
            raise faults.map_full(self.path, self._map_size) from error
        except (OSError, lmdb.Error) as error:
            raise faults.typed(error, self.path) from error
        return env, dbs

    def _check(self, env: lmdb.Environment, dbs: Databases) -> None:
        """Check that what was reopened is what was open before, by its file and its content."""
        self._stay()
        if self._form.verify is not None:
            with env.begin() as txn:
                self._form.verify(txn, dbs)

    def _stay(self) -> None:
        why = self.gone()
        if why is not None:
            raise DirectoryGone(why, details={"path": str(self.path)})

    def _prepare(self) -> None:
        """Before every change. A commit into a file without a name would survive no restart."""
        self._stay()
        if self._suspect:
            self._reopen()

    def _reopen(self) -> None:
        """Begin again with a fresh handle. When that fails every access does, until a retry."""
        self._end_views()
        with self._moving, self._flushing:
            self._env.close()
            self._suspect = True
            self._env, self._dbs = self._open(create=False)
            self._suspect = False

    def _grow(self) -> None:
        """Double the map. No thread reads meanwhile: the map may move."""
        if self._map_size >= self.map_size_max:
            raise faults.map_full(self.path, self.map_size_max)
        self._end_views()
        with self._moving:
            size = min(self._map_size * 2, self.map_size_max)
            try:
                self._env.set_mapsize(size)
            except lmdb.Error as error:
                raise faults.typed(error, self.path) from error
            self._map_size = size


def rows(env: Environment, name: str, *, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
    """The rows of a database from `start` on, read in growing chunks."""
    size = _CHUNK_FIRST
    while True:
        chunk, more = env.read(partial(_chunk, env=env, name=name, start=start, size=size))
        yield from chunk
        if not more:
            return
        start, size = chunk[-1][0] + b"\0", min(size * 4, _CHUNK_MAX)


def _chunk(
    txn: "Transaction[bytes]", *, env: Environment, name: str, start: bytes, size: int
) -> tuple[list[tuple[bytes, bytes]], bool]:
    """Return up to `size` rows, fewer if they are large, and whether there may be more."""
    found: list[tuple[bytes, bytes]] = []
    room = _CHUNK_BYTES_MAX
    with txn.cursor(db=env.db(name)) as cursor:
        if not cursor.set_range(start):
            return found, False
        for key, value in cursor:
            found.append((key, value))
            room -= len(value)
            if len(found) == size or room < 0:
                return found, True
    return found, False


def _cover(env: lmdb.Environment, file: Path) -> None:
    """Lengthen a file that is shorter than its map says.

    Reading a map beyond the end of its file kills the process; a page of zeros is an error.
    """
    pages = int(env.info()["last_pgno"]) + 1
    size = pages * int(env.stat()["psize"])
    if file.stat().st_size < size:
        os.truncate(file, size)


def identity_of(file: Path | str) -> tuple[int, int] | None:
    """Device and inode; None when there is nothing of that name. Raises StoreError."""
    try:
        found = os.stat(file)  # noqa: PTH116 - before every write: one call less
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise faults.typed(error, Path(file)) from error
    return found.st_dev, found.st_ino


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all. Its name is safe once the directory is flushed."""
    unready = path.with_name(f"{path.name}.new")
    with unready.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unready.rename(path)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def set_aside_before(path: Path) -> Iterator[Path]:
    """Return what was set aside of a directory so far."""
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
