"""Clients with sessions: one thing at a time, retried with its number until its fate is known."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from election.messages import Index, Replica, Term
from qsync.core.inputs import Consistency
from qsync.core.ready import Verdict
from qsync.data.request import Request
from qsync.sim import operations
from qsync.sim.calls import Call, Done, ReadCall, Refused, Reply, Seen, WriteCall
from qsync.sim.clockwork import Clockwork
from qsync.sim.node import Node
from qsync.sim.operations import Operation
from qsync.sim.promises import Promises
from qsync.sim.swarm import Swarm

RETRYABLE = frozenset({"NOT_LEADER", "READONLY", "OVERLOADED", "SYNC_QUEUE_FULL"})
"""The node did not take the request; another may."""
READ_ATTEMPTS_MAX = 4
_UNIQUE = 1_000_000
_SETUP = frozenset({"open", "create", "fund"})
"""Nothing works without these, so they are asked for again until they succeed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a history in Jepsen's vocabulary. `time` is in nanoseconds of virtual time."""

    index: int
    time: int
    process: int
    type: str
    f: str
    key: int | None
    value: object
    node: int | None = None
    term: int | None = None
    log_index: int | None = None
    error: str | None = None


class History:
    """What all clients did and were told, in order."""

    def __init__(self, clockwork: Clockwork) -> None:
        self.lines: list[Line] = []
        self._clockwork = clockwork

    def add(
        self, process: int, type_: str, operation: Operation, reply: Reply | None, value: object
    ) -> None:
        """One more line."""
        index = term = None
        if isinstance(reply, Done | Seen):
            index, term = reply.index, reply.term
        self.lines.append(
            Line(
                index=len(self.lines),
                time=int(self._clockwork.now * 1e9),
                process=process,
                type=type_,
                f=operation.f,
                key=operation.key,
                value=value,
                node=reply.node if reply is not None else None,
                term=term,
                log_index=index,
                error=reply.code if isinstance(reply, Refused) else None,
            )
        )


class Shop(NamedTuple):
    """What all clients of a run share."""

    clockwork: Clockwork
    swarm: Swarm
    nodes: Sequence[Node]
    promises: Promises
    history: History


