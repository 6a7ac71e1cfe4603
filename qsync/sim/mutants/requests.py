"""Broken rules of requests: conditions, sessions, and exactly once (protocol.md 3.2 and 5).

Some leave a valid log: only the outcomes of clients show them.
"""

from collections.abc import Container, Generator, Iterable
from dataclasses import replace

from typing_extensions import override

from election.messages import Index, Position, Term
from qsync.core.leader import Leader
from qsync.core.ready import Ticket
from qsync.data.operation_kinds import Op
from qsync.data.request import (
    NEW,
    STALE,
    ExecutedTransaction,
    KnownRequest,
    LoggedTransaction,
    Request,
    Seen,
    SubmittedTransaction,
)
from qsync.data.sessions import Sessions, Table
from qsync.errors import WrongTuple
from qsync.replica import Replica as Core
from qsync.sim.mutants.mutant import Mutant, every_leader, put

_CONDITIONS = frozenset({int(Op.REQUIRE_EQUAL), int(Op.REQUIRE_EXISTENCE)})


def _validation_skipped(core: Core) -> None:
    state = core._state
    honest = state.execute

    def execute(
        request: Request, *, at: Position | None = None, visible: bool = False
    ) -> ExecutedTransaction:
        return honest(replace(request, reads=()), at=at, visible=visible)

    put(state, execute=execute)


def _condition_ignored(core: Core) -> None:
    state = core._state
    honest = state.execute

    def execute(
        request: Request, *, at: Position | None = None, visible: bool = False
    ) -> ExecutedTransaction:
        ops = [op for op in request.ops if op[0] not in _CONDITIONS]
        return honest(replace(request, ops=ops), at=at, visible=visible)

    put(state, execute=execute)


def _refused_after_append(core: Core) -> None:
    honest = core.submit

    def submit(ticket: Ticket | None, request: Request) -> SubmittedTransaction:
        crowded = len(core.machine.replicated_log.limbo.queue) > 1
        submitted = honest(ticket, request)
        if crowded and not submitted.duplicate:
            raise WrongTuple("there was no room for it")
        return submitted

    put(core, submit=submit)


def _retry_applies_twice(core: Core) -> None:
    state = core._state

    def known_request(session: bytes, seq: int) -> Seen:
        known = state.sessions.head.get(session)
        if known is not None:
            known.outcomes.pop(seq, None)
        return NEW

    put(state, known_request=known_request)


def _sessions_forgotten(core: Core) -> None:
    state = core._state

    def change(_leader: Leader) -> None:
        for session in state.sessions.head.values():
            if session is not None:
                session.outcomes.clear()

    every_leader(core, change)


class _Uncut(Sessions):
    @override
    def cut(self, txns: Iterable[LoggedTransaction]) -> None:
        """What was cut stays known."""


class _Unrefused(Sessions):
    @override
    def known_request(self, session: bytes, seq: int, rolled: Container[int]) -> Seen:
        """What stood in the log alone is not known without it."""
        known = super().known_request(session, seq, rolled)
        return replace(known, refused=0) if isinstance(known, KnownRequest) else known


class _Unfolded(Sessions):
    @override
    def planning(
        self, txns: list[LoggedTransaction], rolled: Container[int], *, step: int
    ) -> Generator[None, None, Table]:
        """Nothing of them goes to the disk."""
        yield from super().planning(txns, rolled, step=step)
        return {}


def _sessions_survive_cut(core: Core) -> None:
    core._state.sessions.__class__ = _Uncut


def _refusals_forgotten(core: Core) -> None:
    core._state.sessions.__class__ = _Unrefused


def _sessions_not_folded(core: Core) -> None:
    core._state.sessions.__class__ = _Unfolded


def _stale_is_new(core: Core) -> None:
    state = core._state
    honest = state.known_request

    def known_request(session: bytes, seq: int) -> Seen:
        known = honest(session, seq)
        return NEW if known is STALE else known

    put(state, known_request=known_request)


def _session_opened_twice(core: Core) -> None:
    state = core._state
    honest = state.execute

    def execute(
        request: Request, *, at: Position | None = None, visible: bool = False
    ) -> ExecutedTransaction:
        del at
        return honest(request, at=Position(Term(0), Index(0)), visible=visible)

    put(state, execute=execute)


REQUESTS = (
    Mutant(
        name="retry_applies_twice",
        rule="protocol.md 5",
        without="a retried request takes effect again",
        remodel=_retry_applies_twice,
    ),
    Mutant(
        name="sessions_forgotten",
        rule="protocol.md 5",
        without="a new leader does not know the requests that earlier leaders executed",
        remodel=_sessions_forgotten,
    ),
    Mutant(
        name="sessions_survive_a_cut",
        rule="protocol.md 5",
        without="a request is still known after its entry was cut from the log",
        remodel=_sessions_survive_cut,
    ),
    Mutant(
        name="sessions_not_folded",
        rule="protocol.md 5",
        without="a restart forgets the requests of folded entries",
        remodel=_sessions_not_folded,
    ),
    Mutant(
        name="refusals_forgotten",
        rule="protocol.md 5",
        without="a recorded refusal is forgotten when its entry is trimmed from the log",
        remodel=_refusals_forgotten,
    ),
    Mutant(
        name="session_opened_twice",
        rule="protocol.md 5",
        without="a late copy of the request that opened a session opens it again after it expired",
        remodel=_session_opened_twice,
    ),
    Mutant(
        name="stale_taken_for_new",
        rule="protocol.md 5",
        without="a request number that its client has released counts as new",
        remodel=_stale_is_new,
    ),
    Mutant(
        name="validation_skipped",
        rule="protocol.md 3.2",
        without="a transaction is accepted although its read set has changed",
        remodel=_validation_skipped,
    ),
    Mutant(
        name="condition_ignored",
        rule="protocol.md 3.2",
        without="a compare-and-set sets without comparing",
        remodel=_condition_ignored,
    ),
    Mutant(
        name="refused_after_append",
        rule="protocol.md 3.2",
        without="a transaction is refused after it was appended to the log",
        remodel=_refused_after_append,
    ),
)
