"""Asks for time come in as ranges; here the dice are thrown and the clock is read."""

import random
from collections.abc import Callable

import trio

from qsync.core.ready import Timer
from qsync.node.clock import Elapsed, WallClock


class Timers:
    """One deadline a kind, in seconds of Trio's clock; and any number of named calls."""

    def __init__(self, fire: Callable[[list[str]], None]) -> None:
        self.wall = WallClock()
        self.elapsed = Elapsed()
        """What the machine takes the time for; deadlines of the shell are of Trio's clock."""
        self._fire = fire
        self._deadlines: dict[str, float] = {}
        self._wake = trio.Event()
        self._sleeps_until = float("inf")
        self._dice = random.Random()  # noqa: S311 - jitter, not a secret

    def arm(self, timer: Timer) -> None:
        """Replace the deadline of that kind, or drop it."""
        if timer.earliest is None:
            self._deadlines.pop(timer.kind, None)
            return
        self.at(
            timer.kind,
            trio.current_time()
            + self._dice.uniform(timer.earliest, max(timer.earliest, timer.latest)),
        )

    def at(self, kind: str, deadline: float) -> None:
        """Fire `kind` at that time of Trio's clock."""
        self._deadlines[kind] = deadline
        if deadline < self._sleeps_until:
            self._wake.set()

    async def run(self) -> None:
        """Fire what is due, until cancelled."""
        while True:
            self._wake = trio.Event()
            self._sleeps_until = min(self._deadlines.values(), default=float("inf"))
            with trio.move_on_at(self._sleeps_until):
                await self._wake.wait()
            now = trio.current_time()
            due = [kind for kind, deadline in self._deadlines.items() if deadline <= now]
            for kind in due:
                del self._deadlines[kind]
            if due:
                self._fire(due)
