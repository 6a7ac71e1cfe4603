"""Moves what is decided from memory into the spaces on disk, in small slices, in the background."""

import contextlib

from qsync.errors import Rebuilding, StoreError
from qsync.node.comparing import Comparing
from qsync.node.effects import Effects
from qsync.node.scrub import Scrubber
from qsync.node.timeline import Timeline
from qsync.replica import Replica
from qsync.store.contract import Spaces

ROWS_MIN = 4_000
"""While fewer rows wait in memory, folding waits for more of them to coalesce."""
STEPS = 20
"""A transaction takes so many slices: what is written often is written once, and so are pages."""
PATIENCE = 1.0
"""Seconds after which even a few rows are folded."""
RETRY_DELAY = 1.0


class Folding:
    """One background task: slices stay small, so that no request waits long behind one."""

    def __init__(
        self,
        replica: Replica,
        spaces: Spaces,
        *,
        timeline: Timeline,
        interval: float,
        rows_max: int,
        care: Scrubber,
        comparing: Comparing,
        effects: Effects,
    ) -> None:
        self.error: str | None = None
        self._effects = effects
        self._replica = replica
        self._spaces = spaces
        self._timeline = timeline
        self._interval = interval
        self._rows_max = rows_max
        self._last = 0.0
        self.durable = 0
        """Up to here the rows are known to be on the disk, not only given to the system."""
        self._goal = 0
        self.care = care
        self.comparing = comparing

    @property
    def hurried(self) -> bool:
        """Does somebody wait for a snapshot?"""
        return self._goal > self.durable

    def hurry(self, goal: int) -> None:
        """Fold up to `goal` as soon as possible, and make it durable."""
        self._goal = max(self._goal, goal)

    async def run(self) -> None:
        """Fold until cancelled."""
        while True:
            await self._effects.sleep(self._interval)
            try:
                if self._replica.lost is not None:
                    await self.care.rebuild(self._burst)
                else:
                    await self._regular(self._effects.now())
            except Rebuilding as error:
                self._replica.lose(error.message)
            except StoreError as error:
                # The log carries durability: rows stay in memory until the disk takes them again.
                if self.error is None:
                    self._timeline.append("fold_failed", {"why": str(error)})
                self.error = str(error)
                await self._effects.sleep(RETRY_DELAY)
            else:
                self.error = None

    async def _regular(self, now: float) -> None:
        self.care.tick(now)
        self.comparing.tick(now)
        few = self._replica.raw.overlay_rows < ROWS_MIN
        if few and now - self._last < PATIENCE and not self.hurried:
            return
        self._last = now
        while await self._burst():
            pass
        if self.hurried:
            self.durable = int(await self._effects.in_thread(self._spaces.sync))

    async def _burst(self) -> bool:
        """One transaction, a slice at a time; false when there is nothing to fold."""
        fold = self._replica.fold(self._rows_max * STEPS, upto=self.comparing.stop)
        if fold is None:
            return False
        with contextlib.closing(self._spaces.folding(fold, self._rows_max)) as steps:
            for _ in steps:
                await self._effects.give_way()
        self._replica.folded_to(fold)
        self.comparing.folded()
        await self._effects.give_way()
        return True

    def slice(self) -> bool:
        """Fold one slice at once; false when there is nothing to fold."""
        fold = self._replica.fold(self._rows_max)
        if fold is None:
            return False
        self._spaces.fold(fold)
        self._replica.folded_to(fold)
        return True
