"""Broken rules of reads and refusals: what an answer has to wait for (protocol.md 7, Reads)."""

from collections.abc import Callable
from dataclasses import replace

from typing_extensions import override

from qsync import errors
from qsync.core import inputs
from qsync.core.consistency import Consistency
from qsync.core.leader import Leader
from qsync.core.messages import ReadIndex, ReadIndexResponse
from qsync.core.reads import ReplicaReads, _AtLeast
from qsync.core.ready import ReadSettled, Ticket
from qsync.core.replicated_log import ReplicatedLog
from qsync.data.request import ExecutedTransaction, Request
from qsync.error_details import RECORDED
from qsync.replica import Replica as Core
from qsync.sim.mutants.mutant import Mutant, every_leader, put

# -- on the leader


def _read_without_round(core: Core) -> None:
    machine = core.machine
    honest = machine.read_requests.ask

    def read(event: inputs.ReadAsked) -> None:
        if machine.leader is not None and event.consistency is Consistency.LINEARIZABLE:
            machine.state.answer(event.ticket)
        else:
            honest(event)

    put(machine.read_requests, ask=read)


def _index_without_round(core: Core) -> None:
    machine = core.machine
    honest = machine.step

    def step(event: inputs.Input) -> None:
        asked = event.message if isinstance(event, inputs.Received) else None
        if isinstance(asked, ReadIndex) and machine.leader is not None:
            place = machine.replicated_log.readable_place
            told = ReadIndexResponse(term=machine.term, ask=asked.ask, place=place)
            machine.state.out.send(asked.follower, told)
        else:
            honest(event)

    put(machine, step=step)


def _round_before_read(core: Core) -> None:
    def change(leader: Leader) -> None:
        reads = leader.rounds.reads

        def ask(ticket: Ticket) -> None:
            reads._in_round.append((reads.round, [ticket]))

        put(reads, ask=ask)

    every_leader(core, change)


def _reads_before_promote(core: Core) -> None:
    machine = core.machine
    honest = machine.turn.serve

    def lead(leader: Leader) -> None:
        honest(leader)
        if not leader.established:
            if leader.rounds.reads.wants_round:
                leader.begin_round(machine.state.out.send)
            for done in leader.rounds.settle():
                machine.state.answer(done.ticket)

    put(machine.turn, serve=lead)


# -- elsewhere


def _by_index(core: Core) -> None:
    reads = core.machine.state.reads

    def settle(replicated_log: ReplicatedLog) -> list[ReadSettled]:
        return _served(reads, lambda each: each.place.index <= replicated_log.visible)

    put(reads, settle=settle)


def _beyond_leader(core: Core) -> None:
    reads = core.machine.state.reads
    honest = reads.settle

    def settle(replicated_log: ReplicatedLog) -> list[ReadSettled]:
        return [replace(each, place=None) for each in honest(replicated_log)]

    put(reads, settle=settle)


def _from_pending(core: Core) -> None:
    reads, log = core.machine.state.reads, core.machine.replicated_log.log

    def has(each: _AtLeast) -> bool:
        index, term = each.place.index, each.place.term
        return index <= log.last and log.term_at(index) == term

    def settle(_replicated_log: ReplicatedLog) -> list[ReadSettled]:
        return _served(reads, has)

    put(reads, settle=settle)


def _served(reads: ReplicaReads, may: Callable[[_AtLeast], bool]) -> list[ReadSettled]:
    done = [each for each in reads._waiting if may(each)]
    reads._waiting = [each for each in reads._waiting if not may(each)]
    return [ReadSettled(each.ticket) for each in done]


class _Faithful(ReplicaReads):
    @override
    def leader_lost(self) -> list[ReadSettled]:
        """What a former leader said still holds."""
        return []


def _outlives_leader(core: Core) -> None:
    core.machine.state.reads.__class__ = _Faithful


def _nameless_life(core: Core) -> None:
    core.machine.state.reads._asks = 0


# -- refusals


def _by_head(core: Core) -> None:
    state = core.state

    def refusal(request: Request) -> errors.QsyncError | None:
        try:
            state.execute(request)
        except errors.QsyncError as error:
            return error
        return None

    put(core, refusal=refusal)


def _records_alone(core: Core) -> None:
    state = core.state
    honest = state.refuse

    def refuse(request: Request, error: errors.QsyncError) -> ExecutedTransaction:
        refused = honest(request, error)
        refused.sync = False
        return refused

    put(state, refuse=refuse)


def _records_nothing(core: Core) -> None:
    def refuse(_request: Request, error: errors.QsyncError) -> ExecutedTransaction:
        error.details[RECORDED] = True
        raise error

    put(core.state, refuse=refuse)


ANSWERS = (
    Mutant(
        name="read_without_round",
        rule="protocol.md 7",
        without="a leader answers a linearizable read without a quorum round",
        remodel=_read_without_round,
    ),
    Mutant(
        name="index_without_round",
        rule="protocol.md 7",
        without="a leader answers ReadIndex without a quorum round",
        remodel=_index_without_round,
    ),
    Mutant(
        name="round_before_read",
        rule="protocol.md 7",
        without="a read is answered by a quorum round that began before the read",
        remodel=_round_before_read,
    ),
    Mutant(
        name="reads_before_promote",
        rule="protocol.md 7",
        without="a new leader answers reads before its PROMOTE is confirmed",
        remodel=_reads_before_promote,
    ),
    Mutant(
        name="reads_by_index",
        rule="protocol.md 7",
        without="a follower compares only the index of a read's place, not its term",
        remodel=_by_index,
    ),
    Mutant(
        name="reads_beyond_leader",
        rule="protocol.md 7",
        without="a linearizable read on a follower shows asynchronous data that its leader does "
        "not show yet",
        remodel=_beyond_leader,
    ),
    Mutant(
        name="at_least_from_pending",
        rule="protocol.md 7",
        without="a read that waits for an entry is served as soon as the entry is in the log",
        remodel=_from_pending,
    ),
    Mutant(
        name="reads_outlive_the_leader",
        rule="protocol.md 7",
        without="a ReadIndexResponse of an earlier leader still serves a read",
        remodel=_outlives_leader,
        harmless="it named a place (term and index), and only that very entry serves the read: if "
        "it was cut, the read waits until its timeout and is never stale",
    ),
    Mutant(
        name="answers_to_a_former_life",
        rule="protocol.md 7",
        without="a ReadIndexResponse to an earlier life of a node serves a read of its present "
        "life",
        remodel=_nameless_life,
    ),
    Mutant(
        name="refuses_by_head",
        rule="protocol.md 7",
        without="a refusal may depend on pending data",
        remodel=_by_head,
    ),
    Mutant(
        name="records_alone",
        rule="protocol.md 5",
        without="a recorded refusal is answered before it is on a quorum",
        remodel=_records_alone,
    ),
    Mutant(
        name="records_nothing",
        rule="protocol.md 5",
        without="a refusal is answered without being recorded although another attempt may still "
        "take effect",
        remodel=_records_nothing,
    ),
)
