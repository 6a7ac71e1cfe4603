"""Limits the read rate of a backup, so that the nodes keep time for other clients."""

import time
from collections.abc import Callable


class Throttle:
    """Lets this many bytes per second pass; without a rate there is no limit."""

    def __init__(
        self,
        bytes_per_s: int | None,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rate = bytes_per_s
        self._now = now
        self._sleep = sleep
        self._free_at = now()

    def passed(self, size: int) -> None:
        """Count the bytes that were read; wait until the rate is met."""
        if self._rate is None:
            return
        now = self._now()
        self._free_at = max(self._free_at, now) + size / self._rate
        if self._free_at > now:
            self._sleep(self._free_at - now)
