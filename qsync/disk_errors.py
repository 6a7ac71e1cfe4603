"""Errors of the system about disks. Python's exceptions for them do not name the file."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""The disk, or what this user may take of it, is full, or the file may not grow further."""
OF_DISKS: Final = NO_ROOM | {errno.EIO}
"""Any that a write may raise."""


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name this file or directory in errors of its disk, such as that it is full."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in OF_DISKS:
            error.filename = os.fspath(path)
        raise
