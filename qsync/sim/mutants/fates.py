"""Broken rules of outcomes, of answers to clients, and of writing (protocol.md 3 to 6)."""

from collections.abc import Callable, Generator
from dataclasses import replace
from functools import partial

from typing_extensions import override

from election.messages import Index, Position, Term
from qsync.core import waiters
from qsync.core.leader import Leader
from qsync.core.machine import Machine
from qsync.core.ready import Settled, TimerKind, TransactionFate
from qsync.core.replicated_log import ReplicatedLog
from qsync.core.waiters import Waiters
from qsync.data.fold import Fold
from qsync.data.memtable import Memtable
from qsync.data.request import ExecutedTransaction, Request
from qsync.record import WAIT_ACK, WAIT_SYNC, Entry, EntryKind, Flags, LimboRef, ref_body
from qsync.replica import Replica as Core
from qsync.sim.mutants.counting import every_leader_is
from qsync.sim.mutants.mutant import Mutant, every_leader, keep, put

# -- what clients hear

Fate = Callable[[ReplicatedLog, Index, Term, Position], TransactionFate | None]


def _waits(core: Core, fate: Fate) -> None:
    """Who was deposed, was rolled back or asked again hears of that fate."""
    waiting = core.machine.waiters

    def settle_others(replicated_log: ReplicatedLog) -> list[Settled]:
        settled, left = [], []
        for waiter in sorted(waiting._others, key=lambda each: (each.index, each.term)):
            if waiter.ticket in waiting._forgotten:
                continue
            verdict = fate(replicated_log, waiter.index, waiter.term, waiter.behind)
            if verdict is None:
                left.append(waiter)
            else:
                settled.append(Settled(waiter.ticket, verdict, waiter.index, waiter.term))
        waiting._others = left
        return settled

    assert type(waiting) is Waiters
    put(waiting, _settle_others=settle_others)


def _rolled_back_at_once(
    replicated_log: ReplicatedLog, index: Index, term: Term, behind: Position
) -> TransactionFate | None:
    here = index <= replicated_log.log.last and replicated_log.log.term_at(index) == term
    if here and replicated_log.limbo.stretch_at(index) is not None:
        return TransactionFate.ROLLED_BACK
    return waiters.fate(replicated_log, index, term, behind)


def _cut_at_once(
    replicated_log: ReplicatedLog, index: Index, term: Term, behind: Position
) -> TransactionFate | None:
    if index > replicated_log.log.last or replicated_log.log.term_at(index) != term:
        return TransactionFate.CUT
    return waiters.fate(replicated_log, index, term, behind)


def _cut_for_lost(
    replicated_log: ReplicatedLog, index: Index, term: Term, behind: Position
) -> TransactionFate | None:
    verdict = waiters.fate(replicated_log, index, term, behind)
    return TransactionFate.CUT if verdict is TransactionFate.LOST else verdict


def _by_index(
    replicated_log: ReplicatedLog, index: Index, term: Term, behind: Position
) -> TransactionFate | None:
    if index <= replicated_log.log.last:
        term = replicated_log.log.term_at(index)
    return waiters.fate(replicated_log, index, term, behind)


# -- fates


def _not_overruled(core: Core) -> None:
    replicated_log = core.machine.replicated_log

    def overrule(index: Index) -> None:
        replicated_log.limbo.confirmed = index

    put(replicated_log, _overrule=overrule)


class _Eager(ReplicatedLog):
    @property
    @override
    def visible(self) -> Index:
        """Also what is not on this disk yet."""
        reach = min(self.limbo.visible(self.log.last), self.leaders)
        return max(self.limbo.confirmed, reach)


class _Proprietary(ReplicatedLog):
    @property
    @override
    def visible(self) -> Index:
        """Also what a former leader left behind."""
        reach = min(self.limbo.visible(self.log.last), self.written)
        return max(self.limbo.confirmed, reach)


def _replicated_log_is(core: Core, kind: type[ReplicatedLog]) -> None:
    core.machine.replicated_log.__class__ = kind


def _executes_on_visible(core: Core) -> None:
    state = core._state
    honest = state.execute

    def execute(
        request: Request, *, at: Position | None = None, visible: bool = False
    ) -> ExecutedTransaction:
        del visible
        return honest(request, at=at, visible=True)

    put(state, execute=execute)


