"""Turns the core's requests for time, given as ranges, into deadlines drawn at random."""

from collections.abc import Callable
from typing import Final

from election.ready import TimerRequest
from qsync.node.clock import ElapsedTime, WallClock
from qsync.node.effects import Effects

FAR: Final = float("inf")
"""The time of a timer that is not armed, in seconds of the waiting clock."""


class Timers:
    """One deadline for each kind, in seconds of the waiting clock; and any named calls."""

    def __init__(self, fire: Callable[[list[str]], None], effects: Effects) -> None:
        self.wall = WallClock(effects)
        self.elapsed = ElapsedTime(effects=effects)
        """What the machine takes the time for; deadlines of the shell are of `Effects.now`."""
        self._effects = effects
        self._fire = fire
        self._deadlines: dict[str, float] = {}
        self._wake = effects.event()
        self._sleeps_until = FAR
        self._dice = effects.dice()

    def arm(self, timer: TimerRequest) -> None:
        """Replace the deadline of that kind, or drop it."""
        if timer.earliest is None:
            self._deadlines.pop(timer.kind, None)
            return
        self.at(
            timer.kind,
            self._effects.now()
            + self._dice.uniform(timer.earliest, max(timer.earliest, timer.latest)),
        )

    def at(self, kind: str, deadline: float) -> None:
        """Fire `kind` at that time of `Effects.now`."""
        self._deadlines[kind] = deadline
        if deadline < self._sleeps_until:
            self._wake.set()

    def no_later(self, kind: str, deadline: float) -> None:
        """Fire `kind` by that time; unless it fires before anyway."""
        if deadline < self._deadlines.get(kind, FAR):
            self.at(kind, deadline)

    async def run(self) -> None:
        """Fire what is due, until cancelled."""
        while True:
            self._wake = self._effects.event()
            self._sleeps_until = min(self._deadlines.values(), default=FAR)
            await self._effects.until(self._wake, self._sleeps_until)
            now = self._effects.now()
            due = [kind for kind, deadline in self._deadlines.items() if deadline <= now]
            for kind in due:
                del self._deadlines[kind]
            if due:
                self._fire(due)
