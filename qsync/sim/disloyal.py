"""Broken rules of reads, promises and leases: each takes a certain history, told in a transcript.

Seeds rarely come by such a history, and clocks are in no scope of the explorer. So these are held
against the transcripts that tell it (`tests/scenarios/test_mutants.py`).
"""

from collections.abc import Callable, Mapping

from election.messages import Replica
from election.raft import Raft
from qsync import errors
from qsync.core.leader import Leader
from qsync.core.ledger import Ledger
from qsync.core.ready import ReadSettled
from qsync.core.rounds import Rounds
from qsync.data.request import Executed, Request
from qsync.replica import Replica as Core

Remodel = Callable[[Core], None]


# -- reads


def _reads_by_index(core: Core) -> None:
    """The leader's answer is reached by any log that is long enough."""
    reads = core.machine.reads

    def settle(ledger: Ledger) -> list[ReadSettled]:
        waiting = reads._waiting  # noqa: SLF001 - a mutant
        done = [each for each in waiting if each.place.index <= ledger.visible]
        reads._waiting = [each for each in waiting if each not in done]  # noqa: SLF001 - a mutant
        return [ReadSettled(each.ticket) for each in done]

    reads.settle = settle  # type: ignore[method-assign]  # a mutant


def _refuses_by_head(core: Core) -> None:
    """A refusal may rest on what is pending."""
    state = core.state

    def refusal(request: Request) -> errors.QsyncError | None:
        try:
            state.execute(request)
        except errors.QsyncError as error:
            return error
        return None

    core.refusal = refusal  # type: ignore[method-assign]  # a mutant


def _records_alone(core: Core) -> None:
    """A recorded refusal is not synchronous: it is told before it is on a quorum."""
    state = core.state
    honest = state.refuse

    def refuse(request: Request, error: errors.QsyncError) -> Executed:
        return honest(request, error)._replace(sync=False)

    state.refuse = refuse  # type: ignore[method-assign]  # a mutant


def _records_nothing(core: Core) -> None:
    """A refusal is told at once although another attempt may be done yet."""
    state = core.state

    def refuse(request: Request, error: errors.QsyncError) -> Executed:  # noqa: ARG001 - a mutant
        error.details[errors.RECORDED] = True
        raise error

    state.refuse = refuse  # type: ignore[method-assign]  # a mutant


# -- promises


def _shortened(core: Core) -> None:
    """The newest timing counts for promises that were given by an older one."""
    raft = core.machine.raft
    honest = raft.promise

    def promise() -> float:
        raft.loyalty.release(raft.now)
        return honest()

    raft.promise = promise  # type: ignore[method-assign]  # a mutant


def _refused_is_dead(core: Core) -> None:
    """A refused connection ends what was promised to the leader."""
    raft = core.machine.raft
    honest = raft.leader_gone

    def leader_gone() -> None:
        raft.loyalty.release(raft.now)
        honest()

    raft.leader_gone = leader_gone  # type: ignore[method-assign]  # a mutant


def _forgotten(core: Core) -> None:
    """A restarted voter knows nothing of its promises."""
    raft = core.machine.raft
    honest = raft.start

    def start() -> None:
        honest()
        raft.loyalty.release(raft.now)
        raft.loyalty.patient_until = raft.now

    raft.start = start  # type: ignore[method-assign]  # a mutant


def _indulgent(core: Core) -> None:
    """A candidate keeps its promise against everybody but itself."""
    raft = core.machine.raft
    honest = raft._election_timeout  # noqa: SLF001 - a mutant

    def election_timeout() -> None:
        raft.loyalty.release(raft.now)
        honest()

    raft._election_timeout = election_timeout  # type: ignore[method-assign]  # noqa: SLF001 - a mutant


# -- leases


def _every_lease(core: Core, heard: Callable[[Rounds, Replica, int, float], None]) -> None:
    machine = core.machine
    take_over = machine._take_over  # noqa: SLF001 - a mutant

    def changed() -> None:
        take_over()
        leader = machine.leader
        assert isinstance(leader, Leader)
        rounds = leader.rounds

        def hears(follower: Replica, round_: int, *, loyal_s: float) -> None:
            heard(rounds, follower, round_, loyal_s)

        rounds.heard = hears  # type: ignore[method-assign]  # a mutant

    machine._take_over = changed  # type: ignore[method-assign]  # noqa: SLF001 - a mutant


def _from_the_answer(rounds: Rounds, follower: Replica, round_: int, loyal_s: float) -> None:
    """The lease runs from the arrival of the answer."""
    if round_ in rounds._began:  # noqa: SLF001 - a mutant
        rounds._began[round_] = rounds._ledger.now  # noqa: SLF001 - a mutant
    Rounds.heard(rounds, follower, round_, loyal_s=loyal_s)


def _twice(rounds: Rounds, follower: Replica, round_: int, loyal_s: float) -> None:
    """It lasts longer than the promise that it rests on."""
    Rounds.heard(rounds, follower, round_, loyal_s=2 * loyal_s)


class _Resumes(Raft):
    @property
    def is_lease_void(self) -> bool:
        """Never: the lease goes on although others were permitted to break their promises."""
        return False


def _resumes(core: Core) -> None:
    core.machine.raft.__class__ = _Resumes


DISLOYAL: Mapping[str, Remodel] = {
    "reads_by_index": _reads_by_index,
    "refuses_by_head": _refuses_by_head,
    "records_alone": _records_alone,
    "records_nothing": _records_nothing,
    "promise_shortened": _shortened,
    "refused_is_dead": _refused_is_dead,
    "promise_forgotten": _forgotten,
    "candidate_indulgent": _indulgent,
    "lease_from_answer": lambda core: _every_lease(core, _from_the_answer),
    "lease_twice_the_promise": lambda core: _every_lease(core, _twice),
    "lease_after_permit": _resumes,
}
"""Name to what it does to a replica before it starts."""
