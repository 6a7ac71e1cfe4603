"""Rules switched off on purpose, one at a time: the invariants must notice each of them."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from typing import Protocol

from typing_extensions import override

from election.messages import Index
from qsync.core import inputs
from qsync.core.config import CoreConfig
from qsync.core.follower import Follower
from qsync.core.leader import Leader
from qsync.core.ledger import Ledger
from qsync.core.machine import Machine
from qsync.core.messages import Appended
from qsync.core.operate import TIMERS
from qsync.core.ready import TimerKind, Write
from qsync.data.request import NEW, Seen
from qsync.record import Entry, Flags, Kind, Ref, ref_body
from qsync.replica import Replica as Core
from qsync.sim import strangers, unseen
from qsync.sim.disk import forgetful

Remodel = Callable[[Core], None]


class Storage(Protocol):
    """What a mutant may replace of a disk: what is stored of a write."""

    seal: Callable[[Write], Write]


class Node(Protocol):
    """What a mutant may replace of a node, before it starts."""

    config: CoreConfig
    remodel: Remodel

    @property
    def disk(self) -> Storage:
        """Its directory."""


class UnknownMutant(Exception):
    """There is no mutant of that name."""


def plant(name: str, nodes: Sequence[Node]) -> None:
    """Break the rule in every node of this world, and in no other."""
    known = MUTANTS | STALLING | LOSING_DISKS
    if name not in known:
        raise UnknownMutant(f"{name}; there are {', '.join(known)}")
    for node in nodes:
        known[name](node)


def _on_disk(node: Node) -> None:
    node.disk.seal = forgetful


def _in_config(node: Node) -> None:
    known = {each.name: getattr(node.config, each.name) for each in fields(CoreConfig)}
    node.config = _Careless(**known)


def _in_core(remodel: Remodel, node: Node) -> None:
    node.remodel = remodel


# -- a follower that acks what it has not written


class _Hasty(Follower):
    def ack(self) -> Appended | None:
        """What has arrived, durable or not."""
        durable, self.ledger = self.ledger, _Optimist(self.ledger)
        try:
            return super().ack()
        finally:
            self.ledger = durable


class _Optimist(Ledger):
    """Looks like the ledger, but everything is written."""

    def __init__(self, real: Ledger) -> None:
        self.__dict__.update(real.__dict__)

    @property
    @override
    def written(self) -> Index:
        """All of it."""
        return self.log.last


def _ack_before_durable(core: Core) -> None:
    machine = core.machine

    def hasty() -> Follower:
        follower = _Hasty(machine.config, machine.ledger, term=machine.raft.term)
        follower.split = machine.follower.split
        return follower

    machine._new_follower = hasty  # type: ignore[method-assign]  # noqa: SLF001 - a mutant
    machine.follower = hasty()


# -- leaders that count wrongly


class _Careless(CoreConfig):
    @property
    def quorum(self) -> int:
        """One voter short."""
        return self.synchro_quorum.of(len(self.voters)) - 1


def _every_leader(core: Core, change: Callable[[Leader], None]) -> None:
    machine = core.machine
    take_over = machine._take_over  # noqa: SLF001 - a mutant

    def changed() -> None:
        take_over()
        assert machine.leader is not None
        change(machine.leader)

    machine._take_over = changed  # type: ignore[method-assign]  # noqa: SLF001 - a mutant


def _count(leader: Leader, *, any_term: bool, in_stretch: bool) -> None:
    ledger, limbo = leader.ledger, leader.ledger.limbo
    q = leader._quorum_has()  # noqa: SLF001 - a mutant
    if q <= limbo.confirmed or (not any_term and ledger.log.term_at(q) != leader.term):
        return
    index = q if in_stretch else limbo.lowered(q)
    if index > limbo.confirmed:
        ledger.confirm(index)
        leader.confirm_due = True


def _counts(core: Core, *, any_term: bool = False, in_stretch: bool = False) -> None:
    def change(leader: Leader) -> None:
        count = partial(_count, leader, any_term=any_term, in_stretch=in_stretch)
        leader.count = count  # type: ignore[method-assign]  # a mutant

    _every_leader(core, change)


def _carried(core: Core) -> None:
    limbo = core.machine.ledger.limbo

    def carried(end: Index) -> Index:
        return min(limbo.confirmed, end)

    limbo.carried = carried  # type: ignore[method-assign]  # a mutant


# -- leaders that decide what they may not


def _rollback_inherited(core: Core) -> None:
    machine = core.machine

    def change(leader: Leader) -> None:
        leader.roll_back = partial(_roll_back, leader)  # type: ignore[method-assign]  # a mutant
        # Only who may roll back watches the time.
        machine.out.arm(TimerKind.SYNCHRO, machine.config.synchro_timeout)

    _every_leader(core, change)
    machine.overdue = partial(_overdue, machine)  # type: ignore[method-assign]  # a mutant


def _roll_back(leader: Leader, wall: float) -> Entry | None:
    queue = leader.ledger.limbo.queue
    if not queue:
        return None
    ref = Ref(queue[0].origin, queue[0].lsn)
    return leader._append(Kind.ROLLBACK, Flags.NONE, ref_body(ref), wall)  # noqa: SLF001 - a mutant


def _overdue(machine: Machine) -> None:
    queue = machine.ledger.limbo.queue
    if queue and machine.leader is not None:
        machine.roll_back("at once")


# -- answers that come too easily


def _read_without_round(core: Core) -> None:
    machine = core.machine
    honest = machine._read  # noqa: SLF001 - a mutant

    def read(event: inputs.ReadAsked) -> None:
        if machine.leader is not None and event.consistency is inputs.Consistency.LINEARIZABLE:
            machine.answer(event.ticket)
        else:
            honest(event)

    machine._read = read  # type: ignore[method-assign]  # noqa: SLF001 - a mutant


def _retry_applies_twice(core: Core) -> None:
    state = core._state  # noqa: SLF001 - a mutant

    def seen(session: bytes, seq: int) -> Seen:
        known = state.sessions.head.get(session)
        if known is not None:
            known.outcomes.pop(seq, None)
        return NEW

    state.seen = seen  # type: ignore[method-assign]  # a mutant


def _sessions_forgotten(core: Core) -> None:
    state = core._state  # noqa: SLF001 - a mutant

    def change(_leader: Leader) -> None:
        for session in state.sessions.head.values():
            if session is not None:
                session.outcomes.clear()

    _every_leader(core, change)


# -- operations without an end


def _operation_never_ends(core: Core) -> None:
    machine = core.machine
    honest = machine.step

    def step(event: inputs.Input) -> None:
        if not isinstance(event, inputs.TimerFired) or event.kind not in _OPERATIONS:
            honest(event)

    machine.step = step  # type: ignore[method-assign]  # a mutant


def _operator_forgotten(core: Core) -> None:
    """Whoever promotes is answered when it is done, and not when it cannot be done."""
    machine, asked = core.machine, set[int]()
    honest, answer = machine.step, machine.answer

    def step(event: inputs.Input) -> None:
        if isinstance(event, inputs.PromoteAsked):
            asked.add(event.ticket)
        honest(event)

    def answered(ticket: int, refused: str | None = None) -> None:
        if refused is None or ticket not in asked:
            answer(ticket, refused)

    machine.step = step  # type: ignore[method-assign]  # a mutant
    machine.answer = answered  # type: ignore[method-assign]  # a mutant


_OPERATIONS = frozenset({*TIMERS, TimerKind.TRANSFER})

STALLING: dict[str, Callable[[Node], None]] = {
    "operation_never_ends": partial(_in_core, _operation_never_ends),
    "operator_forgotten": partial(_in_core, _operator_forgotten),
}
"""Mutants that do nothing wrong, and keep somebody waiting for ever: only time tells."""

MUTANTS: dict[str, Callable[[Node], None]] = {
    "vote_not_persisted": _on_disk,
    "ack_before_durable": partial(_in_core, _ack_before_durable),
    "quorum_minus_one": _in_config,
    "confirm_older_term": partial(_in_core, partial(_counts, any_term=True)),
    "rollback_inherited": partial(_in_core, _rollback_inherited),
    "stretch_rule_leader": partial(_in_core, partial(_counts, in_stretch=True)),
    "stretch_rule_carried": partial(_in_core, _carried),
    "read_without_round": partial(_in_core, _read_without_round),
    "retry_applies_twice": partial(_in_core, _retry_applies_twice),
    "sessions_forgotten": partial(_in_core, _sessions_forgotten),
    "validation_skipped": partial(_in_core, unseen.validation_skipped),
    "condition_ignored": partial(_in_core, unseen.condition_ignored),
    "refused_after_append": partial(_in_core, unseen.refused_after_append),
}
"""Name to what it does to a node."""

LOSING_DISKS: dict[str, Callable[[Node], None]] = {
    "pair_ignored": partial(_in_core, strangers.pair_ignored),
}
"""Mutants that show only when a disk is lost, which happens in scopes of the explorer alone."""
