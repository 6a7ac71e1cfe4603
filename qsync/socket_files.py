"""The socket in a node's directory: how it is called, and how a long path reaches the kernel."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

FILE: Final = "qsync.sock"
PATH_BYTES_MAX: Final = 107
"""Longest path of such a socket on Linux."""


@contextmanager
def named(path: str) -> Iterator[str]:
    """A name of the socket that the kernel takes: one that is too long goes by its directory.

    Raises OSError.
    """
    if len(os.fsencode(path)) <= PATH_BYTES_MAX:
        yield path
        return
    directory, name = os.path.split(path)
    folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{name}"
    finally:
        os.close(folder)
