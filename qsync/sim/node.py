"""A replica, and what a real process does around it: fulfil what it wants, in virtual time."""

from collections.abc import Callable, Iterable
from typing import Protocol

from election.messages import Index, Replica
from qsync.core.config import CoreConfig
from qsync.core.inputs import (
    Connected,
    Disconnected,
    Input,
    ReadAsked,
    Received,
    TimerFired,
    WriteFailed,
    Written,
)
from qsync.core.messages import Append, Message
from qsync.core.ready import Ready, Settled, Timer, Write
from qsync.errors import Outcome, QsyncError
from qsync.replica import Replica as Core
from qsync.sim.calls import Answer, Call, Done, ReadCall, Refused, Reply, Seen, WriteCall
from qsync.sim.clockwork import Clockwork
from qsync.sim.disk import Disk
from qsync.sim.network import Network
from qsync.sim.trace import Sight, Trace

Work = tuple[str, Callable[..., None], tuple[object, ...]]
FOLD_ROWS_MAX = 50
_HASTE = 0.02
"""The part of a timer's range that is used when everybody is in a hurry."""


class Watch(Protocol):
    """Who looks on: the invariants."""

    def turned(self, node: "Node", ready: Ready) -> None: ...

    def said(self, node: "Node", peer: Replica, message: Message) -> None: ...

    def submitted(self, node: "Node", call: WriteCall, index: Index) -> None: ...

    def settled(self, node: "Node", call: WriteCall, settled: Settled) -> None: ...

    def served(self, node: "Node", call: ReadCall, value: object) -> None: ...

    def started(self, node: "Node") -> None: ...

    def folded(self, node: "Node") -> None: ...


