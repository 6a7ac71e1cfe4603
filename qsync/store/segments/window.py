"""A segment read through a window: few calls for many small looks, one after another."""

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from qsync.store import faults
from qsync.store.segments.format import SECTOR, is_written

READ_BYTES: Final = 1 << 18


class SegmentWindow:
    """An open segment. What is beyond its end, or that of the file, is missing from the answer."""

    def __init__(self, path: Path, *, read_bytes: int = READ_BYTES) -> None:
        """Open for reading. Raises DiskUnreadable."""
        self._path = path
        self._read_bytes = read_bytes
        self._at, self._held = 0, b""
        self._limit = sys.maxsize
        try:
            self._handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self.size = os.fstat(self._handle).st_size
        except OSError as error:
            raise faults.unreadable(error, path) from error

    def end_at(self, size: int) -> None:
        """The segment was made with this size: bytes of the file beyond it do not count."""
        self._limit = size
        self._held = self._held[: max(0, size - self._at)]

    def bytes_at(self, at: int, size: int) -> bytes:
        """Return that many bytes from `at` on, fewer where the segment or its file ends."""
        begin = at - self._at
        if begin < 0 or begin + size > len(self._held):
            self._fetch(at, size)
            begin = 0
        return self._held[begin : begin + size]

    def _fetch(self, at: int, size: int) -> None:
        parts: list[bytes] = []
        wanted, begin = min(max(size, self._read_bytes), self._limit - at), at
        try:
            while wanted > 0:
                part = os.pread(self._handle, wanted, begin)
                if not part:
                    break
                parts.append(part)
                wanted, begin = wanted - len(part), begin + len(part)
        except OSError as error:
            raise faults.unreadable(error, self._path) from error
        self._at, self._held = at, b"".join(parts)

    def first_written(self, at: int) -> int | None:
        """The first sector from `at` on that is not blank; None when all are."""
        if is_written(self.bytes_at(at, SECTOR)):
            return at
        zeros = bytes(self._read_bytes)
        while held := self.bytes_at(at, self._read_bytes):
            if held != zeros[: len(held)]:
                blank = len(held) - len(held.lstrip(b"\0"))
                return at + blank // SECTOR * SECTOR
            at += len(held)
        return None

    def close(self) -> None:
        """Let go of it."""
        os.close(self._handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
