"""A node's directory: one process at a time, one format version, one identity for ever."""

import fcntl
import os
import statistics
import time
import uuid
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import lmdb

from qsync.directory_files import IDENTITY
from qsync.errors import ConfigError, DirectoryLocked, StoreError, WrongFormat
from qsync.store import faults
from qsync.store.contract import Identity
from qsync.store.environment import sync_directory, write_whole
from qsync.store.identity import FORMAT, identity_text, read_identity
from qsync.store.private import make_private

_PARTS = frozenset({IDENTITY, "log", "data"})
_PROBES = 15
_PROBE_BYTES = 4096


class Directory:
    """An open, locked directory. `identity` is the stored one, `fresh` whether it was just made."""

    def __init__(self, path: Path, *, wanted: Identity) -> None:
        """Open or format. An empty `wanted.instance` accepts any, and asks for a new one."""
        self.path = path
        self._lock = _lock(path)
        try:
            stored, self.format = _stored(path)
            self.fresh = stored is None
            self.identity = _format(path, wanted) if stored is None else _same(stored, wanted)
            if self.identity != stored:
                _store(path, self.identity, self.format)
        except (OSError, lmdb.Error) as error:
            self.close()
            raise faults.typed(error, path) from error
        except BaseException:
            self.close()
            raise

    @property
    def log(self) -> Path:
        """The folder of the log, the ballot and the archive."""
        return self.path / "log"

    @property
    def data(self) -> Path:
        """The folder of the folded spaces."""
        return self.path / "data"

    def renew_instance(self) -> None:
        """Become another instance: what this directory said and promised is lost.

        Durable before anything is written under the new name. It was not there when the cluster
        was founded, so it has no founders (membership.md M5 a, M1 c).
        """
        renewed = replace(self.identity, instance=str(uuid.uuid4()), founders=())
        try:
            _store(self.path, renewed, self.format)
        except OSError as error:
            raise faults.typed(error, self.path) from error
        self.identity = renewed

    def raise_format(self, least: int = FORMAT) -> None:
        """The layout is at least that one from now on: on the disk when this returns.

        Raises StoreError.
        """
        if self.format >= least:
            return
        try:
            _store(self.path, self.identity, least)
        except OSError as error:
            raise faults.typed(error, self.path) from error
        self.format = least

    def probe(self) -> float:
        """Measure how long this disk takes to make a page durable: the median in seconds."""
        page, times = bytes(_PROBE_BYTES), []
        file = self.path / "probe"
        try:
            handle = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
            try:
                for number in range(_PROBES):
                    begun = time.perf_counter()
                    os.pwrite(handle, page, number * _PROBE_BYTES)
                    os.fdatasync(handle)
                    times.append(time.perf_counter() - begun)
            finally:
                os.close(handle)
                file.unlink()
        except OSError as error:
            raise faults.typed(error, file) from error
        return statistics.median(times)

    def close(self) -> None:
        """Let another process have it."""
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def is_formatted(path: Path) -> bool:
    """Does a node's directory stand there, or what is left of one?

    Raises StoreError when it cannot be one, or cannot be read.
    """
    try:
        return not _PARTS.isdisjoint(each.name for each in path.iterdir())
    except FileNotFoundError:
        return False
    except OSError as error:
        raise faults.typed(error, path) from error


def _lock(path: Path) -> int:
    """Take DIR/lock, and write our process id into it for the message to a second process."""
    try:
        make_private(path)
        handle = os.open(path / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise faults.typed(error, path) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    except BlockingIOError:
        pid = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
        os.close(handle)
        raise DirectoryLocked(
            f"process {pid} runs on {path}",
            hint="stop it first, or give this node a directory of its own",
            details={"pid": pid, "path": str(path)},
        ) from None
    except OSError as error:
        os.close(handle)
        raise faults.typed(error, path) from error
    return handle


def _stored(path: Path) -> tuple[Identity | None, int]:
    """The identity written when the directory was formatted, None before that; and the format."""
    try:
        return read_identity(path)
    except FileNotFoundError:
        if (path / "log").exists() or (path / "data").exists():
            raise WrongFormat(
                f"{path} holds data but no {IDENTITY}",
                hint="restore the file, or move the data away",
            ) from None
        return None, FORMAT


def _format(path: Path, wanted: Identity) -> Identity:
    """Make an empty directory ours."""
    if not path.is_dir():
        raise StoreError(f"{path} is not a directory")
    _keep_names(path)
    return wanted if wanted.instance else replace(wanted, instance=str(uuid.uuid4()))


def _keep_names(path: Path) -> None:
    """Make the directory's own name durable, and the names of the directories that lead to it.

    Only before the identity is stored: with that in it a directory has been through here.
    """
    at = path.resolve()
    while not at.is_mount():
        at = at.parent
        try:
            sync_directory(at)
        except PermissionError:
            return  # what we may not read was not made for us, nor anything above it


def _same(stored: Identity, wanted: Identity) -> Identity:
    """Refuse the directory of another node; only the name, a label, may change."""
    for field in ("cluster", "instance", "replica"):
        had, want = getattr(stored, field), getattr(wanted, field)
        if had != want and not (field == "instance" and not want):
            raise ConfigError(
                f"the directory belongs to {field} {had}, the configuration says {want}",
                hint="one directory for each node; ids never change",
                details={"field": field, "stored": had, "wanted": want},
            )
    return replace(stored, name=wanted.name)


def _store(path: Path, identity: Identity, version: int) -> None:
    """Write the identity so that it is either there whole, or not at all."""
    write_whole(path / IDENTITY, identity_text(identity, version).encode())
    sync_directory(path)