class Clocks:
    """A node's own clocks: a little too fast or slow, and sometimes somebody sets them."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.ahead = 0.0
        self.wall_ahead = 0.0

    def monotonic(self, now: float) -> float:
        """Never goes back; may jump ahead, as after a suspend."""
        return now * self.rate + self.ahead

    def wall(self, now: float) -> float:
        """For people only, so anything goes."""
        return 1e9 + now * self.rate + self.wall_ahead


class Node:
    """The shell. `life` counts starts of the process; 0 while it is down."""

    def __init__(
        self,
        config: CoreConfig,
        clockwork: Clockwork,
        network: Network,
        disk: Disk,
        shop: tuple[Watch, Trace, float],
    ) -> None:
        self.config = config
        self.clocks = Clocks(1.0)
        self.disk = disk
        self.life = 0
        self.paused = False
        self.dice = "uniform"
        self.remodel: Callable[[Core], None] = _as_built
        self._clockwork = clockwork
        self._network = network
        self.watch, self.trace, self._fold_interval = shop
        self._lives = 0
        self._core: Core | None = None
        self._inbox: list[Work] = []
        self._timers: dict[str, int] = {}
        self._calls: dict[int, tuple[Call, Answer]] = {}
        self._tickets = 0
        network.join(config.me, self)

    # -- what can be seen

    @property
    def me(self) -> Replica:
        """Its id."""
        return self.config.me

    @property
    def core(self) -> Core:
        """The replica of the present life."""
        assert self._core is not None
        return self._core

    @property
    def up(self) -> bool:
        """The process exists (it may be paused)."""
        return self.life > 0

    @property
    def reachable(self) -> bool:
        """Somebody answers a handshake here."""
        return self.life > 0 and not self.paused

    @property
    def log_empty(self) -> bool:
        """What it says in a handshake."""
        return self.core.machine.ledger.log.last == 0

    @property
    def leads(self) -> bool:
        """It is up and may write."""
        return self.life > 0 and not self.core.machine.reasons()

    def sight(self) -> Sight:
        """For a line of the trace."""
        if self._core is None:
            return Sight(self.me, ".", 0, 0, 0, 0, 0)
        machine = self._core.machine
        ledger = machine.ledger
        role = "Z" if self.paused else machine.raft.role.value[0].upper()
        return Sight(
            self.me,
            role,
            machine.raft.term,
            ledger.log.last,
            ledger.written,
            ledger.confirmed,
            ledger.visible,
        )

    # -- life and death of the process

    def start(self) -> None:
        """A new process on the same directory."""
        assert not self.up
        self._lives += 1
        self.life = self._lives
        self._core = self.disk.recover(self.config)
        self.remodel(self._core)
        self._timers, self._inbox, self._calls = {}, [], {}
        self.watch.started(self)
        self._network.started(self.me)
        self._later_fold(self.life)
        self.work("start", self.core.start)

    def stop(self, *, power: bool) -> None:
        """kill -9; with `power`, the whole machine: its peers are not even told."""
        assert self.up
        self.life = 0
        self.paused = False
        self._core = None
        self.disk.crash(power=power)
        self._network.stopped(self.me, silent=power)
        self.trace.note(self._clockwork.now, self.sight(), "power cut" if power else "killed")

    def pause(self) -> None:
        """SIGSTOP: clocks run on, inputs queue."""
        self.paused = True
        self.trace.note(self._clockwork.now, self.sight(), "paused")

    def resume(self) -> None:
        """SIGCONT: everything that queued is one batch."""
        self.paused = False
        waiting, self._inbox = self._inbox, []
        self._turn("resumed", waiting)

    # -- what happens to it

    def work(self, what: str, do: Callable[..., None], *args: object) -> None:
        """One thing happens: a turn of its own, or for later when the process is stopped."""
        if self.paused:
            self._inbox.append((what, do, args))
        else:
            self._turn(what, [(what, do, args)])

    def input(self, what: str, event: Input) -> None:
        """An input of the machine."""
        self.work(what, self._step, event)

    def _step(self, event: Input) -> None:
        self.core.step(event)

    def receive(self, sender: Replica, message: Message) -> None:
        """From the network."""
        self.input(f"from {sender}: {brief(message)}", Received(peer=sender, message=message))

    def connected(self, peer: Replica, epoch: int, *, empty: bool) -> None:
        """From the network."""
        self.input(f"connected to {peer}", Connected(peer=peer, epoch=epoch, empty=empty))

    def disconnected(self, peer: Replica, epoch: int, *, refused: bool) -> None:
        """From the network."""
        self.input(
            f"disconnected from {peer}{' refused' if refused else ''}",
            Disconnected(peer=peer, epoch=epoch, refused=refused),
        )

    def call(self, call: Call, answer: Answer) -> None:
        """A client asks."""
        if self.up:
            what = "write" if isinstance(call, WriteCall) else call.consistency.value
            self.work(
                f"client {call.client} attempt {call.attempt}: {what}", self._take, call, answer
            )

    def operate(self, what: str, make: Callable[[int], Input]) -> None:
        """An operator asks; nobody waits for the answer."""
        self._tickets += 1
        self.input(what, make(self._tickets))

    # -- turns

    def _turn(self, what: str, batch: Iterable[Work]) -> None:
        core, now = self.core, self._clockwork.now
        core.clock(self.clocks.monotonic(now), self.clocks.wall(now))
        for _, do, args in batch:
            do(*args)
        ready = core.ready()
        self._fulfil(ready)
        self.trace.note(now, self.sight(), what)
        self.watch.turned(self, ready)
        for settled in ready.settled:
            self._settle(settled)
        for read in ready.reads:
            self._serve(read.ticket, read.refused)

    def _fulfil(self, ready: Ready) -> None:
        for peer, message in ready.send_now:
            self._send(peer, message)
        if ready.write is not None:
            letters = [(peer, self._filled(message)) for peer, message in ready.send_after]
            self.disk.submit(ready.write, self._wrote, self.life, ready.write, letters)
        else:
            for peer, message in ready.send_after:
                self._send(peer, message)
        for timer in ready.timers:
            self._arm(timer)

    def _wrote(
        self, why: str | None, life: int, write: Write, letters: list[tuple[Replica, Message]]
    ) -> None:
        if life != self.life:
            return
        if why is not None:
            self.input(f"write {write.id} failed", WriteFailed(id=write.id, why=why))
            return
        self.work(f"wrote {write.id}", self._durable, write, letters)

    def _durable(self, write: Write, letters: list[tuple[Replica, Message]]) -> None:
        for peer, message in letters:
            self._send(peer, message)
        self.core.step(Written(id=write.id))

    def _send(self, peer: Replica, message: Message) -> None:
        message = self._filled(message)
        self.watch.said(self, peer, message)
        self._network.send(self.me, peer, message)

    def _filled(self, message: Message) -> Message:
        """An Append leaves the machine without its entries."""
        if not isinstance(message, Append) or message.entries or message.last == message.prev_index:
            return message
        entries = self.core.machine.ledger.entries(Index(message.prev_index + 1), message.last)
        return Append(
            term=message.term,
            leader=message.leader,
            epoch=message.epoch,
            prev_index=message.prev_index,
            prev_term=message.prev_term,
            prev_crc=message.prev_crc,
            last=message.last,
            confirmed=message.confirmed,
            entries=tuple(entries),
        )

    # -- timers

    def _arm(self, timer: Timer) -> None:
        token = self._timers[timer.kind] = self._timers.get(timer.kind, 0) + 1
        if timer.earliest is None:
            return
        spread = max(0.0, timer.latest - timer.earliest)
        jitter = spread if self.dice == "uniform" else spread * _HASTE
        delay = timer.earliest + jitter * self._clockwork.rng.random()
        self._clockwork.after(delay / self.clocks.rate, self._rings, self.life, timer.kind, token)

    def _rings(self, life: int, kind: str, token: int) -> None:
        if life == self.life and self._timers.get(kind) == token:
            self.work(f"timer {kind}", self._fire, kind, token)

    def _fire(self, kind: str, token: int) -> None:
        if self._timers.get(kind) == token:
            self.core.step(TimerFired(kind=kind))

    # -- clients

    def _take(self, call: Call, answer: Answer) -> None:
        self._tickets += 1
        ticket = self._tickets
        if isinstance(call, ReadCall):
            self._calls[ticket] = (call, answer)
            event = ReadAsked(
                ticket=ticket, consistency=call.consistency, term=call.term, index=call.index
            )
            self.core.step(event)
            return
        try:
            submitted = self.core.submit(ticket, call.request)
        except QsyncError as error:
            answer(call.attempt, self._refusal(error))
        else:
            self._calls[ticket] = (call, answer)
            self.watch.submitted(self, call, submitted.index)

    def _refusal(self, error: QsyncError) -> Reply:
        return Refused(
            node=self.me,
            code=error.code,
            unknown=error.outcome is Outcome.UNKNOWN,
            leader=self.core.machine.raft.leader,
        )

    def _settle(self, settled: Settled) -> None:
        call, answer = self._calls.pop(settled.ticket, (None, None))
        if call is None or answer is None:
            return
        assert isinstance(call, WriteCall)
        self.watch.settled(self, call, settled)
        done = Done(node=self.me, verdict=settled.verdict, index=settled.index, term=settled.term)
        answer(call.attempt, done)

    def _serve(self, ticket: int, refused: str | None) -> None:
        call, answer = self._calls.pop(ticket, (None, None))
        if call is None or answer is None:
            return
        assert isinstance(call, ReadCall)
        machine = self.core.machine
        if refused is not None:
            refusal = Refused(node=self.me, code="READ_REFUSED", leader=machine.raft.leader)
            answer(call.attempt, refusal)
            return
        try:
            value = call.read(self.core.state)
        except QsyncError as error:
            answer(call.attempt, self._refusal(error))
            return
        self.watch.served(self, call, value)
        visible = machine.ledger.visible
        seen = Seen(
            node=self.me, value=value, index=visible, term=machine.ledger.log.term_at(visible)
        )
        answer(call.attempt, seen)

    # -- folding

    def _later_fold(self, life: int) -> None:
        delay = self._fold_interval * (0.5 + self._clockwork.rng.random())
        self._clockwork.after(delay, self._fold, life)

    def _fold(self, life: int) -> None:
        if life != self.life:
            return
        self._later_fold(life)
        if self.paused:
            return
        fold = self.core.fold(FOLD_ROWS_MAX)
        if fold is not None:
            self.disk.fold(fold)
            self.core.folded_to(fold)
            self.watch.folded(self)


def brief(message: Message) -> str:
    """A message in few words."""
    name = type(message).__name__
    term = message.term
    if isinstance(message, Append):
        return f"{name} t{term} {message.prev_index}..{message.last} c{message.confirmed}"
    index = getattr(message, "index", None)
    return f"{name} t{term}" if index is None else f"{name} t{term} {index}"


def _as_built(core: Core) -> None:
    """The product itself, unchanged."""
