"""A log is there whole or not at all: made beside its place, and renamed."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from qsync.core.logstart import LogStart
from qsync.store import archive, faults
from qsync.store.contract import Tail
from qsync.store.environment import set_aside, set_aside_before, sync_directory
from qsync.store.meta import Meta
from qsync.store.segments.beginning import TAILS, LogBeginning, write_beginning
from qsync.store.segments.files import MARK, has_segments, make_spare, place_segment, write_whole
from qsync.store.segments.format import SegmentHeader, pack_mark

_LOG_ID_BYTES: Final = 16


def beside(log: Path) -> Path:
    """Return the path at which a log is made before it takes its place."""
    return log.with_name(f"{log.name}.new")


def former(log: Path) -> Path:
    """Return the path of a log that another one has replaced, until it is removed."""
    return log.with_name(f"{log.name}.old")


def log_is_missing(log: Path) -> bool:
    """Return whether there is no log, nor one that waits to follow one that was set aside.

    The latter has the ballot of the former: a crash came between two steps of starting over.
    """
    return not has_segments(log) and not _waits(log)


def _waits(log: Path) -> bool:
    has_former = former(log).exists() or any(set_aside_before(log))
    return has_segments(beside(log)) and not log.exists() and has_former


def make_segments(folder: Path, numbers: Meta, size: int) -> bytes:
    """An empty log in a folder that is there; on the disk when this returns. Which one it is."""
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
    return log


def prepare_log(log: Path, numbers: Meta, size: int) -> None:
    """Make an empty log beside the other one: so there is no moment without a ballot."""
    ready = beside(log)
    try:
        _prepare(ready, numbers, size)
        sync_directory(log.parent)
    except OSError as error:
        raise faults.typed(error, ready) from error


def prepare_log_behind(
    log: Path, numbers: Meta, size: int, *, start: LogStart, tails: Sequence[Tail]
) -> None:
    """Make beside it a log that begins behind `start` and keeps these archived tails."""
    ready = beside(log)
    try:
        made = _prepare(ready, numbers, size)
        archive.export(tails, ready / TAILS)
        write_beginning(ready, LogBeginning(made, 1, len(tails), start))
        sync_directory(log.parent)
    except OSError as error:
        raise faults.typed(error, ready) from error


def _prepare(ready: Path, numbers: Meta, size: int) -> bytes:
    if ready.exists():
        shutil.rmtree(ready)
    ready.mkdir(parents=True)
    return make_segments(ready, numbers, size)


def put_in_place(log: Path) -> None:
    """The log that was made beside this one replaces it. Killed in between, it does at a start."""
    try:
        _remove_former(log)
        log.rename(former(log))
        sync_directory(log.parent)
        move_up(log)
        _remove_former(log)
    except OSError as error:
        raise faults.typed(error, log) from error


def _remove_former(log: Path) -> None:
    if former(log).exists():
        shutil.rmtree(former(log))


def take_place(log: Path, numbers: Meta, size: int) -> None:
    """See that there is a log: the one that waits, or an empty one with these numbers."""
    if has_segments(log):
        _remove_former(log)
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
