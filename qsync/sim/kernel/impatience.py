"""How a client asks for the outcome of its write while that is still under way."""

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from qsync.sim.dice import RandomStream

EARLY: Final = 64
"""A client that is impatient, or cancelled, waits for this part of its timeout, on average."""
LONGER: Final = (1, 16)
"""It asks after the mean, or so many times later: then only what takes long is under way."""
GIVES_UP: Final = 0.5
"""How often it prefers that the write is not done at all, if nobody has done it."""


class EarlyQuestion(NamedTuple):
    """`after`: seconds from the beginning of the write. `again`: do it if nobody has done it."""

    after: float
    again: bool


class Impatience:
    """It has dice of its own: runs without impatient clients are as they would be without it."""

    def __init__(self, dice: "RandomStream", *, rate: float, mean: float) -> None:
        """`rate`: how often. `mean`: after how many seconds."""
        self._dice = dice
        self._rate = rate
        self._mean = mean

    def draw(self) -> EarlyQuestion | None:
        """Whether the next write is asked for, and how."""
        if not self._dice.chance(self._rate):
            return None
        after = self._dice.about(self._mean * self._dice.choice(LONGER))
        return EarlyQuestion(after, not self._dice.chance(GIVES_UP))
