"""A pipe that nobody reads, and that takes nothing more."""

import os
from contextlib import suppress


def full_pipe() -> tuple[int, int]:
    """The ends to read and to write; whoever writes waits."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, b"x")
    os.set_blocking(writing, True)
    return reading, writing
