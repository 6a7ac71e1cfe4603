"""The deadline of a command that looks at the cluster first, and then changes it."""

import time

from cli.exits import StoppedByGuard
from qsync.client.one_node import TIMEOUT_S

_SHOW_MIN_S = 0.5


class TimeLimit:
    """`--timeout` of a command, from now on."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until = time.monotonic() + seconds

    @property
    def to_look(self) -> float:
        """The time to ask all nodes; silent ones use up half of it at most."""
        return min(TIMEOUT_S, self._seconds / 2)

    @property
    def left(self) -> float:
        """The time for the change itself. Raises StoppedByGuard when there is none."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise StoppedByGuard(
                f"{self._seconds:g} s have passed, and nothing was changed",
                hint="some nodes may be silent; --timeout allows more time",
            )
        return left

    @property
    def to_show(self) -> float:
        """The time to see the result of the change: what is left, but at least half a second."""
        return max(_SHOW_MIN_S, self._until - time.monotonic())
