"""Broken rules of promises and of the leases that depend on them (membership.md M11)."""

from functools import partial

from typing_extensions import override

from election.messages import Replica
from election.transfer import LeaderTransfer
from qsync.core.config import LEASE_SHARE
from qsync.core.leader import Leader
from qsync.core.progress import quorumth
from qsync.core.rounds import HeartbeatRounds
from qsync.replica import Replica as Core
from qsync.sim.mutants.counting import every_leader_is
from qsync.sim.mutants.mutant import Mutant, every_leader, every_lease, put

# -- promises


def _shortened(core: Core) -> None:
    raft = core.machine.raft
    honest = raft.promise

    def promise() -> float:
        raft.state.promise.release(raft.state.now)
        return honest()

    put(raft, promise=promise)


def _refused_is_dead(core: Core) -> None:
    raft = core.machine.raft
    honest = raft.campaign.leader_gone

    def leader_gone() -> None:
        raft.state.promise.release(raft.state.now)
        honest()

    put(raft.campaign, leader_gone=leader_gone)


def _forgotten(core: Core) -> None:
    raft = core.machine.raft
    honest = raft.start

    def start() -> None:
        honest()
        raft.state.promise.release(raft.state.now)
        raft.state.promise.sticky_until = raft.state.now

    put(raft, start=start)


def _indulgent(core: Core) -> None:
    raft = core.machine.raft
    honest = raft.campaign.election_timeout

    def election_timeout() -> None:
        raft.state.promise.release(raft.state.now)
        honest()

    put(raft.campaign, election_timeout=election_timeout)


# -- leases


def _from_the_answer(
    rounds: HeartbeatRounds, follower: Replica, round_: int, promised_s: float
) -> None:
    if round_ in rounds._began:
        rounds._began[round_] = rounds._replicated_log.now
    HeartbeatRounds.heard(rounds, follower, round_, promised_s=promised_s)


def _longer(
    rounds: HeartbeatRounds, follower: Replica, round_: int, promised_s: float, *, times: float
) -> None:
    HeartbeatRounds.heard(rounds, follower, round_, promised_s=times * promised_s)


class _Resumes(LeaderTransfer):
    @property
    @override
    def is_lease_void(self) -> bool:
        """Never: the lease goes on although others were permitted to break their promises."""
        return False


def _resumes(core: Core) -> None:
    core.machine.raft.transfer.__class__ = _Resumes


class _Hasty(Leader):
    @override
    def leases(self, *, void: bool) -> bool:
        """Before its PROMOTE is confirmed, too."""
        return not void and self.replicated_log.now < self.rounds.leased_until()


class _Undiscerning(HeartbeatRounds):
    @override
    def leased_until(self) -> float:
        """By whatever directory promised."""
        times = [self._replicated_log.now + self.config.lease]
        times += [self._lease_until.get(each, float("-inf")) for each in self._followers]
        return quorumth(times, self._majority)


def _by_strangers(core: Core) -> None:
    def change(leader: Leader) -> None:
        leader.rounds.__class__ = _Undiscerning

    every_leader(core, change)


LEASES = (
    Mutant(
        name="promise_shortened",
        rule="membership.md M11 i",
        without="new timeouts shorten promises that were given before",
        remodel=_shortened,
    ),
    Mutant(
        name="refused_is_dead",
        rule="membership.md M11 i",
        without="a refused connection ends the promise to the leader",
        remodel=_refused_is_dead,
    ),
    Mutant(
        name="promise_forgotten",
        rule="membership.md M11 c",
        without="a voter forgets its promises in a restart",
        remodel=_forgotten,
    ),
    Mutant(
        name="candidate_indulgent",
        rule="membership.md M11 d",
        without="a candidate does not keep its own promise",
        remodel=_indulgent,
    ),
    Mutant(
        name="lease_from_answer",
        rule="membership.md M11 a",
        without="a lease runs from the arrival of the answer, not from the start of the round",
        remodel=partial(every_lease, heard=_from_the_answer),
    ),
    Mutant(
        name="lease_of_the_whole_promise",
        rule="membership.md M11 b",
        without="a lease lasts as long as the promise, without a margin for clock drift",
        remodel=partial(every_lease, heard=partial(_longer, times=1 / LEASE_SHARE)),
    ),
    Mutant(
        name="lease_twice_the_promise",
        rule="membership.md M11 b",
        without="a lease lasts longer than the promise behind it",
        remodel=partial(every_lease, heard=partial(_longer, times=2)),
    ),
    Mutant(
        name="lease_after_permit",
        rule="membership.md M11 f",
        without="a lease continues although the leader released voters from their promises",
        remodel=_resumes,
    ),
    Mutant(
        name="lease_by_old_configuration",
        rule="membership.md M11 g",
        without="a promise of a directory outside the configuration counts",
        remodel=_by_strangers,
        harmless="such a directory replaces a lost disk, which votes for no other candidate "
        "either; the rule matters when voters come and go",
    ),
    Mutant(
        name="lease_before_promote",
        rule="membership.md M11 h",
        without="a new leader serves lease reads before its PROMOTE is confirmed",
        remodel=partial(every_leader_is, kind=_Hasty),
    ),
)
