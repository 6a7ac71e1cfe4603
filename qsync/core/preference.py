"""A leader hands over to a voter that operators prefer to it.

`election.preferred` names voters, best first; who is not named comes last. What is asked for is a
leader transfer like any other (Raft thesis 3.10), so nothing about safety is new. It must not make
leadership wander: the better voter must have been fit without a break under this leader for
`election.preferred_delay`, and each hand-over that fails doubles that.
"""

from dataclasses import dataclass
from typing import Final

from election.messages import Index, Replica
from qsync.core.leader import Leader
from qsync.core.messages import MemberState
from qsync.core.presence import Presence
from qsync.core.replica_state import ReplicaState
from qsync.core.transfer import Transfers

DOUBLINGS_MAX: Final = 6
"""After that many failures the delay stays as it is."""


@dataclass(slots=True)
class _Better:
    """The best fit voter that is preferred to this leader, and since when it is fit."""

    leader: Leader
    replica: Replica
    since: float
    failures: int = 0


class Preferences:
    """The preferred voters, for one leadership; the next leadership starts from scratch."""

    def __init__(self, state: ReplicaState, transfers: Transfers) -> None:
        self._state = state
        self._transfers = transfers
        self._presence = Presence(state)
        self._better: _Better | None = None

    def advance(self) -> None:
        """Hand over when a preferred voter was fit for long enough. Called with every heartbeat."""
        leader = self._state.leader
        if leader is None or not self._state.config.preferred or not leader.open:
            return
        best = self._best(leader)
        if best is None:
            self._reset(leader)
            return
        now, better = self._state.replicated_log.now, self._better
        if better is None or better.leader is not leader:
            self._better = _Better(leader, best, now)
        elif better.replica != best:
            self._better = _Better(leader, best, now, better.failures)
        elif now - better.since >= self._delay(better):
            self._better = _Better(leader, best, now, better.failures + 1)
            self._state.out.add_event("prefers", to=best)
            self._transfers.offer(leader, best)

    def _delay(self, better: _Better) -> float:
        doubled = 1 << min(better.failures, DOUBLINGS_MAX)
        return float(self._state.config.preferred_delay * doubled)

    def _reset(self, leader: Leader) -> None:
        """Forget the voter: none is fit and preferred. It is watched again when it returns."""
        better = self._better
        if better is not None and better.leader is leader:
            # Failures are kept: a voter that is fit now and then is not tried each time.
            better.replica, better.since = leader.config.me, self._state.replicated_log.now

    def _best(self, leader: Leader) -> Replica | None:
        rank = self._transfers.rank
        own = rank(leader.config.me)
        better = [
            each.peer
            for each in leader.followers.values()
            if rank(each.peer) < own
            and leader.standings.get(each.peer) is MemberState.CANDIDATE
            and self._presence.is_current(each, Index(0))
            and self._transfers.unfit(leader, each.peer) is None
        ]
        return min(better, key=rank, default=None)
