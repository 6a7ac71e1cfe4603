"""How a client asks for the outcome of its write before it has it."""

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from qsync.sim.dice import RandomStream

LONGER: Final = (1, 16)
"""It asks after the mean, or so many times later: then only what takes long is under way."""
GIVES_UP: Final = 0.5
"""How often it prefers that the write is not done at all, if nobody has done it."""

LEAVING: Final = 0.3
"""How often the caller of a write is cancelled, in runs in which that happens."""


class EarlyQuestion(NamedTuple):
    """Of a caller that waits for its write, or of one that was cancelled and knows its token.

    `after`: seconds from the beginning of the write, or until it is cancelled and as long again.
    `again`: do it if nobody has done it.
    """

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
