"""A program with the shipped client: one core, one pump, several concurrent hands.

The repertoire of all simulated clients draws the operations of a hand; `qsync.client` sends,
retries, redirects and concludes them.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import cbor2
from typing_extensions import override

from election.messages import Index, Replica, Term
from qsync.client import targets
from qsync.client.core import Core
from qsync.client.link import ClientLink
from qsync.client.numbering import Token
from qsync.client.pending_request import PendingRequest, RetryKind
from qsync.client.pump import Pump
from qsync.core.inputs import Consistency
from qsync.core.ready import TransactionFate
from qsync.error_details import COMPACTED
from qsync.errors import Outcome, OutcomeUnknown, QsyncError, RolledBack
from qsync.sim import repertoire, transactions
from qsync.sim.canon import PropertyViolation
from qsync.sim.history import SimHistory
from qsync.sim.kernel.calls import Calls
from qsync.sim.kernel.machine import Computer
from qsync.sim.kernel.numbers import SentNumbers
from qsync.sim.kernel.poll import SimulatedPoll, Wait
from qsync.sim.kernel.process import KernelProcess
from qsync.sim.kernel.streams import FAMILY, SimulatedSocket
from qsync.sim.operations import (
    NOWHERE,
    OperationRecord,
    OperationResult,
    ReadOperation,
    Steps,
    WriteOperation,
)
from qsync.sim.promises import ClientPromises
from qsync.sim.repertoire import OperationGenerator
from qsync.sim.replies import CallRefused, ReadResult, WriteDone
from qsync.sim.scripted import ScriptedClient
from qsync.sim.transactions import ReadSet
from qsync.wire import replies
from qsync.wire.session import Hello, Party
from qsync.wire.verbs import GetRequest, ReadLevel, Request, WriteFlags, WriteRequest

if TYPE_CHECKING:
    from qsync.sim.dice import RandomStream

RESOLVES: Final = 0.5
"""How often a program asks again for the outcome of an unknown write."""
LOOK_S: Final = 60.0
"""How often a client with a long pause checks for work."""
HASTY: Final = 0.2
"""How often a write has its own, short time limit."""
_PROCESSES: Final = 1000
_NOBODY: Final = Replica(0)


class ClientEnvironment(NamedTuple):
    """The shared parts of all programs."""

    addresses: tuple[str, ...]
    promises: ClientPromises
    history: SimHistory
    timeout: float
    fresh: frozenset[Consistency]
    """Reads of these kinds show every write answered before they began."""
    leased: float
    """How often a read uses the leader's lease instead of a quorum round."""


