"""A machine's clocks: they drift, jump, and stand still while the machine is suspended."""

from qsync.sim.dice import RandomStream

SOME_DAY = 1e9


class MachineClocks:
    """Clocks that are a little fast or slow, and are sometimes set; read at a time of the room.

    `in_a_hurry`: timers fire near the earliest moment of their range.
    """

    def __init__(self, dice: RandomStream) -> None:
        self.dice = dice
        self.in_a_hurry = False
        self.rate = 1.0
        self.ahead = 0.0
        self.wall_ahead = 0.0
        self.slept = 0.0
        self._slept_until = 0.0
        """Up to then a sleep in a call is counted: the room may not have come so far."""

    def wall(self, now: float) -> float:
        """For people only, so it may be set to any time."""
        return SOME_DAY + now * self.rate + self.wall_ahead

    def monotonic(self, now: float) -> float:
        """It stands still while the machine is suspended."""
        return (now - self.slept) * self.rate + self.ahead

    def elapsed(self, now: float, *, asleep_since: float | None) -> float:
        """Including the time in which it was suspended."""
        slept = self.slept_by(now, asleep_since)
        return (now - slept) * self.rate + self.ahead + slept

    def slept_by(self, now: float, asleep_since: float | None) -> float:
        """For how long it was suspended by then; it may be suspended from a later time on."""
        return self.slept + (0.0 if asleep_since is None else max(0.0, now - asleep_since))

    def sleep_in_call(self, begun: float, until: float, slept: float) -> None:
        """Count a sleep. `slept`: as it was at its beginning.

        It may have been suspended in the meantime, and that has been counted.
        """
        self.slept = max(self.slept, slept + until - begun)
        self._slept_until = until

    def end_sleep(self, now: float) -> None:
        """What is left of a sleep in a call does not happen: its process has ended at `now`."""
        self.slept -= max(0.0, self._slept_until - now)
        self._slept_until = 0.0

    def when_is(self, monotonic: float) -> float:
        """The time of the room at which the monotonic clock shows that."""
        return (monotonic - self.ahead) / self.rate + self.slept
