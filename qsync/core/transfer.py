"""A leader stops in favour of another node: an operator demoted it, or promoted the other one.

Or it must not lead any more: its mode is another, its disk fails, its process is about to end
(`leave`). It takes no transactions from the beginning on. How it ends:

                                       asked for                   leaving
    the successor is elected           done                        done
    deposed otherwise                  done: it leads no more      done
    timer, connection to it lost       refused, leads on           the next one; without one
                                                                   it resigns, and says so to all
    it must not lead any more          goes on as a leaving

Two timers, one at a time: `hand_over` until TimeoutNow was sent to the successor, then the
election's own `transfer`. Nothing is appended after TimeoutNow until the end, and with it the lease
of the term is over for good (membership.md M11 f).
"""

from collections.abc import Collection

from election.messages import Replica
from qsync.core.leader import Leader
from qsync.core.messages import MemberState
from qsync.core.ready import Ticket, TimerKind
from qsync.core.replica_state import ReplicaState
from qsync.core.stopping import Demotion, LeadershipTransfer


class Transfers:
    """At most one at a time: it is kept by the leadership that it ends (`Leader.stopping`)."""

    def __init__(self, state: ReplicaState) -> None:
        self._state = state

    def start(
        self, leader: Leader, to: Replica, *, timeout: float | None = None
    ) -> LeadershipTransfer:
        """Stop writing and bring `to` to our last entry."""
        assert leader.stopping is None
        state = self._state
        timeout = state.config.election_timeout if timeout is None else timeout
        leader.stopping = going = LeadershipTransfer(to=to, timeout=timeout)
        state.out.add_event("handing_over", to=to)
        state.out.arm(TimerKind.HAND_OVER, going.timeout)
        return going

    def offer(self, leader: Leader, to: Replica) -> LeadershipTransfer:
        """Begin a transfer that no operator waits for, where other nodes may lead.

        Nothing can be written meanwhile, so it is given up sooner.
        """
        config = self._state.config
        timeout = min(config.replication_timeout, config.election_timeout)
        return self.start(leader, to, timeout=timeout)

    def demote(self, leader: Leader, ticket: Ticket, to: Replica) -> None:
        """Begin a transfer for an operator."""
        refused = self.unfit(leader, to)
        if refused is not None:
            self._state.answer(ticket, refused)
        else:
            self.start(leader, to).tickets.append(ticket)

    def handle_request(self, leader: Leader, candidate: Replica) -> None:
        """Begin a transfer that a follower asks for. Out of our reach, it asks others later."""
        progress = leader.followers.get(candidate)
        if progress is not None and progress.connected and leader.stopping is None:
            self.start(leader, candidate)

    def advance(self, leader: Leader, going: LeadershipTransfer) -> None:
        """Send TimeoutNow as soon as the target has our whole log. Called for every batch."""
        state = self._state
        if going.timeout_now_sent:
            if state.raft.transfer.target is None:
                self._failed(leader, going, "did not take over in time")
            return
        progress = leader.followers.get(going.to)
        if progress is None or going.to not in state.raft.electorate.voters:
            self._failed(leader, going, "is not a voter any more")
            return
        # A leaving node does not wait for a quorum to ack its PROMOTE: it hands over only its own
        # log.
        ready = leader.established or going.leaving
        if progress.match == state.replicated_log.log.last and ready:
            # Nothing is appended from here to the end, so the target's log stays as good as ours.
            assert leader.stopping is going
            going.timeout_now_sent = True
            state.out.disarm(TimerKind.HAND_OVER)
            state.raft.transfer.send_timeout_now(going.to, within=going.timeout)

    def timer(self, leader: Leader, going: LeadershipTransfer) -> None:
        """Give up on a target that did not reach our last entry in time."""
        if not going.timeout_now_sent:
            self._failed(leader, going, "did not take over in time")

    def out_of_reach(self, peer: Replica) -> None:
        """Give up on a target to which our connection is gone."""
        leader = self._state.leader
        if leader is None:
            return
        going = leader.stopping
        if isinstance(going, LeadershipTransfer) and going.to == peer:
            self._failed(leader, going, "is not connected any more")

    def _failed(self, leader: Leader, going: LeadershipTransfer, why: str) -> None:
        state = self._state
        state.out.add_event("hand_over_failed", to=going.to)
        state.out.disarm(TimerKind.HAND_OVER)
        state.raft.transfer.cancel()
        leader.stopping = None
        for ticket in going.tickets:
            state.answer(ticket, f"node {going.to} {why}")
        if going.leaving:
            self._leave_to_next(leader, going.leaving, going.tried)

    # -- who must not lead any more

    def leave(self, why: str, *, brings: bool = True) -> None:
        """Hand over to the best successor, or resign. Begun once, however often it is asked for.

        Without `brings` it can send no entries, and hands over only to a node with its whole log.
        """
        state = self._state
        leader = state.leader
        if leader is None:
            return
        going = leader.stopping
        if going is None:
            state.out.add_event("leaving", why=why)
            if not brings and not self._is_whole_elsewhere(leader):
                state.resign(why)
                return
            self._leave_to_next(leader, why, frozenset())
        elif isinstance(going, Demotion):
            state.resign(why)
        elif not going.leaving:
            state.out.add_event("leaving", why=why)
            going.leaving, going.tried = why, frozenset({going.to})

    def _leave_to_next(self, leader: Leader, why: str, tried: frozenset[Replica]) -> None:
        to = self.successor(leader, but=tried)
        if to is None:
            self._state.resign(why)
            return
        going = self.offer(leader, to)
        going.leaving, going.tried = why, tried | {to}

    def _is_whole_elsewhere(self, leader: Leader) -> bool:
        to = self.successor(leader)
        return to is not None and leader.followers[to].match == self._state.replicated_log.log.last

    # -- who may lead

    def successor(self, leader: Leader, *, but: Collection[Replica] = ()) -> Replica | None:
        """Return the most advanced voter that is able and willing; of several the preferred one."""
        able = [
            each
            for each in leader.followers.values()
            if leader.standings.get(each.peer) is MemberState.CANDIDATE
            and each.peer not in but
            and self.unfit(leader, each.peer) is None
        ]
        best = max(
            able, key=lambda each: (each.match, -self.rank(each.peer), -each.peer), default=None
        )
        return None if best is None else best.peer

    def rank(self, replica: Replica) -> int:
        """Return how much operators prefer it: 0 is best (see `preference`)."""
        configuration = self._state.replicated_log.configurations.followed
        assert configuration is not None
        return configuration.rank(replica, self._state.config.preferred)

    def unfit(self, leader: Leader, peer: Replica) -> str | None:
        """Return what is known against handing over to that node; None if nothing is."""
        progress = leader.followers.get(peer)
        if progress is None:
            return f"node {peer} is not another voter of this cluster"
        if not progress.connected:
            return f"node {peer} is not connected"
        silent = self._state.replicated_log.now - progress.heard_at
        standing = leader.standings.get(peer)
        if silent > self._state.config.disconnect_timeout:
            return f"node {peer} has not been heard lately"
        if standing is MemberState.VOTER:
            return f"the election mode of node {peer} is voter: it never leads"
        if standing is MemberState.UNWELL:
            return f"node {peer} cannot write its log"
        if progress not in leader.counted():
            return f"node {peer} does not count in a quorum yet: it has not caught up"
        return None
