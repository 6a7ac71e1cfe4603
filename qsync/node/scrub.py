"""Checks the rows on disk periodically, and rebuilds them from the log if needed."""

from collections.abc import Awaitable, Callable

from qsync.node.effects import Effects
from qsync.node.timeline import Timeline
from qsync.replaying import UntrustedRows
from qsync.replica import Replica
from qsync.store.contract import Spaces

SCRUB_ROWS = 500
"""Rows verified in one go, so that no request waits long behind them."""
REBUILD_ENTRIES = 4_000
"""Entries replayed in one go, and then folded, so that memory does not hold all of a long log."""


class Scrubber:
    """Checks one store. Call `tick` a few times a second; `rebuild` when the rows are lost."""

    def __init__(
        self,
        replica: Replica,
        spaces: Spaces,
        *,
        timeline: Timeline,
        interval: float,
        effects: Effects,
        remake: Callable[[], Awaitable[None]],
    ) -> None:
        """`remake` empties the store, or takes a snapshot that the log goes on behind.

        All rows are verified once in `interval` seconds; 0 switches that off.
        """
        self.rebuilds = 0
        """How often the rows were rebuilt since the start."""
        self.scrubs = 0
        """How often all rows were found to be as they were folded."""
        self._replica = replica
        self._effects = effects
        self._spaces = spaces
        self._timeline = timeline
        self._interval = interval
        self._remake = remake
        self._scrubbing = False
        self._due: float | None = None
        self._told: UntrustedRows | None = None

    def suspect(self) -> None:
        """Check now: some other part has a reason to doubt the rows."""
        self._scrubbing = True

    def tick(self, now: float) -> None:
        """Verify some rows, if it is time. Raises Rebuilding when one is wrong or missing."""
        if self._due is None:
            self._due = now + self._interval
        if not self._scrubbing and (not self._interval or now < self._due):
            return
        self._scrubbing = not self._spaces.scrub(SCRUB_ROWS)
        if not self._scrubbing:
            self.scrubs += 1
            self._due = now + self._interval

    async def rebuild(self, fold: Callable[[], Awaitable[bool]]) -> None:
        """Remake the rows, then replay the log piece by piece; `fold` takes rows to the disk."""
        replica = self._replica
        lost = replica.lost
        assert lost is not None
        begun = self._effects.now()
        if self._told is not lost:
            self._told = lost
            if lost.snapshot is None:
                self._timeline.append("spaces_lost", {"why": lost.why})
        self._scrubbing = False
        lost.at = None
        await self._remake()
        whole = False
        while not whole:
            if replica.lost is not lost:
                return  # a snapshot has come meanwhile
            whole = replica.rebuild(REBUILD_ENTRIES, stored=self._spaces.folded)
            while await fold():
                pass
            await self._effects.give_way()
        seconds = round(self._effects.now() - begun, 3)
        if lost.snapshot is not None:
            fields = {"index": int(lost.snapshot), "seconds": seconds}
            self._timeline.append("spaces_installed", fields)
            return
        self.rebuilds += 1
        self._timeline.append("spaces_rebuilt", {"entries": lost.goal, "seconds": seconds})
