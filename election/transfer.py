"""A leader stops leading on purpose: it hands over (Raft thesis §3.10), or resigns."""

from election.messages import Replica, Resigned, Term, TimeoutNow
from election.raft_state import RaftState
from election.ready import ElectionTimer
from election.roles import Role


class LeaderTransfer:
    """At most one target at a time; what was permitted in a term stays permitted."""

    def __init__(self, state: RaftState) -> None:
        self._state = state
        self._target: tuple[Term, Replica] | None = None
        self._lease_void: Term | None = None
        self.resigned: Term | None = None
        """The term in which this node led last, if it gave that up by itself."""

    @property
    def target(self) -> Replica | None:
        """The node that leadership is handed to. The leader takes no writes meanwhile."""
        state = self._state
        if (
            self._target is not None
            and state.role is Role.LEADER
            and self._target[0] == state.ballot.term
        ):
            return self._target[1]
        return None

    @property
    def is_lease_void(self) -> bool:
        """Whether a voter was allowed in this term to ignore our lease: serve no read by it."""
        return self._lease_void == self._state.term

    def send_timeout_now(self, to: Replica, *, within: float | None = None) -> None:
        """Send TimeoutNow to a voter whose log is as long as ours.

        It ends when we are deposed, with its timer (after `within`, or an election timeout), or
        by `cancel`. In each case the lease of this term is over (membership.md M11 f).
        """
        state = self._state
        assert state.role is Role.LEADER
        assert to in state.electorate.peers
        self._target = (state.term, to)
        self._lease_void = state.term
        state.out.send(to, TimeoutNow(term=state.term, leader=state.electorate.me))
        timeout = state.timing.election_timeout if within is None else within
        state.out.arm(ElectionTimer.TRANSFER, timeout, timeout)
        state.out.add_event("hands_over", term=state.term, to=to)

    def cancel(self) -> None:
        """Wait no longer for the target; it may take over all the same."""
        if self.target is not None:
            self._target = None
            self._state.out.disarm(ElectionTimer.TRANSFER)

    def timed_out(self) -> None:
        """Give up: the target did not take over in time."""
        if self.target is not None:
            self._state.out.add_event("transfer_failed", term=self._state.term, to=self.target)
            self._target = None

    def resign(self, why: str) -> None:
        """Stop leading, keep the term, and notify all, so that no voter waits to miss us.

        The word ends the promises of the voters, which only the leader's own may do; it is sent
        when we serve nothing and will not lead again in this term (membership.md M11 f, i).
        """
        state = self._state
        if state.role is not Role.LEADER:
            return
        state.step_down(why)
        self.resigned = state.term
        for peer in state.electorate.peers:
            state.out.send(peer, Resigned(term=state.term, leader=state.electorate.me))
