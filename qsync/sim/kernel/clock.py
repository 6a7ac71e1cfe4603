"""A machine's clocks: they drift, jump, and stand still while the machine is suspended."""

from typing_extensions import override

from qsync.sim.alarms import DriftingClocks
from qsync.sim.dice import RandomStream

HASTE = 0.02
"""The part of a timer's range that is used when everybody is in a hurry."""


class MachineClocks(DriftingClocks):
    """Also of suspension. All are asked at a moment of the room's time."""

    def __init__(self, dice: RandomStream) -> None:
        super().__init__(dice)
        self.slept = 0.0

    @override
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
