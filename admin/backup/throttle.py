"""How fast a backup reads, so that the nodes have time for everybody else."""

import time
from collections.abc import Callable


class Throttle:
    """Lets so many bytes a second pass; all of them without a rate."""

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
        """So many bytes were read: wait until there would have been time for them."""
        if self._rate is None:
            return
        now = self._now()
        self._free_at = max(self._free_at, now) + size / self._rate
        if self._free_at > now:
            self._sleep(self._free_at - now)
