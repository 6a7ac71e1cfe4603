"""A machine's clocks: they drift, jump, and stand still while the machine is suspended."""

from typing_extensions import override

from qsync.sim.dice import RandomStream

SOME_DAY = 1e9
HASTE = 0.02
"""The part of a timer's range that is used when everybody is in a hurry."""


class MachineClocks:
    """A little too fast or slow, and sometimes somebody sets them; asked at a moment of the room.

    `when` says where in its range a timer fires: `uniform`, or always about the `earliest`.
    """

    def __init__(self, dice: RandomStream) -> None:
        self.dice = dice
        self.when = "uniform"
        self.rate = 1.0
        self.ahead = 0.0
        self.wall_ahead = 0.0
        self.slept = 0.0

    def wall(self, now: float) -> float:
        """For people only, so anything goes."""
        return SOME_DAY + now * self.rate + self.wall_ahead

    def monotonic(self, now: float) -> float:
        """It stands still while the machine is suspended."""
        return (now - self.slept) * self.rate + self.ahead

    def elapsed(self, now: float, *, asleep_since: float | None) -> float:
        """With the time in which it was suspended."""
        slept = self.slept + (0.0 if asleep_since is None else now - asleep_since)
        return (now - slept) * self.rate + self.ahead + slept

    def when_is(self, monotonic: float) -> float:
        """The moment of the room at which the monotonic clock shows that."""
        return (monotonic - self.ahead) / self.rate + self.slept


class Jitter(RandomStream):
    """A process's dice for timers; in a hurry they fall on the earliest side."""

    def __init__(self, name: str, clocks: MachineClocks) -> None:
        super().__init__(name)
        self._clocks = clocks

    @override
    def uniform(self, a: float, b: float) -> float:
        """Between both."""
        spread = b - a if self._clocks.when == "uniform" else (b - a) * HASTE
        return a + spread * self.random()