def _asynchronous(core: Core) -> None:
    state = core._state
    honest = state.execute

    def execute(
        request: Request, *, at: Position | None = None, visible: bool = False
    ) -> ExecutedTransaction:
        executed = honest(request, at=at, visible=visible)
        executed.sync = False
        return executed

    put(state, execute=execute)


def _shows_pending(core: Core) -> None:
    def visible(last: Index) -> Index:
        return last

    put(core.machine.replicated_log.limbo, visible=visible)


def _folds_visible(core: Core) -> None:
    def folding(rows_max: int, upto: Index | None = None) -> Generator[None, None, Fold | None]:
        del upto
        state = core.state
        found = yield from state.folding(core.machine.replicated_log.visible, rows_max)
        return found if found.folded > state.folded else None

    put(core, folding=folding)


def _dropped_before_folded(core: Core) -> None:
    folding, folded_to = core.folding, core.folded_to

    def dropped(rows_max: int, upto: Index | None = None) -> Generator[None, None, Fold | None]:
        found = yield from folding(rows_max, upto)
        if found is not None:
            core._state.overlay.fold(found.txns, found.rows)
        return found

    def folded(fold: Fold) -> list[Memtable]:
        return folded_to(replace(fold, txns=0, rows=0))

    put(core, folding=dropped, folded_to=folded)


# -- leaders that decide what they may not


def _rollback_inherited(core: Core) -> None:
    machine = core.machine

    def change(leader: Leader) -> None:
        put(leader, roll_back=partial(_roll_back, leader))
        # Only who may roll back watches the time.
        machine.state.out.arm(TimerKind.SYNCHRO, machine.config.synchro_timeout)

    every_leader(core, change)
    put(machine.turn, overdue=partial(_overdue, machine))


def _roll_back(leader: Leader, wall: float) -> Entry | None:
    queue = leader.replicated_log.limbo.queue
    if not queue:
        return None
    ref = LimboRef(queue[0].origin, queue[0].lsn)
    return leader._append(EntryKind.ROLLBACK, Flags.NONE, ref_body(ref), wall)


def _overdue(machine: Machine) -> None:
    queue = machine.replicated_log.limbo.queue
    if queue and machine.leader is not None:
        machine.state.roll_back("at once")


def _in_two_steps(core: Core) -> None:
    """The victims are chosen in one batch, and the ROLLBACK is appended in the next."""
    machine, chosen, due = core.machine, list[Entry](), list[Entry]()
    honest, state = machine.turn.serve, machine.state

    def roll_back(_why: str) -> int:
        leader, queue = machine.leader, machine.replicated_log.limbo.queue
        if leader is not None and leader.established and queue:
            chosen.append(queue[0])
        return 0

    def serve(leader: Leader) -> None:
        honest(leader)
        if due and due[0].term == leader.term:
            ref = LimboRef(due[0].origin, due[0].lsn)
            leader._append(EntryKind.ROLLBACK, Flags.NONE, ref_body(ref), state.wall)
            machine.waiters.rolled_back(due[0].index)
            leader.replicate(state.out.send)
        due[:] = chosen
        chosen.clear()

    put(machine.turn, serve=serve)
    keep(machine.turn, chosen=chosen, due=due)
    put(state, roll_back=roll_back)


class Impatient(Leader):
    """Takes transactions at once."""

    @property
    @override
    def open(self) -> bool:
        """Before its PROMOTE is confirmed, too."""
        return self.stopping is None

    @override
    def transaction(self, body: bytes, *, sync: bool, wall: float) -> Entry:
        """Without looking."""
        queued = WAIT_SYNC if sync or self.replicated_log.limbo.queue else 0
        flags = queued | WAIT_ACK if sync else queued
        return self._append(EntryKind.TXN, flags, body, wall)


class _Unstoppable(Leader):
    @property
    @override
    def open(self) -> bool:
        """Although it hands over, or gives the limbo up."""
        return self.established


def _confirms_after_telling(core: Core) -> None:
    machine = core.machine
    honest = machine.turn.serve

    def lead(leader: Leader) -> None:
        honest(leader)
        if leader.confirm_due and machine.raft.transfer.target:
            leader.record_confirm(0.0)
            leader.replicate(machine.state.out.send)

    put(machine.turn, serve=lead)


