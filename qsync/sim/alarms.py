"""A node's own clocks and the timers that it has armed on them."""

from collections.abc import Callable

from election.ready import TimerRequest
from qsync.sim.clockwork import VirtualClock
from qsync.sim.dice import RandomStream

_HASTE = 0.02
"""The part of a timer's range that is used when everybody is in a hurry."""
_SOME_DAY = 1e9

Rings = Callable[[str, int], None]
"""Takes the kind of the timer, and the token it was armed with."""


class DriftingClocks:
    """A little too fast or slow, and sometimes somebody sets them.

    `when` says where in its range a timer fires: `uniform`, or always about the `earliest`.
    """

    def __init__(self, dice: RandomStream) -> None:
        self.dice = dice
        self.when = "uniform"
        self.rate = 1.0
        self.ahead = 0.0
        self.wall_ahead = 0.0

    def monotonic(self, now: float) -> float:
        """Never goes back; may jump ahead, as after a suspend."""
        return now * self.rate + self.ahead

    def wall(self, now: float) -> float:
        """For people only, so anything goes."""
        return _SOME_DAY + now * self.rate + self.wall_ahead


class Alarms:
    """At most one timer of a kind. They come as ranges: the shell throws the dice."""

    def __init__(self, clockwork: VirtualClock, clocks: DriftingClocks, rings: Rings) -> None:
        self._clockwork = clockwork
        self._clocks = clocks
        self._rings = rings
        self._tokens: dict[str, int] = {}

    def arm(self, timer: TimerRequest) -> None:
        """As asked for in a Ready."""
        token = self._tokens[timer.kind] = self._tokens.get(timer.kind, 0) + 1
        if timer.earliest is None:
            return
        spread = max(0.0, timer.latest - timer.earliest)
        if self._clocks.when != "uniform":
            spread *= _HASTE
        delay = timer.earliest + spread * self._clocks.dice.random()
        self._clockwork.after(delay / self._clocks.rate, self._ring, timer.kind, token)

    def is_armed(self, kind: str, token: int) -> bool:
        """Nothing has replaced it since."""
        return self._tokens.get(kind) == token

    def forget(self) -> None:
        """The process is gone, and its timers with it."""
        for kind in self._tokens:
            self._tokens[kind] += 1

    def _ring(self, kind: str, token: int) -> None:
        if self.is_armed(kind, token):
            self._rings(kind, token)
