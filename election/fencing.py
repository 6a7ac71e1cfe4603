"""When a leader that hears too few voters must stop: check-quorum and fencing."""

from enum import StrEnum
from math import inf

from election.electorate import Electorate
from election.messages import Replica
from election.roles import ElectionTiming


class Fencing(StrEnum):
    """How a leader guards against having been replaced unnoticed."""

    SOFT = "soft"
    """Steps down after the disconnect timeout, the same that followers have."""
    STRICT = "strict"
    """After half of it, so it ends before another node can be elected."""
    OFF = "off"
    """Never: stays the leader, and what it cannot confirm waits."""


class QuorumContact:
    """When each voter last answered a leader in its term, and until when those are a quorum."""

    def __init__(self, *, electorate: Electorate, timing: ElectionTiming, fencing: Fencing) -> None:
        self.fencing = fencing
        self.until = -inf
        """Up to this time a quorum is known to have answered recently enough."""
        self._electorate = electorate
        self._timing = timing
        self._heard: dict[Replica, float] = dict.fromkeys(electorate.peers, -inf)

    @property
    def timeout(self) -> float:
        """For how many seconds an answer counts."""
        timeout = self._timing.disconnect_timeout
        return timeout / 2 if self.fencing is Fencing.STRICT else timeout

    def start_term(self, now: float) -> None:
        """Begin a term of leadership: every voter gets the full time for a first answer."""
        for peer in self._heard:
            self._heard[peer] = now
        self._measure()

    def heard(self, peer: Replica, now: float) -> None:
        """Note that a voter answered. Other nodes do not count."""
        if peer in self._heard:
            assert now >= self._heard[peer]  # One monotonic clock (membership.md M11 j).
            self._heard[peer] = now

    def is_fresh(self, now: float) -> bool:
        """Return whether a quorum has answered recently enough."""
        if now > self.until:
            self._measure()
        return now <= self.until

    def is_lost(self, now: float) -> bool:
        """Return whether a leader must fence itself."""
        return self.fencing is not Fencing.OFF and not self.is_fresh(now)

    def change_fencing(self, fencing: Fencing, timing: ElectionTiming) -> None:
        """Measure again: the time for which an answer counts may be shorter."""
        self.fencing = fencing
        self._timing = timing
        self._measure()

    def change_voters(self, now: float) -> None:
        """Change the voters; new ones get the full time for a first answer."""
        self._heard = {peer: self._heard.get(peer, now) for peer in self._electorate.peers}
        self._measure()

    def _measure(self) -> None:
        # The leader itself is always there; one that is no voter any more does not count itself.
        needed = self._electorate.quorum - self._electorate.is_voter
        if needed == 0:
            self.until = inf
        elif needed <= len(self._heard):
            self.until = sorted(self._heard.values(), reverse=True)[needed - 1] + self.timeout
        else:
            self.until = -inf
