"""Moves decided rows from memory into the spaces on disk, in small slices, in the background."""

import contextlib
from collections.abc import Callable, Generator
from typing import Final, TypeVar

from election.messages import Index
from qsync.config.sections import StoreSection
from qsync.data.fold import at_once
from qsync.data.memtable import release
from qsync.errors import Rebuilding, StoreError
from qsync.node.comparing import Comparing
from qsync.node.effects import Effects
from qsync.node.scrub import Scrubber
from qsync.node.stalls import ABSORBING, FOLDING
from qsync.node.timeline import Timeline
from qsync.replica import Replica
from qsync.store.contract import Spaces, Wait

T = TypeVar("T")

PATIENCE: Final = 1.0
"""Seconds after which even a few rows are folded."""
RETRY_DELAY: Final = 1.0


class Folding:
    """One background task: slices stay small, so that no request waits long behind one."""

    def __init__(
        self,
        replica: Replica,
        spaces: Spaces,
        *,
        timeline: Timeline,
        store: StoreSection,
        care: Scrubber,
        comparing: Comparing,
        effects: Effects,
        make_room: Callable[[], None],
    ) -> None:
        """`make_room` is called when rows have left memory."""
        self.error: StoreError | None = None
        self._effects = effects
        self._replica = replica
        self._spaces = spaces
        self._timeline = timeline
        self._store = store
        self._last = 0.0
        self.durable = 0
        """Up to here the rows are known to be on the disk, not only given to the system."""
        self._goal = 0
        self.care = care
        self.comparing = comparing
        self._make_room = make_room

    @property
    def hurried(self) -> bool:
        """Whether a snapshot waits for folding."""
        return self._goal > self.durable

    def hurry(self, goal: int) -> None:
        """Fold up to `goal` as soon as possible, and make it durable."""
        self._goal = max(self._goal, goal)

    async def run(self) -> None:
        """Fold until cancelled."""
        while True:
            await self._sleep()
            try:
                if self._replica.lost is not None:
                    self.durable = 0  # what was flushed is not there any more
                    await self.care.rebuild(self._burst)
                else:
                    await self._regular(self._effects.now())
            except Rebuilding as error:
                self._replica.lose(error.message)
            except StoreError as error:
                # The log carries durability: rows stay in memory until the disk takes them again.
                if self.error is None:
                    self._timeline.append("fold_failed", {"why": str(error)})
                self.error = error
                await self._effects.sleep(RETRY_DELAY)
            else:
                self.error = None

    async def _sleep(self) -> None:
        """Sleep until it is time to look. A late wake-up shows that this process did not run."""
        self._timeline.stalls.asleep(self._store.fold_interval)
        await self._effects.sleep(self._store.fold_interval)
        self._timeline.stalls.woke()

    async def _regular(self, now: float) -> None:
        stalls = self._timeline.stalls
        with stalls.piece(ABSORBING):
            self._replica.absorb()
        with stalls.piece(FOLDING):
            self.care.tick(now)
            self.comparing.tick(now)
        overlay = self._replica.raw.overlay
        few = not overlay.has_frozen and not overlay.is_full  # then writers wait for room
        if few and now - self._last < PATIENCE and not self.hurried:
            return
        self._last = now
        # Not what comes meanwhile: it is worth more when there is more of it.
        await self._fold_to(self._replica.machine.replicated_log.confirmed)
        if self._replica.is_full:
            self._replica.machine.disk.write_confirmed()  # what is left is folded next time
        if self.hurried:
            self.durable = int(await self._effects.in_thread(self._spaces.sync))

    async def _fold_to(self, goal: Index) -> None:
        while self._replica.raw.folded < goal and await self._burst(goal):
            pass

    async def _burst(self, goal: Index | None = None) -> bool:
        """Fold one transaction, a slice at a time; return false when there is nothing to fold."""
        stop, folded = self.comparing.next_stop(), self._replica.raw.folded
        if stop is not None and stop >= folded:
            goal = stop if goal is None else min(goal, stop)
        fold = await self._in_steps(self._replica.folding(self._store.memtable_rows_max // 2, goal))
        if fold is None:
            return False
        with contextlib.closing(self._spaces.folding(fold, self._store.fold_rows_max)) as steps:
            await self._in_steps(steps)
        dropped = self._replica.folded_to(fold)
        self.comparing.folded()
        self._make_room()
        await self._in_steps(release(dropped))
        await self._effects.give_way()
        return True

    async def _in_steps(self, work: Generator[Wait | None, None, T]) -> T:
        stalls = self._timeline.stalls
        while True:
            with stalls.piece(FOLDING):
                try:
                    wait = next(work)
                except StopIteration as done:
                    found: T = done.value
                    return found
            if wait is None:
                await self._effects.give_way()
            else:
                await self._effects.in_thread(wait)

    def slice(self) -> bool:
        """Fold one slice at once; return false when there is nothing to fold."""
        fold = at_once(self._replica.folding(self._store.fold_rows_max))
        if fold is None:
            return False
        self._spaces.fold(fold)
        self._replica.folded_to(fold)
        return True
