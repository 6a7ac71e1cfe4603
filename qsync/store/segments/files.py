"""The files of a log: which there are, how one is made of zeros, and how it gets its place."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from qsync.store.environment import sync_directory
from qsync.store.segments.format import SECTOR, SegmentHeader, pack_header

FIRST_BYTES: Final = 1 << 20
"""Size of a log's first segment: a new node has to wait until it is full of zeros."""
SEGMENT_BYTES: Final = 64 << 20
"""Size of a segment; those before it are smaller, each four times the one before."""
GROWTH: Final = 4
SUFFIX: Final = ".log"
MARK: Final = "flushed"
"""Which record was flushed last: written after it, and not flushed itself."""
SPARE: Final = "spare"
"""A file full of zeros that waits for its number."""
UNREADY: Final = "spare.new"
"""One that is being filled with zeros; what it held before does not count any more."""
_DIGITS: Final = 12
_ZEROS: Final = bytes(1 << 20)


def segment_path(folder: Path, number: int) -> Path:
    """Where the segment of this number is."""
    return folder / f"{number:0{_DIGITS}}{SUFFIX}"


def segment_numbers(folder: Path) -> list[int]:
    """The numbers of the segments that are there, in order."""
    found: list[int] = []
    for each in folder.iterdir():
        digits = each.name.removesuffix(SUFFIX)
        if each.name.endswith(SUFFIX) and digits.isdecimal():
            found.append(int(digits))
    return sorted(found)


def has_segments(folder: Path) -> bool:
    """Is there a log of this form?"""
    return folder.is_dir() and bool(segment_numbers(folder))


def fill_with_zeros(path: Path, size: int, *, pause: Callable[[], None]) -> None:
    """Write zeros all over a file of this size, a piece at a time, each flushed.

    Blocks that hold data need no change of metadata when they are written again, so that flushing
    them is one write of the disk. Whatever the file held before is gone.
    """
    handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644)
    try:
        for at in range(0, size, len(_ZEROS)):
            write_whole(handle, _ZEROS[: size - at], at)
            os.fdatasync(handle)
            pause()
        os.ftruncate(handle, size)
        os.fsync(handle)
    finally:
        os.close(handle)


def make_spare(folder: Path, size: int, *, pause: Callable[[], None] = lambda: None) -> None:
    """Make ready what the next segment will be. Only a file that is all zeros gets the name."""
    fill_with_zeros(folder / UNREADY, size, pause=pause)
    (folder / UNREADY).rename(folder / SPARE)
    sync_directory(folder)


def place_segment(folder: Path, header: SegmentHeader) -> None:
    """Give the spare its header and its number; on the disk when this returns."""
    handle = os.open(folder / SPARE, os.O_WRONLY | os.O_CLOEXEC)
    try:
        write_whole(handle, pack_header(header), 0)
        os.fdatasync(handle)
    finally:
        os.close(handle)
    (folder / SPARE).rename(segment_path(folder, header.number))
    sync_directory(folder)


def retire_segment(folder: Path, number: int) -> None:
    """A segment that does not count any more is the next spare, once it is filled with zeros."""
    segment_path(folder, number).rename(folder / UNREADY)
    sync_directory(folder)


def write_whole(handle: int, data: bytes, at: int) -> None:
    """All of it: the system may take less at once."""
    done = os.pwrite(handle, data, at)
    while done < len(data):
        done += os.pwrite(handle, data[done:], at + done)


def sectors(size: int) -> int:
    """As many whole sectors as are in so many bytes, in bytes."""
    return size // SECTOR * SECTOR
