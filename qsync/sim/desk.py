"""Where a node takes the calls of clients, and answers them when the replica has decided."""

from typing import Protocol

from election.messages import Replica
from qsync import refusing
from qsync.core.inputs import ReadAsked
from qsync.core.ready import Ready, Settled, TransactionFate
from qsync.errors import RECORDED, NotLeader, Outcome, QsyncError
from qsync.replica import Replica as Core
from qsync.sim.calls import Answer, Call, CallRefused, ReadCall, ReadResult, WriteCall, WriteDone


class ClientObserver(Protocol):
    """Who hears what clients are told, before they are."""

    def settled(self, me: Replica, core: Core, call: WriteCall, settled: Settled) -> None:
        """A write has its fate."""

    def served(self, me: Replica, core: Core, call: ReadCall, value: object) -> None:
        """A read saw this."""


class TicketDesk:
    """Tickets of one node. `forget` when the process dies: nobody is answered then."""

    def __init__(self, me: Replica, witness: ClientObserver) -> None:
        self._me = me
        self._witness = witness
        self._calls: dict[int, tuple[Call, Answer]] = {}
        self._waiting: dict[int, refusing.PendingRefusal] = {}
        """Of writes that are refused, and not told so yet."""
        self._recorded: dict[int, QsyncError] = {}
        """Refusals in the log, not told before they are committed."""
        self._tickets = 0
        self.operators: dict[int, str] = {}
        """Operators that wait, and what for."""

    def forget(self) -> None:
        """The process is gone."""
        self._calls, self._waiting, self._recorded = {}, {}, {}
        self.operators = {}

    def operator(self, what: str) -> int:
        """A ticket for an operator."""
        ticket = self.ticket()
        self.operators[ticket] = what
        return ticket

    def ticket(self) -> int:
        """A new one."""
        self._tickets += 1
        return self._tickets

    def take(self, core: Core, call: Call, answer: Answer) -> None:
        """A client asks."""
        ticket = self.ticket()
        if isinstance(call, ReadCall):
            self._calls[ticket] = (call, answer)
            event = ReadAsked(
                ticket=ticket, consistency=call.consistency, term=call.term, index=call.index
            )
            core.step(event)
            return
        self._submit(core, ticket, call, answer)

    def _submit(self, core: Core, ticket: int, call: WriteCall, answer: Answer) -> None:
        try:
            done = core.submit(ticket, call.request)
            if done.refusal is not None:
                self._recorded[ticket] = done.refusal
        except QsyncError as error:
            waiting = refusing.waiting(core, call.request, error)
            if waiting is None:
                answer(call.attempt, self._refusal(core, error))
                return
            self._waiting[ticket] = waiting
            core.step(waiting.read(ticket))
        self._calls[ticket] = (call, answer)

    def _told(self, core: Core, ticket: int, call: WriteCall, *, sure: bool) -> None:
        """What a refusal waited for has come, or will not."""
        waiting, (_, answer) = self._waiting.pop(ticket), self._calls.pop(ticket)
        if waiting.error is None:
            self._submit(core, self.ticket(), call, answer)
        elif sure:
            answer(call.attempt, self._refusal(core, waiting.error))
        else:
            answer(call.attempt, self._refusal(core, NotLeader("this node no longer leads")))

    def answer(self, core: Core, ready: Ready) -> None:
        """Everybody whose answer is in this Ready."""
        for settled in ready.settled:
            self._settle(core, settled)
        for read in ready.reads:
            self.operators.pop(read.ticket, None)
            self._serve(core, read.ticket, read.refused)

    def _settle(self, core: Core, settled: Settled) -> None:
        call, answer = self._calls.pop(settled.ticket, _NOBODY)
        if call is None or answer is None:
            return
        assert isinstance(call, WriteCall)
        self._witness.settled(self._me, core, call, settled)
        refusal = self._recorded.pop(settled.ticket, None)
        if refusal is not None and settled.verdict is TransactionFate.COMMITTED:
            answer(call.attempt, self._refusal(core, refusal))
            return
        done = WriteDone(
            node=self._me, verdict=settled.verdict, index=settled.index, term=settled.term
        )
        answer(call.attempt, done)

    def _serve(self, core: Core, ticket: int, refused: str | None) -> None:
        call, answer = self._calls.get(ticket, _NOBODY)
        if call is None or answer is None:
            return
        if isinstance(call, WriteCall):
            self._told(core, ticket, call, sure=refused is None)
            return
        del self._calls[ticket]
        if refused is not None:
            leader = core.machine.raft.leader
            answer(call.attempt, CallRefused(node=self._me, code="READ_REFUSED", leader=leader))
            return
        try:
            value = call.read(core.state)
        except QsyncError as error:
            answer(call.attempt, self._refusal(core, error))
            return
        self._witness.served(self._me, core, call, value)
        shown = core.machine.ledger.readable_place
        seen = ReadResult(node=self._me, value=value, index=shown.index, term=shown.term)
        answer(call.attempt, seen)

    def _refusal(self, core: Core, error: QsyncError) -> CallRefused:
        return CallRefused(
            node=self._me,
            code=error.code,
            unknown=error.outcome is Outcome.UNKNOWN,
            recorded=bool(error.details.get(RECORDED)),
            leader=core.machine.raft.leader,
        )


_NOBODY: tuple[Call | None, Answer | None] = (None, None)
