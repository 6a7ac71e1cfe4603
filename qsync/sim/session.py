"""A client session: numbers for requests, and which of them somebody may still ask for again."""

from qsync.sim.dice import RandomStream

SEED_BYTES = 8


class SharedSession:
    """Shared by all couriers of one client program, which have requests under way side by side."""

    def __init__(self, dice: RandomStream) -> None:
        self.id = dice.randbytes(SEED_BYTES)
        """While it is not open what its id will begin with; no node knows a session of that id."""
        self.open = False
        self._dice = dice
        self._seq = 0
        self._pending: set[int] = set()

    @property
    def low(self) -> int:
        """No request below will be asked for again."""
        return min(self._pending, default=self._seq + 1)

    def number(self) -> int:
        """The next request's."""
        self._seq += 1
        self._pending.add(self._seq)
        return self._seq

    def settled(self, session: bytes, seq: int) -> None:
        """Nobody asks for that one any more. It may have been a request of a session before."""
        if session == self.id:
            self._pending.discard(seq)

    def opened(self, id: bytes) -> None:
        """One was opened, unless another of the couriers was faster."""
        if not self.open:
            self._begin(id, open_=True)

    def over(self, session: bytes) -> None:
        """That session has ended: there is another one, unless somebody noticed before."""
        if session == self.id:
            self._begin(self._dice.randbytes(SEED_BYTES), open_=False)

    def _begin(self, id: bytes, *, open_: bool) -> None:
        self.id = id
        self.open = open_
        self._seq = 0
        self._pending.clear()
