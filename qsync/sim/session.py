"""A client session: numbers for requests, and which of them somebody may still ask for again."""

from qsync.sim.dice import Dice


class Session:
    """Shared by all couriers of one client program, which have requests under way side by side."""

    def __init__(self, dice: Dice) -> None:
        self.id = dice.randbytes(16)
        self._dice = dice
        self._seq = 0
        self._open: set[int] = set()

    @property
    def low(self) -> int:
        """No request below will be asked for again."""
        return min(self._open, default=self._seq + 1)

    def number(self) -> int:
        """The next request's."""
        self._seq += 1
        self._open.add(self._seq)
        return self._seq

    def settled(self, session: bytes, seq: int) -> None:
        """Nobody asks for that one any more. It may have been a request of a session before."""
        if session == self.id:
            self._open.discard(seq)

    def over(self, session: bytes) -> None:
        """That session has ended: there is another one, unless somebody noticed before."""
        if session == self.id:
            self.id = self._dice.randbytes(16)
            self._seq = 0
            self._open.clear()
