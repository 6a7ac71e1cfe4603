"""The one place where a node reads clocks that are not Trio's: the wall's, and of suspensions."""

import time
from collections.abc import Callable
from typing import Final

import trio


class WallClock:
    """Seconds since 1970, and `ahead`: by how much it is wrong (see `qsync.faultpoints`)."""

    ahead = 0.0

    def __call__(self) -> float:
        """What this node takes the time for."""
        return time.time() + self.ahead  # noqa: TID251 - the seam that the ban points to


SUSPENDED_MIN_S: Final = 0.001
"""Two clocks are read one after the other, so that a smaller difference says nothing."""
_LOOKS: Final = 3
"""How often a suspension is measured: a pause between two readings makes it look longer."""


class Elapsed:
    """Seconds of Trio's clock, and those in which the machine was suspended.

    Promises and leases are judged by it (membership.md M11 j): a monotonic clock stands still while
    a machine sleeps or is migrated, and the other nodes go on. Where the system cannot tell, it is
    Trio's clock.
    """

    def __init__(self, asleep: Callable[[], float] | None = None) -> None:
        self._asleep = asleep if asleep is not None else _asleep
        self._first = self._asleep()
        self._slept = 0.0

    def __call__(self) -> float:
        """What time it is. Never goes back.

        Trio's clock is read first. What is added is at least the sleep until then: so whoever asks
        after a message arrived is told a time after that.
        """
        now = trio.current_time()
        slept = self._asleep() - self._first
        if slept > self._slept + SUSPENDED_MIN_S:
            again = [self._asleep() - self._first for _ in range(_LOOKS)]
            self._slept = max(self._slept, min(slept, *again))
        return now + self._slept


def _asleep() -> float:
    """For how long the machine was suspended since it was started; 0 where nobody knows."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return 0.0
    awake = time.clock_gettime(time.CLOCK_MONOTONIC)
    return time.clock_gettime(time.CLOCK_BOOTTIME) - awake
