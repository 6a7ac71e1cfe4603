"""Ctrl-C while the modules of a command are read: the process ends at once, in one line."""

import os

INTERRUPTED = 130
"""The exit code after Ctrl-C."""


def end_at_once(_number: int, _frame: object) -> None:
    """End the process, from a signal.

    Nothing has begun yet that could be cleared up. An exception would come out of the import of any
    module: as another one, or leaving a lock behind that the next import waits for.
    """
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