class Client:
    """One client. `resolved` counts operations whose fate it learnt, by `f` and type."""

    def __init__(self, number: int, shop: Shop) -> None:
        self.number = number
        self.resolved: dict[str, int] = {}
        self.stopping = False
        self.script: list[Operation] = []
        self.done: Callable[[], None] | None = None
        self._shop = shop
        self._session = shop.clockwork.rng.randbytes(16)
        self._now: Operation | None = None
        self._counts = _Counts(process=number)
        self._known: dict[int, bytes | None] = {}
        self._receipt = (Term(0), Index(0))
        self._leader: Replica | None = None

    @property
    def idle(self) -> bool:
        """Nothing is open, and nothing more is planned."""
        return self._now is None and self.stopping

    @property
    def busy_with(self) -> str:
        """For people."""
        operation = self._now
        return f"client {self.number}: {operation.f} {operation.key}" if operation else ""

    def start(self) -> None:
        """Open the session, then go on."""
        if not self.stopping:
            self._invoke(operations.open_session(self._session))

    # -- one operation after another

    def _next(self) -> None:
        if self._now is not None:
            return
        shop = self._shop
        if self.script:
            self._invoke(self.script.pop(0))
            return
        if self.done is not None:
            done, self.done = self.done, None
            done()
        if self.stopping:
            return
        self._counts.unique += 1
        unique = self.number * _UNIQUE + self._counts.unique
        self._invoke(operations.draw(shop.clockwork.rng, shop.swarm.load, unique, self._known))

    def finish(self) -> None:
        """The last thing: read everything once more, then rest."""
        if not self.stopping:
            self.stopping = True
            self.script.append(operations.last_read(self._shop.swarm.load.keys))
            self._next()

    def _invoke(self, operation: Operation) -> None:
        self._now = operation
        operation.first = self._counts.attempt + 1
        operation.floor = self._shop.promises.floor
        if not operation.reads and operation.f != "open":
            self._counts.seq += 1
            operation.seq = self._counts.seq
        self._shop.history.add(self._counts.process, "invoke", operation, None, operation.value)
        self._attempt()

    def _resolve(self, type_: str, reply: Reply | None, value: object = None) -> None:
        operation, shop = self._now, self._shop
        assert operation is not None
        self._now = None
        shown = operation.value if value is None else value
        shop.history.add(self._counts.process, type_, operation, reply, shown)
        name = f"{operation.f} {type_}"
        self.resolved[name] = self.resolved.get(name, 0) + 1
        if type_ != "ok" and operation.f in _SETUP:
            self.script.insert(0, replace(operation, open=set()))
        if type_ == "info":
            self._counts.process += len(shop.nodes) * 10  # Jepsen: a process ends with its info
        shop.clockwork.after(shop.clockwork.about(shop.swarm.load.think), self._next)

    # -- attempts

    def _attempt(self) -> None:
        operation, shop = self._now, self._shop
        assert operation is not None
        self._counts.attempt += 1
        attempt = self._counts.attempt
        operation.open.add(attempt)
        call = self._call(operation, attempt)
        self._send(self._target(operation), call)
        if shop.clockwork.chance(shop.swarm.load.duplicates):
            operation.open.add(-attempt)  # two answers may come: the first says nothing of both
            self._send(shop.clockwork.rng.choice(shop.nodes), call)
        shop.clockwork.after(shop.swarm.load.timeout, self._timeout, attempt)

    def _call(self, operation: Operation, attempt: int) -> Call:
        if operation.ops is None:
            term, index = self._receipt
            return ReadCall(
                client=self.number,
                attempt=attempt,
                consistency=operation.consistency,
                read=operation.look,
                keys=operation.keys,
                floor=Index(operation.floor),
                term=term,
                index=index,
            )
        if operation.f == "open":
            request = Request(ops=operation.ops)
        else:
            request = Request(
                session=self._session,
                seq=operation.seq,
                low=operation.seq,
                ops=operation.ops,
                sync=operation.sync,
            )
        return WriteCall(client=self.number, attempt=attempt, request=request)

    def _target(self, operation: Operation) -> Node:
        shop = self._shop
        if self._leader is not None and not operation.reads:
            return shop.nodes[self._leader - 1]
        return shop.clockwork.rng.choice(shop.nodes)

    def _send(self, node: Node, call: Call) -> None:
        weather, clockwork = self._shop.swarm.weather, self._shop.clockwork
        delay = weather.delay_min + clockwork.about(weather.delay_mean)
        clockwork.after(delay, node.call, call, self._replied)

    def _replied(self, attempt: int, reply: Reply) -> None:
        weather, clockwork = self._shop.swarm.weather, self._shop.clockwork
        if not clockwork.chance(weather.loss):
            delay = weather.delay_min + clockwork.about(weather.delay_mean)
            clockwork.after(delay, self._answered, attempt, reply)

    def _timeout(self, attempt: int) -> None:
        operation = self._now
        if operation is None or attempt != self._counts.attempt or attempt not in operation.open:
            return
        self._leader = None
        self._again(operation)

    def _again(self, operation: Operation) -> None:
        if operation.reads and not operation.insists:
            tries = self._counts.attempt - operation.first + 1
            if tries >= READ_ATTEMPTS_MAX:
                self._resolve("fail", None)
                return
        self._attempt()

    def _later(self, attempt: int) -> None:
        if self._now is not None and attempt == self._counts.attempt:
            self._again(self._now)

    # -- answers

    def _answered(self, attempt: int, reply: Reply) -> None:
        operation = self._now
        if operation is None or attempt < operation.first:
            return
        match reply:
            case Done(verdict=Verdict.CUT):
                # This attempt is gone for good, but an earlier or later one may not be.
                self._back_off(attempt)
            case Done(verdict=Verdict.ROLLED_BACK):
                self._resolve("fail", reply)
            case Done():
                self._receipt = (reply.term, reply.index)
                self._resolve("ok", reply)
            case Seen():
                self._saw(operation, reply)
            case Refused():
                operation.open.discard(attempt)
                self._refused(operation, attempt, reply)

    def _saw(self, operation: Operation, reply: Seen) -> None:
        rows = reply.value
        assert isinstance(rows, list)
        if operation.f == "audit":
            count = 2 * self._shop.swarm.load.keys
            operations.check_total(operation, rows[:count], self._shop.swarm.load.keys)
        elif operation.key is not None and operation.consistency is not Consistency.LOCAL:
            self._known[operation.key] = rows[0]
        self._resolve("ok", reply, operations.values(rows))

    def _refused(self, operation: Operation, attempt: int, reply: Refused) -> None:
        self._leader = reply.leader if reply.code in RETRYABLE else None
        if operation.reads or reply.code in RETRYABLE:
            self._back_off(attempt)
        elif reply.unknown or operation.open:
            # An earlier attempt was never answered, so this refusal says nothing about it.
            self._resolve("info", reply)
        else:
            self._resolve("fail", reply)

    def _back_off(self, attempt: int) -> None:
        clockwork = self._shop.clockwork
        if attempt == self._counts.attempt:
            pause = self._shop.swarm.timing.replication_timeout
            clockwork.after(clockwork.about(pause), self._later, attempt)


class _Counts:
    """What a client counts: its process in the history, attempts, requests, values."""

    __slots__ = ("attempt", "process", "seq", "unique")

    def __init__(self, process: int) -> None:
        self.process = process
        self.attempt = 0
        self.seq = 0
        self.unique = 0
