"""A machine's clocks: they drift, jump, and stand still while the machine is suspended."""

from qsync.sim.dice import RandomStream

SOME_DAY = 1e9


class MachineClocks:
    """A little too fast or slow, and sometimes somebody sets them; asked at a moment of the room.

    `in_a_hurry`: timers fire about the earliest moment of their range.
    """

    def __init__(self, dice: RandomStream) -> None:
        self.dice = dice
        self.in_a_hurry = False
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