class _System:
    """The system calls of the client."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self.now = calls.now
        self.sleep = calls.sleep
        self.made: SimulatedPoll | None = None

    def socket(self, family: int) -> SimulatedSocket:
        """A stream socket."""
        return self._calls.socket(family)

    def poll(self) -> SimulatedPoll:
        """The poll of the pump."""
        self.made = self._calls.poll()
        return self.made

    def resolved(self, address: str) -> list[tuple[int, tuple[str, int]]]:
        """Names are numeric addresses here."""
        return [(FAMILY, targets.split(address))]


class Program:
    """One process with a client, on its own machine.

    `direct`: it uses one node only, of any role, and does not retry.
    """

    def __init__(
        self,
        computer: Computer,
        around: ClientEnvironment,
        dice: "RandomStream",
        *,
        direct: bool = False,
    ) -> None:
        self.around = around
        self.dice = dice
        self.computer = computer
        self.core, self.pump, self._system = self._client(KernelProcess(computer, 1), direct=direct)

    def _client(self, process: KernelProcess, *, direct: bool) -> tuple[Core, Pump, _System]:
        self.process = process
        system = _System(Calls(process, self.computer.disk))
        core = Core(targets.parse(self.around.addresses), dice=self.dice, direct=direct)
        return core, Pump(core, system), system

    def start(self) -> None:
        """The pump, and every hand."""
        self.process.spawn(self._run)

    def end(self) -> None:
        """As by kill: the peers of its connections are notified."""
        process = self.process
        now = max(process.at, self.computer.room.clockwork.now)
        self.computer.room.net.stopped(process.open_files(), now, silent=False)
        process.dead = True
        process.bury()

    async def _run(self) -> None:
        while True:
            self.pump.turn()
            await Wait(poll=self._system.made, due=self.core.wake_at)

    async def sleep(self, seconds: float) -> None:
        """So long."""
        await self._system.sleep(seconds)

    async def write(self, request: Callable[[int], Request], sent: SentNumbers) -> PendingRequest:
        """Until its outcome is known, or finally unknown."""
        ask = await self._ask(RetryKind.WRITE, request, sent=sent)
        if ask.error is not None and ask.error.outcome is Outcome.UNKNOWN:
            write = ask.request
            if isinstance(write, WriteRequest) and self.dice.chance(RESOLVES):
                now = self._system.now()
                token, deadline = Token(write.session, write.seq), now + self.around.timeout
                again = self.core.resolve(token, now=now, deadline=deadline)
                await self._settled(again)
                return again
        return ask

    async def write_again(self, request: Callable[[int], Request], token: Token) -> PendingRequest:
        """A write of another client, under its number."""
        return await self._ask(RetryKind.WRITE, request, token)

    async def resolve(self, token: Token) -> PendingRequest:
        """Ask for the outcome of another client's write; without one, it never takes effect."""
        now = self._system.now()
        deadline = now + self.around.timeout
        ask = self.core.resolve(token, now=now, deadline=deadline, again=False)
        await self._settled(ask)
        return ask

    def command(self, request: Callable[[int], Request], patience: float) -> PendingRequest:
        """A request of an operator; the program does not wait for the answer."""
        now = self._system.now()
        ask = self.core.submit(RetryKind.ONCE, request, now=now, deadline=now + patience)
        self.pump.turn()
        return ask

    async def read(self, request: Callable[[int], Request]) -> PendingRequest:
        """Wait until it is answered, or its time is over."""
        return await self._ask(RetryKind.READ, request)

    def crowd(self, questions: int, request: Callable[[int], Request]) -> None:
        """Send all requests at once, without waiting for answers."""
        now = self._system.now()
        for _ in range(questions):
            self.core.submit(RetryKind.READ, request, now=now, deadline=now + self.around.timeout)
        self.process.go_on()

    async def _ask(
        self,
        kind: RetryKind,
        request: Callable[[int], Request],
        token: Token | None = None,
        sent: SentNumbers | None = None,
    ) -> PendingRequest:
        now = self._system.now()
        deadline = now + self.around.timeout
        observe = None if sent is None else sent.observe
        ask = self.core.submit(
            kind, request, now=now, deadline=deadline, token=token, observe=observe
        )
        await self._settled(ask)
        return ask

    async def _settled(self, ask: PendingRequest) -> None:
        self.pump.turn()
        while not ask.settled:
            await Wait(done=partial(getattr, ask, "settled"))


class Hand(ScriptedClient):
    """One operation after another. `counts`: operations by name and result."""

    def __init__(self, mind: OperationGenerator, program: Program) -> None:
        super().__init__(mind)
        self.program = program
        self._history = program.around.history
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

    async def _asked(self, ask: ReadOperation | WriteOperation) -> OperationResult:
        try:
            if isinstance(ask, WriteOperation):
                return await self._write(ask)
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

        promises = self.program.around.promises
        sessions, sent = promises.sessions, SentNumbers()
        asked_in = sessions.generation
        done = await self._sent(ask, make, sent)
        request = done.request
        assert isinstance(request, WriteRequest)
        session, seq = request.session, request.seq
        type_ = _type_of(done.error)
        sessions.told_once(sent.numbers, type_)
        if ask.token is not None:
            sessions.told_of_token((session, seq), type_, asked_in=asked_in)
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
    ) -> PendingRequest:
        if ask.token is None:
            return await self.program.write(make, sent)
        if ask.ops == repertoire.GIVE_UP:
            return await self.program.resolve(Token(*ask.token))
        return await self.program.write_again(make, Token(*ask.token))

    async def _read(self, ask: ReadOperation) -> OperationResult:
        ((space, key),) = ask.places
        around = self.program.around
        if not ask.insists and self.program.dice.chance(around.leased):
            ask = replace(ask, consistency=Consistency.LEASE)
        floor, claimed = around.promises.floor, ask.consistency is Consistency.AT_LEAST
        before = around.promises.newest_shown
        level = ReadLevel(ask.consistency, ask.floor.term, ask.floor.index)
        session = self.program.core.numbering.id
        done = await self.program.read(lambda id: GetRequest(id, space, 0, [key], level))
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


def take_any_cluster(core: Core) -> None:
    """Let a client take any cluster for its own. The one that ships stays with its first."""
    wires = core.wires
    honest = wires.welcomed

    def welcomed(link: ClientLink) -> None:
        honest(link)
        wires._hello = Hello(party=Party.CLIENT)  # noqa: SLF001 - what ships does not

    wires._hello = Hello(party=Party.CLIENT)  # noqa: SLF001 - what ships does not
    wires.welcomed = welcomed  # type: ignore[method-assign]  # what ships does not


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