def _cancel_rolls_back(core: Core) -> None:
    machine = core.machine
    honest = machine.operations.forget

    def forget(ticket: int) -> None:
        honest(ticket)
        if not machine.reasons():
            machine.state.roll_back("its client left")

    put(machine.operations, forget=forget)


FATES = (
    Mutant(
        name="writes_before_promote",
        rule="protocol.md 3.1",
        without="a new leader accepts writes before its PROMOTE is confirmed",
        remodel=partial(every_leader_is, kind=Impatient),
        harmless="the log orders them after the PROMOTE, and their answers wait for a quorum "
        "anyway",
    ),
    Mutant(
        name="executes_on_visible",
        rule="protocol.md 3.2",
        without="a transaction is executed on the visible state, without the pending ones before "
        "it",
        remodel=_executes_on_visible,
    ),
    Mutant(
        name="written_asynchronously",
        rule="protocol.md 3.3",
        without="a write to a synchronous space is answered without a quorum",
        remodel=_asynchronous,
    ),
    Mutant(
        name="shows_pending",
        rule="protocol.md 4",
        without="pending data is readable",
        remodel=_shows_pending,
    ),
    Mutant(
        name="shows_before_durable",
        rule="protocol.md 3.9",
        without="an asynchronous write is visible before it is durable on this node",
        remodel=partial(_replicated_log_is, kind=_Eager),
    ),
    Mutant(
        name="shows_a_strange_tail",
        rule="protocol.md 7",
        without="an earlier leader's asynchronous tail is visible though the leader may lack it",
        remodel=partial(_replicated_log_is, kind=_Proprietary),
    ),
    Mutant(
        name="rollback_beyond_confirmed",
        rule="protocol.md 4",
        without="a local ROLLBACK overrides a confirmation by a later leader",
        remodel=_not_overruled,
    ),
    Mutant(
        name="folds_what_is_visible",
        rule="protocol.md 7",
        without="rows are folded into the spaces on disk before they are confirmed",
        remodel=_folds_visible,
    ),
    Mutant(
        name="dropped_before_folded",
        rule="protocol.md 7",
        without="row versions leave memory before they are folded into the spaces on disk",
        remodel=_dropped_before_folded,
    ),
    Mutant(
        name="rollback_inherited",
        rule="protocol.md 5",
        without="a leader rolls back entries that it inherited",
        remodel=_rollback_inherited,
    ),
    Mutant(
        name="rollback_in_two_steps",
        rule="protocol.md 5",
        without="entries may be confirmed between the choice of the victims and the ROLLBACK",
        remodel=_in_two_steps,
    ),
    Mutant(
        name="rolled_back_said_at_once",
        rule="protocol.md 5",
        without='a client hears "rolled back" before the ROLLBACK is on a quorum',
        remodel=partial(_waits, fate=_rolled_back_at_once),
    ),
    Mutant(
        name="cut_at_once",
        rule="protocol.md 5",
        without="a client hears that its write is gone as soon as this node's log lacks it",
        remodel=partial(_waits, fate=_cut_at_once),
    ),
    Mutant(
        name="lost_for_cut",
        rule="protocol.md 5",
        without="a cut asynchronous write is reported as gone though another node may show it",
        remodel=partial(_waits, fate=_cut_for_lost),
    ),
    Mutant(
        name="waits_by_index",
        rule="protocol.md 1",
        without="a client gets the fate of another entry at the same index",
        remodel=partial(_waits, fate=_by_index),
    ),
    Mutant(
        name="writes_after_telling",
        rule="protocol.md 2",
        without="a leader accepts writes during a leader transfer",
        remodel=partial(every_leader_is, kind=_Unstoppable),
        harmless='its clients hear "unknown" of what is cut; but a planned switchover cuts nothing',
    ),
    Mutant(
        name="confirms_after_telling",
        rule="protocol.md 2",
        without="a leader appends a CONFIRM after it sent TimeoutNow to its successor",
        remodel=_confirms_after_telling,
        harmless="votes are refused, as the leader's log is longer: the switchover takes another "
        "try",
    ),
    Mutant(
        name="cancel_rolls_back",
        rule="protocol.md 5",
        without="pending transactions are rolled back when a waiting client disconnects",
        remodel=_cancel_rolls_back,
        harmless="a leader may always roll back what is pending of its own term; every client "
        "hears it",
    ),
)
