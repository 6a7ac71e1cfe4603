"""Broken rules that leave the log in perfect order: only what clients are told gives them away."""

from collections.abc import Callable

from election.messages import Position
from qsync.core.ready import Ticket
from qsync.data.request import Executed, Op, Request
from qsync.errors import WrongTuple
from qsync.replica import Replica as Core
from qsync.replica import Submitted

_CONDITIONS = frozenset({int(Op.REQUIRE_EQUAL), int(Op.REQUIRE_EXISTENCE)})


def validation_skipped(core: Core) -> None:
    """A transaction is not refused when what it read has changed: updates get lost."""
    _execute(core, lambda request: request._replace(reads=()))


def condition_ignored(core: Core) -> None:
    """A compare-and-set sets without comparing."""

    def unconditional(request: Request) -> Request:
        return request._replace(ops=[op for op in request.ops if op[0] not in _CONDITIONS])

    _execute(core, unconditional)


def refused_after_append(core: Core) -> None:
    """The limit of the queue is looked at when the transaction is in it: a refusal that lies."""
    honest = core.submit

    def submit(ticket: Ticket | None, request: Request) -> Submitted:
        crowded = len(core.machine.ledger.limbo.queue) > 1
        submitted = honest(ticket, request)
        if crowded and not submitted.duplicate:
            raise WrongTuple("there was no room for it")
        return submitted

    core.submit = submit  # type: ignore[method-assign]  # a mutant


def _execute(core: Core, change: Callable[[Request], Request]) -> None:
    state = core._state  # noqa: SLF001 - a mutant
    honest = state.execute

    def execute(request: Request, *, at: Position | None = None, visible: bool = False) -> Executed:
        return honest(change(request), at=at, visible=visible)

    state.execute = execute  # type: ignore[method-assign]  # a mutant
