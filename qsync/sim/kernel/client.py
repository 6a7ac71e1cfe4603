"""One hand of a program with the shipped client: one operation after another.

The repertoire of all simulated clients draws its operations; a program has several hands.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import cbor2
from typing_extensions import override

from election.messages import Index, Replica, Term
from qsync.client.numbering import Token
from qsync.client.pending_request import PendingRequest
from qsync.core.consistency import Consistency
from qsync.core.ready import TransactionFate
from qsync.error_details import COMPACTED
from qsync.errors import Outcome, OutcomeUnknown, QsyncError, RolledBack
from qsync.sim import repertoire, transactions
from qsync.sim.canon import PropertyViolation
from qsync.sim.kernel import caller, following, interactive
from qsync.sim.kernel.caller import Caller, CallerCancelled, Departure, Departures
from qsync.sim.kernel.impatience import Impatience
from qsync.sim.kernel.numbers import SentNumbers
from qsync.sim.kernel.program import Program
from qsync.sim.operations import (
    NOWHERE,
    Ask,
    FollowOperation,
    OperationRecord,
    OperationResult,
    ReadOperation,
    Steps,
    TransactionOperation,
    WriteOperation,
)
from qsync.sim.repertoire import OperationGenerator
from qsync.sim.replies import CallRefused, ReadResult, WriteDone
from qsync.sim.scripted import ScriptedClient
from qsync.sim.transactions import ReadSet
from qsync.wire import replies
from qsync.wire.verbs import GetRequest, ReadLevel, Request, WriteFlags, WriteRequest

LOOK_S: Final = 60.0
"""How often a client with a long pause checks for work."""
HASTY: Final = 0.2
"""How often a write has its own, short time limit."""
_PROCESSES: Final = 1000
_NOBODY: Final = Replica(0)
_CANCELLED: Final = CallRefused(node=_NOBODY, code="CANCELLED")


class Hand(ScriptedClient):
    """One operation after another. `counts`: operations by name and result.

    `impatience`: it asks for the outcome of writes that are under way. `departures`: of those whose
    callers were cancelled.
    """

    def __init__(
        self,
        mind: OperationGenerator,
        program: Program,
        impatience: Impatience | None = None,
        departures: Departures | None = None,
    ) -> None:
        super().__init__(mind)
        self.program = program
        self._impatience = impatience
        self._departures = departures
        self._history = program.around.history
        self._sessions = program.around.promises.sessions
        self._number = mind.number
        self._running = False

    @override
    def _go_on(self) -> None:
        if not self._running:
            self._running = True
            self.program.process.spawn(self._run)

    async def _run(self) -> None:
        while self.script or not self.stopping:
            scripted = bool(self.script)
            begun = self.script[0]() if scripted else transactions.draw(self._mind)
            told = await self._do(*begun)
            if scripted and told.ok:
                self.script.pop(0)
                if not self.script and self.done is not None:
                    done, self.done = self.done, None
                    done()
            await self._rest(self._mind.pause())
        self._running = False

    async def _rest(self, seconds: float) -> None:
        """Pause for this time, or until there is work: it checks periodically."""
        await self.program.sleep(min(seconds, LOOK_S))
        left = seconds - LOOK_S
        while left > 0 and not (self.stopping and self.script):
            await self.program.sleep(min(left, LOOK_S))
            left -= LOOK_S

    async def _do(self, operation: OperationRecord, steps: Steps) -> OperationResult:
        self._now = operation
        self._history.invoke(self._number, operation)
        self.counts[f"{operation.name} asked"] += 1
        ask = next(steps)
        while True:
            told = await self._asked(ask)
            self._noted(ask, told)
            try:
                ask = steps.send(told)
            except StopIteration:
                break
        self._now = None
        self._history.complete(self._number, operation, told)
        self.counts[f"{operation.name} {told.type}"] += 1
        if told.type == "info":
            self._number += _PROCESSES
        return told

    async def _asked(self, ask: Ask) -> OperationResult:
        try:
            match ask:
                case WriteOperation():
                    return await self._write(ask)
                case TransactionOperation():
                    return await self._transact(ask)
                case FollowOperation():
                    return await self._follow(ask)
                case ReadOperation():
                    return await (self._read(ask) if len(ask.places) == 1 else self._audit(ask))
        except PropertyViolation as violation:
            self.program.computer.room.found(violation)
            raise

    async def _write(self, ask: WriteOperation) -> OperationResult:
        flags = {None: WriteFlags.NONE, True: WriteFlags.SYNC, False: WriteFlags.ASYNC}[ask.sync]
        ops = [_plain(op) for op in ask.ops]
        reads = [list(each) for each in ask.reads]

        dice, patience = self.program.dice, self.program.around.timeout / 8
        hasty = dice.about(patience) if dice.chance(HASTY) else None

        def make(id: int) -> Request:
            return WriteRequest(id, b"", 0, 0, int(flags), ops, hasty, ask.snapshot, reads)

        sessions, sent = self._sessions, SentNumbers()
        asked_in = sessions.generation
        told = [self._told(each) for each in await self._sent(ask, make, sent)]
        for each in told:
            sessions.told_once(sent.numbers, each.type)
            if ask.token is not None:
                sessions.told_of_token((each.session, each.seq), each.type, asked_in=asked_in)
        # Whatever it heard first: a caller takes the answer that leaves no doubt.
        return next((each for each in told if each.type != "info"), told[-1])

    def _told(self, done: PendingRequest) -> OperationResult:
        """What an answer says of a write."""
        promises, request = self.program.around.promises, done.request
        assert isinstance(request, WriteRequest)
        session, seq = request.session, request.seq
        type_ = _type_of(done.error)
        if done.error is not None:
            if isinstance(done.error, RolledBack) and seq:
                promises.told_gone((session, seq))
            if isinstance(done.error, OutcomeUnknown) and done.error.details.get(COMPACTED):
                self.counts["told compacted"] += 1
                promises.told_compacted((session, seq))
            return OperationResult(type=type_, reply=_refused(done.error), session=session, seq=seq)
        assert done.answer is not None
        found = replies.read_committed(done.answer)
        reply = WriteDone(
            node=_NOBODY, verdict=TransactionFate.COMMITTED, index=found.at, term=found.term
        )
        return OperationResult(type=type_, reply=reply, session=session, seq=seq)

    async def _sent(
        self, ask: WriteOperation, make: Callable[[int], Request], sent: SentNumbers
    ) -> list[PendingRequest]:
        if ask.token is None:
            departure = self._departure(caller.WRITES)
            if departure is not None:
                return [await Caller(self.program, departure, sent).write(make)]
            early = None if self._impatience is None else self._impatience.draw()
            asks = await self.program.write(make, sent, early=early)
            if early is not None and len(asks) > 1:
                self.counts["asked early"] += 1
            return asks
        if ask.ops == repertoire.GIVE_UP:
            return [await self.program.resolve(Token(*ask.token))]
        return [await self.program.write_again(make, Token(*ask.token))]

    async def _read(self, ask: ReadOperation) -> OperationResult:
        ((space, key),) = ask.places
        around = self.program.around
        if not ask.insists and self.program.dice.chance(around.leased):
            ask = replace(ask, consistency=Consistency.LEASE)
        floor, claimed = around.promises.floor, ask.consistency is Consistency.AT_LEAST
        before = around.promises.newest_shown
        level = ReadLevel(ask.consistency, ask.floor.term, ask.floor.index)
        session = self.program.core.numbering.id
        done = await self._looked(lambda id: GetRequest(id, space, 0, [key], level))
        if done is None:
            return OperationResult(type="fail", reply=_CANCELLED)
        if done.error is not None:
            return OperationResult(type="fail", reply=_refused(done.error))
        assert done.answer is not None
        row, seen = replies.read_row(done.answer)
        if ask.consistency in around.fresh:
            around.promises.in_order(seen, before)
            around.promises.saw(seen, ask.consistency.value, floor)
        if claimed:
            around.promises.showed(seen, ask.floor)
        around.promises.row(seen, (space, key), row)
        return OperationResult(
            type="ok",
            reply=ReadResult(node=_NOBODY, value=[row], index=seen.index, term=seen.term),
            rows=[None if row is None else cbor2.loads(row)],
            session=session,
            consistency=ask.consistency.value,
            floor=ask.floor if claimed else NOWHERE,
        )

    async def _looked(self, make: Callable[[int], Request]) -> PendingRequest | None:
        """Ask for a read; None if its caller was cancelled."""
        departure = self._departure(caller.READS)
        if departure is None:
            return await self.program.read(make)
        return await Caller(self.program, departure).read(make)

    async def _transact(self, ask: TransactionOperation) -> OperationResult:
        """A transaction of several steps: whoever goes before its commit leaves nothing behind."""
        departure, sent = self._departure(caller.TRANSACTIONS, len(ask.steps)), SentNumbers()
        one, sessions = Caller(self.program, departure, sent), self._sessions
        tx, done, refused = one.transaction(), list[list[object]](), _CANCELLED
        self.program.began(tx)
        said = ""
        try:
            async with tx:
                done = await interactive.take_steps(tx, ask)
        except QsyncError as error:
            refused = _refused(error)
        except CallerCancelled:
            said = interactive.type_of(tx)
            if isinstance(one.asks[-1].request, WriteRequest):
                await one.ask_later()
        told = OperationResult(type="fail", reply=refused)
        if isinstance(one.asks[-1].request, WriteRequest):
            told = replace(self._told(one.asks[-1]), done=done)
        for type_ in (said, told.type):
            sessions.told_once(sent.numbers, type_)
        return told

    async def _follow(self, ask: FollowOperation) -> OperationResult:
        """The changes of a feed, whose caller comes back where it was cancelled."""
        one = Caller(self.program, self._departure(caller.FEEDS))
        try:
            found = await following.follow(self.program, one, ask)
        except QsyncError as error:
            return OperationResult(type="fail", reply=_refused(error))
        self.counts["changes followed"] += len(found)
        following.check_followed(self.program.around.promises.canon, ask, found)
        return OperationResult(type="ok")

    def _departure(self, rate: float, questions: int = 1) -> Departure | None:
        """When its caller is cancelled, if it is; nobody goes at the end of a run."""
        if self._departures is None or self.stopping:
            return None
        departure = self._departures.draw(rate, questions=questions)
        self.counts["cancelled"] += departure is not None
        return departure

    async def _audit(self, ask: ReadOperation) -> OperationResult:
        """Several rows in one snapshot: a transaction that writes nothing."""
        seen, rows = ReadSet(), []
        for place in ask.places:
            told = await self._read(ReadOperation(places=(place,)))
            if not told.ok:
                return told
            seen.saw(place, told)
            rows += list(told.rows)
        done = await self._write(seen.commit([]))
        if not done.ok:
            return OperationResult(type="fail", reply=done.reply)
        reply = ReadResult(node=_NOBODY, value=rows, index=Index(done.at), term=Term(done.term))
        consistency = Consistency.LINEARIZABLE.value
        return OperationResult(type="ok", reply=reply, rows=rows, consistency=consistency)


def _plain(op: Sequence[object]) -> list[object]:
    """Its encoded form."""
    code, *rest = op
    assert isinstance(code, int)
    return [int(code), *rest]


def _type_of(error: QsyncError | None) -> str:
    """What a history calls it: done, surely not done, or nobody knows."""
    if error is None:
        return "ok"
    return "info" if error.outcome is Outcome.UNKNOWN else "fail"


def _refused(error: QsyncError) -> CallRefused:
    unknown = error.outcome is Outcome.UNKNOWN
    return CallRefused(node=_NOBODY, code=error.code, unknown=unknown)
