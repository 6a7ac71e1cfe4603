"""Carries one question after another to the nodes, and again, until its fate is known."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import cbor2

from election.messages import Replica
from qsync.core.conclusions import AttemptResult, Conclusion, conclude
from qsync.core.inputs import Consistency
from qsync.core.ready import TransactionFate
from qsync.data.request import Request
from qsync.data.state import DataState
from qsync.sim.calls import Call, CallRefused, ReadCall, ReadResult, Reply, WriteCall, WriteDone
from qsync.sim.clockwork import VirtualClock
from qsync.sim.dice import RandomStream
from qsync.sim.node import SimulatedNode
from qsync.sim.operations import NOWHERE, Ask, OperationResult, Place, ReadOperation, WriteOperation
from qsync.sim.promises import ClientPromises
from qsync.sim.session import SharedSession
from qsync.sim.swarm import Swarm

RETRYABLE = frozenset({"NOT_LEADER", "READONLY", "OVERLOADED", "SYNC_QUEUE_FULL"})
"""The node did not take the request; another may."""
READ_ATTEMPTS_MAX = 4
_PRIMARY = 0

Answered = Callable[[OperationResult], None]


class Streets(NamedTuple):
    """What all couriers of a run share."""

    clockwork: VirtualClock
    swarm: Swarm
    nodes: Sequence[SimulatedNode]
    promises: ClientPromises


class PendingQuestion:
    """One question under way. `open`: attempts that were not answered."""

    __slots__ = ("answered", "ask", "first", "floor", "open", "seq", "session")

    def __init__(self, ask: Ask, session: bytes, answered: Answered, first: int) -> None:
        self.ask = ask
        self.session = session
        self.answered = answered
        self.first = first
        self.open: set[int] = set()
        self.seq = 0
        self.floor = NOWHERE

    @property
    def elsewhere(self) -> bool:
        """It was begun by somebody else: a token says that there may be another attempt."""
        return isinstance(self.ask, WriteOperation) and self.ask.token is not None

    @property
    def reads(self) -> bool:
        """It changes nothing."""
        return isinstance(self.ask, ReadOperation)


class Courier:
    """One client's. It has one errand at a time; others may share its session."""

    def __init__(
        self, number: int, session: SharedSession, streets: Streets, dice: RandomStream
    ) -> None:
        self.number = number
        self.session = session
        self._streets = streets
        self._dice = dice
        self._errand: PendingQuestion | None = None
        self._attempts = 0
        self._leader: Replica | None = None

    def go(self, ask: Ask, answered: Answered) -> None:
        """Ask, and tell what came of it."""
        assert self._errand is None
        errand = self._errand = PendingQuestion(ask, self.session.id, answered, self._attempts + 1)
        errand.floor = self._streets.promises.floor
        if isinstance(ask, WriteOperation) and ask.token is not None:
            errand.session, errand.seq = ask.token
        elif isinstance(ask, WriteOperation) and ask.numbered:
            errand.seq = self.session.number()
        self._attempt(errand)

    def _end(self, errand: PendingQuestion, type_: str, reply: Reply | None) -> None:
        self._errand = None
        if not errand.elsewhere and not self._may_ask_on(type_):
            self.session.settled(errand.session, errand.seq)
        ask, told = errand.ask, OperationResult(type=type_, reply=reply)
        if isinstance(ask, WriteOperation):
            session = errand.session if ask.numbered else b""
            told = OperationResult(type=type_, reply=reply, session=session, seq=errand.seq)
        elif isinstance(reply, ReadResult):
            assert isinstance(reply.value, list)
            rows = [None if row is None else cbor2.loads(row) for row in reply.value]
            claimed = ask.consistency is Consistency.AT_LEAST
            told = OperationResult(
                type=type_,
                reply=reply,
                rows=rows,
                session=errand.session,
                consistency=ask.consistency.value,
                floor=ask.floor if claimed else NOWHERE,
            )
        errand.answered(told)

    def _may_ask_on(self, type_: str) -> bool:
        """Somebody may: what is unknown is not forgotten where tokens are passed on."""
        return type_ == "info" and "stranger" in self._streets.swarm.variety.habits

    # -- attempts

    def _attempt(self, errand: PendingQuestion) -> None:
        streets, dice = self._streets, self._dice
        self._attempts += 1
        attempt = self._attempts
        errand.open.add(attempt)
        call = self._call(errand, attempt)
        self._send(self._target(errand), call)
        if dice.chance(streets.swarm.load.duplicates):
            errand.open.add(-attempt)  # two answers may come: the first says nothing of both
            self._send(dice.choice(streets.nodes), call)
        if dice.chance(streets.swarm.load.stragglers):
            errand.open.add(-attempt)
            late = dice.about(streets.swarm.load.timeout)
            streets.clockwork.after(late, self._send, dice.choice(streets.nodes), call)
        streets.clockwork.after(streets.swarm.load.timeout, self._timeout, attempt)

    def _call(self, errand: PendingQuestion, attempt: int) -> Call:
        ask = errand.ask
        if isinstance(ask, ReadOperation):
            return ReadCall(
                client=self.number,
                attempt=attempt,
                consistency=ask.consistency,
                read=_look(ask.places),
                keys=ask.places,
                floor=errand.floor,
                term=ask.floor.term,
                index=ask.floor.index,
            )
        request = Request(ops=ask.ops, sync=ask.sync, snapshot=ask.snapshot, reads=ask.reads)
        if ask.numbered:
            # A session that is over says nothing new; it will be refused.
            low = self.session.low if errand.session == self.session.id else errand.seq
            low = 0 if errand.elsewhere else low
            request = request._replace(session=errand.session, seq=errand.seq, low=low)
            request = request._replace(doubted=errand.elsewhere or bool(errand.open - {attempt}))
        return WriteCall(client=self.number, attempt=attempt, request=request)

    def _target(self, errand: PendingQuestion) -> SimulatedNode:
        nodes = self._streets.nodes
        if self._leader is not None and not errand.reads:
            return nodes[self._leader - 1]
        return self._dice.choice(nodes)

    def _send(self, node: SimulatedNode, call: Call) -> None:
        self._streets.clockwork.after(self._way(), node.call, call, self._replied)

    def _replied(self, attempt: int, reply: Reply) -> None:
        if not self._dice.chance(self._streets.swarm.weather.loss):
            self._streets.clockwork.after(self._way(), self._answered, attempt, reply)

    def _way(self) -> float:
        weather = self._streets.swarm.weather
        return weather.delay_min + self._dice.about(weather.delay_mean)

    def _timeout(self, attempt: int) -> None:
        errand = self._errand
        if errand is None or attempt != self._attempts or attempt not in errand.open:
            return
        self._leader = None
        self._again(errand)

    def _again(self, errand: PendingQuestion) -> None:
        if isinstance(errand.ask, ReadOperation) and not errand.ask.insists:
            tries = self._attempts - errand.first + 1
            if tries >= READ_ATTEMPTS_MAX:
                self._end(errand, "fail", None)
                return
        self._attempt(errand)

    def _later(self, attempt: int) -> None:
        if self._errand is not None and attempt == self._attempts:
            self._again(self._errand)

    # -- answers

    def _answered(self, attempt: int, reply: Reply) -> None:
        errand = self._errand
        if errand is None or attempt < errand.first:
            return
        match reply:
            case WriteDone(verdict=TransactionFate.COMMITTED):
                self._end(errand, "ok", reply)
            case ReadResult():
                self._end(errand, "ok", reply)
            case CallRefused() if errand.reads:
                self._leader = reply.leader if reply.code in RETRYABLE else None
                self._back_off(attempt)
            case WriteDone() | CallRefused():
                errand.open.discard(attempt)
                self._undone(errand, attempt, reply)

    def _undone(
        self, errand: PendingQuestion, attempt: int, reply: WriteDone | CallRefused
    ) -> None:
        if isinstance(reply, CallRefused):
            self._leader = reply.leader if reply.code in RETRYABLE else None
        match conclude(_heard(reply), doubted=errand.elsewhere or bool(errand.open)):
            case Conclusion.AGAIN:
                self._back_off(attempt)
            case Conclusion.DEFINITE:
                self._end(errand, "fail", reply)
            case Conclusion.UNKNOWN:
                self._end(errand, "info", reply)

    def _back_off(self, attempt: int) -> None:
        if attempt == self._attempts:
            pause = self._dice.about(self._streets.swarm.timing.replication_timeout)
            self._streets.clockwork.after(pause, self._later, attempt)


def _heard(reply: WriteDone | CallRefused) -> AttemptResult:
    if isinstance(reply, WriteDone):
        return (
            AttemptResult.ROLLED_BACK
            if reply.verdict is TransactionFate.ROLLED_BACK
            else AttemptResult.CUT
        )
    if reply.recorded:
        return AttemptResult.RECORDED
    if reply.code in RETRYABLE:
        return AttemptResult.NOT_NOW
    return AttemptResult.FORGOTTEN if reply.unknown else AttemptResult.REFUSED


def _look(places: Sequence[Place]) -> Callable[[DataState], list[bytes | None]]:
    """The rows there, in one snapshot."""
    return lambda state: [state.get(space, _PRIMARY, [key]) for space, key in places]
