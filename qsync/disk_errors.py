"""Errors of the system about disks. Python's exceptions for them do not name the file."""

import errno
from typing import Final

NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""The disk, or what this user may take of it, is full, or the file may not grow further."""
OF_DISKS: Final = NO_ROOM | {errno.EIO}
"""Any that a write may raise."""
