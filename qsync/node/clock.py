"""The one place where a node reads the wall clock: for people only, nothing is decided by it."""

import time


class WallClock:
    """Seconds since 1970, and `ahead`: by how much it is wrong (see `qsync.faultpoints`)."""

    ahead = 0.0

    def __call__(self) -> float:
        """What this node takes the time for."""
        return time.time() + self.ahead  # noqa: TID251 - the seam that the ban points to
