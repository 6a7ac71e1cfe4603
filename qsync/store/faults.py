"""Errors of the disk and of LMDB, as errors of our tree."""

import errno
import os
import resource
from pathlib import Path

import lmdb

from qsync.disk_errors import NO_ROOM
from qsync.errors import Damaged, DiskFull, DiskUnreadable, StoreError, WrongFormat

ROOM_MIN = 1024 * 1024
"""A write that fails with less room than this in bytes failed for want of room.

LMDB reports a write that was cut short as an input/output error, so the number has to be asked.
"""

_READ_ONLY = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_NO_ANSWER = frozenset(
    {errno.EIO, errno.ENXIO, errno.ENODEV, errno.ESTALE, errno.ETIMEDOUT, errno.EREMOTEIO}
)
_DAMAGE = (
    lmdb.CorruptedError,
    lmdb.PageNotFoundError,
    lmdb.InvalidError,
)


def typed(error: OSError | lmdb.Error, path: Path) -> StoreError:
    """The error of our tree that says what this one means at `path`."""
    number = error.errno if isinstance(error, OSError) else getattr(error, "code", 0)
    where = {"path": str(path)}
    if isinstance(error, lmdb.VersionMismatchError):
        return WrongFormat(
            f"{path} was written by another version of LMDB: {error}", details=dict(where)
        )
    if isinstance(error, _DAMAGE):
        return Damaged(f"{path}: {error}", details=dict(where))
    if number in NO_ROOM or (number == errno.EIO and _no_room(path)):
        return DiskFull(
            f"no room left for {path}: {error}",
            hint="free some space; a running node goes on by itself",
            details=dict(where),
        )
    if number in _READ_ONLY:
        return StoreError(
            f"{path} cannot be written: {error}",
            hint="the user that runs the node must own the directory, on a writable filesystem",
            details=dict(where),
        )
    return StoreError(f"{path}: {error}", details=dict(where))


def unreadable(error: OSError, path: Path) -> StoreError:
    """The error that says that reading failed.

    That is not damage, which says that other bytes stand there than were written. What the disk
    does not give back now it may give back later, and a node that forgets a log for it forgets
    acks and votes: nothing repairs that in place, and two of three nodes with one bad storage
    network would have no quorum left (membership.md M5). So the log is left as it is.
    """
    if error.errno not in _NO_ANSWER:
        return typed(error, path)
    return DiskUnreadable(f"{path} cannot be read: {error}", details={"path": str(path)})


def map_full(path: Path, limit: int) -> DiskFull:
    """The map may not grow any more."""
    return DiskFull(
        f"{path} has reached its limit of {limit} bytes",
        hint="raise `store.map_size_max`",
        details={"path": str(path), "limit": limit},
    )


def _no_room(path: Path) -> bool:
    """Return whether the filesystem, or the largest file of this process, is used up."""
    soft, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    files = [file.stat().st_size for file in path.glob("*.mdb")] if path.is_dir() else []
    if soft != resource.RLIM_INFINITY and soft - max(files, default=0) < ROOM_MIN:
        return True
    disk = os.statvfs(path)
    return disk.f_bavail * disk.f_frsize < ROOM_MIN
