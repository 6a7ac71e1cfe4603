"""One life of a node's process: fulfil what the replica wants, in virtual time."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from election.messages import Index, Replica
from qsync.core.inputs import Input, TimerFired, WriteFailed, Written
from qsync.core.messages import Append, Message
from qsync.core.ready import Ready, Write
from qsync.record import Instance
from qsync.replica import Replica as Core
from qsync.sim.alarms import Alarms, DriftingClocks
from qsync.sim.calls import Answer, Call
from qsync.sim.clockwork import VirtualClock
from qsync.sim.desk import ClientObserver, TicketDesk
from qsync.sim.disk import SimulatedDisk
from qsync.sim.network import SimulatedNetwork
from qsync.sim.trace import Trace, TraceColumns

FOLD_ROWS_MAX = 50

Work = tuple[Callable[..., None], tuple[object, ...]]


class ProcessObserver(ClientObserver, Protocol):
    """Who looks on: the invariants."""

    def opened(self, me: Replica, instance: Instance, disk: SimulatedDisk) -> None:
        """A node has that directory from now on."""

    def started(self, me: Replica, core: Core) -> None:
        """A process has recovered from its disk."""

    def said(self, me: Replica, core: Core, peer: Replica, message: Message) -> None:
        """A message leaves."""

    def turned(self, me: Replica, core: Core) -> None:
        """Something happened to it, and it has decided."""

    def folded(self, me: Replica, core: Core) -> None:
        """Rows went to its disk."""


class NodeEnvironment(NamedTuple):
    """What all nodes of a world share."""

    clockwork: VirtualClock
    network: SimulatedNetwork
    watch: ProcessObserver
    trace: Trace
    fold_interval: float


class SimulatedProcess:
    """From its start to its death. While `paused`, what happens to it queues."""

    def __init__(
        self, core: Core, clocks: DriftingClocks, disk: SimulatedDisk, around: NodeEnvironment
    ) -> None:
        self.core = core
        self.desk = TicketDesk(core.machine.config.me, around.watch)
        self.paused = False
        self.dead = False
        self._around = around
        self._clocks = clocks
        self._disk = disk
        self._alarms = Alarms(around.clockwork, clocks, self._rings)
        self._inbox: list[Work] = []

    @property
    def me(self) -> Replica:
        """The id of its node."""
        return self.core.machine.config.me

    def start(self) -> None:
        """It has been loaded; now it runs."""
        self._around.watch.started(self.me, self.core)
        self._later_fold()
        self.work("start", self.core.start)

    def die(self) -> None:
        """Nothing of it remains; what was under way comes to nothing."""
        self.dead = True
        self._alarms.forget()
        self.desk.forget()

    def resume(self) -> None:
        """Everything that queued is one batch."""
        self.paused = False
        waiting, self._inbox = self._inbox, []
        self._turn("resumed", waiting)

    # -- what happens to it

    def work(self, what: str, do: Callable[..., None], *args: object) -> None:
        """One thing happens: a turn of its own, or for later when the process is stopped."""
        if self.paused:
            self._inbox.append((do, args))
        elif not self.dead:
            self._turn(what, [(do, args)])

    def input(self, what: str, event: Input) -> None:
        """For the machine."""
        self.work(what, self.core.step, event)

    def take(self, what: str, call: Call, answer: Answer) -> None:
        """From a client."""
        self.work(what, self.desk.take, self.core, call, answer)

    def _rings(self, kind: str, token: int) -> None:
        self.work(f"timer {kind}", self._fire, kind, token)

    def _fire(self, kind: str, token: int) -> None:
        if self._alarms.is_armed(kind, token):
            self.core.step(TimerFired(kind=kind))

    # -- turns

    def _turn(self, what: str, batch: Iterable[Work]) -> None:
        core, now = self.core, self._around.clockwork.now
        core.clock(self._clocks.monotonic(now), self._clocks.wall(now))
        for do, args in batch:
            do(*args)
        ready = core.ready()
        self._fulfil(ready)
        self.note(what)
        self._around.watch.turned(self.me, core)
        self.desk.answer(core, ready)

    def _fulfil(self, ready: Ready) -> None:
        for peer, message in ready.send_now:
            self._send(peer, message)
        if ready.write is not None:
            letters = [(peer, self._filled(message)) for peer, message in ready.send_after]
            self._disk.submit(ready.write, self._wrote, ready.write, letters)
        else:
            for peer, message in ready.send_after:
                self._send(peer, message)
        for timer in ready.timers:
            self._alarms.arm(timer)

    def _wrote(self, why: str | None, write: Write, letters: list[tuple[Replica, Message]]) -> None:
        if why is None:
            self.work(f"wrote {write.id}", self._durable, write, letters)
        else:
            self.input(f"write {write.id} failed", WriteFailed(id=write.id, why=why))

    def _durable(self, write: Write, letters: list[tuple[Replica, Message]]) -> None:
        for peer, message in letters:
            self._send(peer, message)
        self.core.step(Written(id=write.id))

    def _send(self, peer: Replica, message: Message) -> None:
        message = self._filled(message)
        self._around.watch.said(self.me, self.core, peer, message)
        self._around.network.send(self.me, peer, message)

    def _filled(self, message: Message) -> Message:
        """An Append leaves the machine without its entries."""
        if not isinstance(message, Append) or message.entries or message.last == message.prev_index:
            return message
        entries = self.core.machine.entries(Index(message.prev_index + 1), message.last)
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

    # -- folding

    def _later_fold(self) -> None:
        clockwork = self._around.clockwork
        delay = self._around.fold_interval * (0.5 + self._clocks.dice.random())
        clockwork.after(delay, self._fold)

    def _fold(self) -> None:
        if self.dead:
            return
        self._later_fold()
        fold = None if self.paused else self.core.fold(FOLD_ROWS_MAX)
        if fold is not None:
            self._disk.fold(fold)
            self.core.folded_to(fold)
            self._around.watch.folded(self.me, self.core)

    # -- the trace

    def note(self, what: str) -> None:
        """A line of the trace."""
        self._around.trace.note(self._around.clockwork.now, self.sight(), what)

    def sight(self) -> TraceColumns:
        """What a line of the trace shows of it."""
        raft, ledger = self.core.machine.raft, self.core.machine.ledger
        return TraceColumns(
            self.me,
            "." if self.dead else "Z" if self.paused else raft.role.value[0].upper(),
            raft.term,
            ledger.log.last,
            ledger.written,
            ledger.confirmed,
            ledger.visible,
        )


def brief(message: Message) -> str:
    """A message in few words."""
    name = type(message).__name__
    if isinstance(message, Append):
        reach = f"{message.prev_index}..{message.last}"
        return f"{name} t{message.term} {reach} c{message.confirmed}"
    index = getattr(message, "index", None)
    return f"{name} t{message.term}" if index is None else f"{name} t{message.term} {index}"
