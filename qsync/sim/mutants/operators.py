"""Broken rules of operations: they break no data, but leave an operator without an answer."""

from election.ready import ElectionTimer
from qsync.core import inputs
from qsync.core.admin_ops import TIMERS
from qsync.replica import Replica as Core
from qsync.sim.mutants.mutant import Mutant, put

_OPERATIONS = frozenset({*TIMERS, ElectionTimer.TRANSFER})


def _never_ends(core: Core) -> None:
    machine = core.machine
    honest = machine.step

    def step(event: inputs.Input) -> None:
        if not isinstance(event, inputs.TimerFired) or event.kind not in _OPERATIONS:
            honest(event)

    put(machine, step=step)


def _forgotten(core: Core) -> None:
    machine, asked = core.machine, set[int]()
    honest, answer = machine.step, machine.state.answer

    def step(event: inputs.Input) -> None:
        if isinstance(event, inputs.PromoteAsked):
            asked.add(event.ticket)
        honest(event)

    def answered(ticket: int, refused: str | None = None) -> None:
        if refused is None or ticket not in asked:
            answer(ticket, refused)

    put(machine, step=step)
    put(machine.state, answer=answered)


def _told_early(core: Core) -> None:
    promotions = core.machine.operations.promotions
    honest = promotions.advance

    def advance() -> None:
        honest()
        if core.machine.leader is not None:
            promotions._over(None)

    put(promotions, advance=advance)


OPERATORS = (
    Mutant(
        name="operation_never_ends",
        rule="protocol.md 2",
        without="an operation has no timeout",
        remodel=_never_ends,
    ),
    Mutant(
        name="operator_forgotten",
        rule="protocol.md 2",
        without="an operator who asks for a promotion gets no answer if it fails",
        remodel=_forgotten,
    ),
    Mutant(
        name="promotion_told_early",
        rule="protocol.md 6",
        without="a promotion is reported as done when the node is elected, before its PROMOTE is "
        "confirmed",
        remodel=_told_early,
    ),
)
