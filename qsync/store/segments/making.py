"""A log is there whole or not at all: made beside its place, and renamed."""

import os
import shutil
from pathlib import Path
from typing import Final

from qsync.store import faults
from qsync.store.environment import set_aside, set_aside_before, sync_directory
from qsync.store.meta import Meta
from qsync.store.segments.files import MARK, has_segments, make_spare, place_segment, write_whole
from qsync.store.segments.format import SegmentHeader, pack_mark

_LOG_ID_BYTES: Final = 16


def beside(log: Path) -> Path:
    """Where a log is made before it takes its place."""
    return log.with_name(f"{log.name}.new")


def log_is_missing(log: Path) -> bool:
    """Is there no log, nor one that waits beside its place to follow one that was set aside?

    The latter has the ballot of the former: a crash came between two steps of starting over.
    """
    return not has_segments(log) and not _waits(log)


def _waits(log: Path) -> bool:
    return has_segments(beside(log)) and not log.exists() and any(set_aside_before(log))


def make_segments(folder: Path, numbers: Meta, size: int) -> None:
    """An empty log in a folder that is there; on the disk when this returns."""
    log = os.urandom(_LOG_ID_BYTES)
    make_spare(folder, size)
    place_segment(folder, SegmentHeader(log, 1, size, sequence=0, keeps=1, numbers=numbers))
    handle = os.open(folder / MARK, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644)
    try:
        write_whole(handle, pack_mark(log, 0), 0)
        os.fsync(handle)
    finally:
        os.close(handle)
    sync_directory(folder)


def prepare_log(log: Path, numbers: Meta, size: int) -> None:
    """Make an empty log beside the other one: so there is no moment without a ballot."""
    ready = beside(log)
    try:
        if ready.exists():
            shutil.rmtree(ready)
        ready.mkdir(parents=True)
        make_segments(ready, numbers, size)
        sync_directory(log.parent)
    except OSError as error:
        raise faults.typed(error, ready) from error


def take_place(log: Path, numbers: Meta, size: int) -> None:
    """See that there is a log: the one that waits, or an empty one with these numbers."""
    if has_segments(log):
        return
    if not _waits(log):
        if log.exists() and any(log.iterdir()):
            set_aside(log, why="it holds no segment of a log")
        prepare_log(log, numbers, size)
    move_up(log)


def move_up(log: Path) -> None:
    """Let the log that was made beside this place have it."""
    try:
        beside(log).rename(log)
        sync_directory(log.parent)
    except OSError as error:
        raise faults.typed(error, log) from error
