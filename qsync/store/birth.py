"""When the file system made a file: what no copy takes over from its original."""

import ctypes
import os
import struct
import sys
from pathlib import Path
from typing import Final

_AT_FDCWD: Final = -100
_STATX_BTIME: Final = 0x800
_STATX_BYTES: Final = 256
_MASK: Final = struct.Struct("=I")
_BORN: Final = struct.Struct("=qI")
_BORN_AT: Final = 80
"""Where `stx_btime` is in `struct statx` (linux/stat.h)."""


def born_at(path: Path) -> int | None:
    """Nanoseconds since 1970; None where the file system or the C library cannot say."""
    if sys.platform != "linux":
        found = getattr(path.stat(), "st_birthtime", None)
        return None if found is None else int(found * 1e9)
    statx = getattr(ctypes.CDLL(None), "statx", None)
    if statx is None:
        return None
    buffer = ctypes.create_string_buffer(_STATX_BYTES)
    if statx(_AT_FDCWD, os.fsencode(path), 0, _STATX_BTIME, buffer) != 0:
        return None
    (mask,) = _MASK.unpack_from(buffer.raw)
    if not mask & _STATX_BTIME:
        return None
    seconds, nanoseconds = _BORN.unpack_from(buffer.raw, _BORN_AT)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)
