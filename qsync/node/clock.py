"""The one place where a node reads the wall clock: for people only, nothing is decided by it."""

import time


def wall_clock() -> float:
    """Seconds since 1970."""
    return time.time()  # noqa: TID251 - the seam that the ban points to
