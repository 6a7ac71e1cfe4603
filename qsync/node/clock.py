"""The clocks of a node: the wall clock that people see, and elapsed time, which judges promises."""

from collections.abc import Callable
from typing import Final

from qsync.node.effects import Effects
from qsync.node.system import SYSTEM


class WallClock:
    """Seconds since 1970, and `ahead`: by how much it is wrong (see `qsync.faultpoints`)."""

    def __init__(self, effects: Effects = SYSTEM) -> None:
        self.ahead = 0.0
        self._wall = effects.wall

    def __call__(self) -> float:
        """Return what this node takes the time for."""
        return self._wall() + self.ahead


SUSPENDED_MIN_S: Final = 0.001
"""Two clocks are read one after the other, so that a smaller difference says nothing."""
_LOOKS: Final = 3
"""How often a suspension is measured: a pause between two readings makes it look longer."""


class ElapsedTime:
    """Seconds of the clock of waiting, and those in which the machine was suspended.

    Promises and leases are judged by it (membership.md M11 j): a monotonic clock stands still while
    a machine sleeps or is migrated, and the other nodes go on. Where the system cannot tell, it is
    the clock of waiting.
    """

    def __init__(
        self, asleep: Callable[[], float] | None = None, effects: Effects = SYSTEM
    ) -> None:
        self._now = effects.now
        self._asleep = asleep if asleep is not None else effects.asleep
        self._first = self._asleep()
        self._slept = 0.0

    @property
    def asleep(self) -> float:
        """For how long the machine was suspended since it was booted, as far as that is counted."""
        return self._first + self._slept

    def __call__(self) -> float:
        """Return the elapsed time in seconds. It never goes back.

        The clock of waiting is read first. What is added is at least the sleep until then: so
        a call after a message arrived returns a time after that.
        """
        now = self._now()
        slept = self._asleep() - self._first
        if slept > self._slept + SUSPENDED_MIN_S:
            again = [self._asleep() - self._first for _ in range(_LOOKS)]
            self._slept = max(self._slept, min(slept, *again))
        return now + self._slept
