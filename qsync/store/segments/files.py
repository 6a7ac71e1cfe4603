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
"""One that is being filled with zeros: so far it holds nothing else."""
USED: Final = "spare.old"
"""One that was a segment: what it holds does not count any more."""
PIECE_BYTES: Final = 1 << 20
"""So many zeros are written before they are flushed."""
RELEASE_BYTES: Final = 8 << 20
"""So much of a file that goes is given back at once."""
_DIGITS: Final = 12


def segment_path(folder: Path, number: int) -> Path:
    """Return the path of the segment of this number."""
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
    """Return whether there is a log of this form."""
    return folder.is_dir() and bool(segment_numbers(folder))


def fill_with_zeros(path: Path, size: int, *, begin: int, pause: Callable[[], None]) -> None:
    """Write zeros from `begin` on, up to this size of the file, a piece at a time, each flushed.

    Blocks that hold data need no change of metadata when they are written again, so that flushing
    them is one write of the disk.
    """
    zeros = bytes(PIECE_BYTES)
    handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644)
    try:
        for at in range(begin, size, PIECE_BYTES):
            write_whole(handle, zeros[: size - at], at)
            os.fdatasync(handle)
            pause()
        os.ftruncate(handle, size)
        os.fsync(handle)
    finally:
        os.close(handle)


def make_spare(folder: Path, size: int, *, pause: Callable[[], None] = lambda: None) -> None:
    """Make ready what the next segment will be. Only a file that is all zeros gets the name.

    An interrupted call, such as by a full disk, continues where it was: of a file that held nothing
    else every piece is zeros, on the disk, but for the last, which may not have been flushed.
    """
    unready, used = folder / UNREADY, folder / USED
    if used.exists():
        fill_with_zeros(used, used.stat().st_size, begin=0, pause=pause)
        used.rename(unready)
    pieces = -(-unready.stat().st_size // PIECE_BYTES) if unready.exists() else 0
    fill_with_zeros(unready, size, begin=max(0, pieces - 1) * PIECE_BYTES, pause=pause)
    unready.rename(folder / SPARE)
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
    segment_path(folder, number).rename(folder / USED)
    sync_directory(folder)


def release_segments(folder: Path, *, below: int) -> int:
    """Segments below this number do not count any more; how many bytes they had. Raises OSError.

    One waits as the next spare, the others are made shorter a piece at a time: a large file that
    goes at once would keep commits waiting. The oldest first, so that what is left is one row.
    """
    freed = 0
    for number in segment_numbers(folder):
        if number >= below:
            break
        path = segment_path(folder, number)
        freed += path.stat().st_size
        if (folder / USED).exists():
            _remove_gently(path)
        else:
            retire_segment(folder, number)
    if freed:
        sync_directory(folder)
    return freed


def _remove_gently(path: Path) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        for size in range(os.fstat(handle).st_size - RELEASE_BYTES, 0, -RELEASE_BYTES):
            os.ftruncate(handle, size)
    finally:
        os.close(handle)
    path.unlink()


def write_whole(handle: int, data: bytes, at: int) -> None:
    """Write all of it: the system may take less at once."""
    done = os.pwrite(handle, data, at)
    while done < len(data):
        done += os.pwrite(handle, data[done:], at + done)


def sectors(size: int) -> int:
    """Return the number of bytes, rounded down to whole sectors."""
    return size // SECTOR * SECTOR
