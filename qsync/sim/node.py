"""A replica, and what a real process does around it: fulfil what it wants, in virtual time."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from election.messages import Index, Replica
from qsync.core.config import CoreConfig
from qsync.core.inputs import (
    Connected,
    Disconnected,
    Input,
    Received,
    TimerFired,
    WriteFailed,
    Written,
)
from qsync.core.messages import Append, Message
from qsync.core.ready import Ready, Write
from qsync.replica import Replica as Core
from qsync.sim.alarms import Alarms, Clocks
from qsync.sim.calls import Answer, Call, WriteCall
from qsync.sim.clockwork import Clockwork
from qsync.sim.desk import Desk, Witness
from qsync.sim.disk import Disk
from qsync.sim.network import Network
from qsync.sim.trace import Sight, Trace

FOLD_ROWS_MAX = 50

Work = tuple[Callable[..., None], tuple[object, ...]]


class Watch(Witness, Protocol):
    """Who looks on: the invariants."""

    def started(self, node: "Node") -> None:
        """A process has recovered from its disk."""

    def said(self, node: "Node", peer: Replica, message: Message) -> None:
        """A message leaves."""

    def turned(self, node: "Node") -> None:
        """Something happened to it, and it has decided."""

    def folded(self, node: "Node") -> None:
        """Rows went to its disk."""


class Around(NamedTuple):
    """What all nodes of a world share."""

    clockwork: Clockwork
    network: Network
    watch: Watch
    trace: Trace
    fold_interval: float


class Node:
    """The shell. `life` counts starts of the process; 0 while it is down."""

    def __init__(self, config: CoreConfig, disk: Disk, around: Around) -> None:
        self.config = config
        self.disk = disk
        self.clocks = Clocks()
        self.alarms = Alarms(around.clockwork, self.clocks, self._rings)
        self.life = 0
        self.paused = False
        self.remodel: Callable[[Core], None] = _as_built
        self._around = around
        self._desk = Desk(config.me, around.watch)
        self._lives = 0
        self._core: Core | None = None
        self._inbox: list[Work] = []
        around.network.join(config.me, self)

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

    # -- life and death of the process

    def start(self) -> None:
        """A new process on the same directory."""
        assert not self.up
        self._lives += 1
        self.life = self._lives
        self._core = self.disk.recover(self.config)
        self.remodel(self._core)
        self._around.watch.started(self)
        self._around.network.started(self.me)
        self._later_fold(self.life)
        self.work("start", self._core.start)

    def stop(self, *, power: bool) -> None:
        """As by kill -9; with `power` the whole machine: its peers are not even told."""
        assert self.up
        self.life = 0
        self.paused = False
        self._core = None
        self._inbox = []
        self.alarms.forget()
        self._desk.forget()
        self.disk.crash(power=power)
        self._around.network.stopped(self.me, silent=power)
        self._note("power cut" if power else "killed")

    def pause(self) -> None:
        """SIGSTOP: clocks run on, inputs queue."""
        self.paused = True
        self._note("paused")

    def resume(self) -> None:
        """SIGCONT: everything that queued is one batch."""
        self.paused = False
        waiting, self._inbox = self._inbox, []
        self._turn("resumed", waiting)

    # -- what happens to it

    def work(self, what: str, do: Callable[..., None], *args: object) -> None:
        """One thing happens: a turn of its own, or for later when the process is stopped."""
        if self.paused:
            self._inbox.append((do, args))
        else:
            self._turn(what, [(do, args)])

    def receive(self, sender: Replica, message: Message) -> None:
        """From the network."""
        self._input(f"from {sender}: {brief(message)}", Received(peer=sender, message=message))

    def connected(self, peer: Replica, epoch: int, *, empty: bool) -> None:
        """From the network."""
        self._input(f"connected to {peer}", Connected(peer=peer, epoch=epoch, empty=empty))

    def disconnected(self, peer: Replica, epoch: int, *, refused: bool) -> None:
        """From the network."""
        self._input(
            f"disconnected from {peer}{' refused' if refused else ''}",
            Disconnected(peer=peer, epoch=epoch, refused=refused),
        )

    def call(self, call: Call, answer: Answer) -> None:
        """A client asks."""
        if self.up:
            kind = "write" if isinstance(call, WriteCall) else call.consistency.value
            what = f"client {call.client} attempt {call.attempt}: {kind}"
            self.work(what, self._take, call, answer)

    def operate(self, what: str, make: Callable[[int], Input]) -> None:
        """An operator asks; nobody waits for the answer."""
        self._input(what, make(self._desk.ticket()))

    def _input(self, what: str, event: Input) -> None:
        self.work(what, self._step, event)

    def _step(self, event: Input) -> None:
        self.core.step(event)

    def _take(self, call: Call, answer: Answer) -> None:
        self._desk.take(self.core, call, answer)

    def _rings(self, kind: str, token: int) -> None:
        self.work(f"timer {kind}", self._fire, kind, token)

    def _fire(self, kind: str, token: int) -> None:
        if self.alarms.is_armed(kind, token):
            self.core.step(TimerFired(kind=kind))

    # -- turns

    def _turn(self, what: str, batch: Iterable[Work]) -> None:
        core, now = self.core, self._around.clockwork.now
        core.clock(self.clocks.monotonic(now), self.clocks.wall(now))
        for do, args in batch:
            do(*args)
        ready = core.ready()
        self._fulfil(ready)
        self._note(what)
        self._around.watch.turned(self)
        self._desk.answer(core, ready)

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
            self.alarms.arm(timer)

    def _wrote(
        self, why: str | None, life: int, write: Write, letters: list[tuple[Replica, Message]]
    ) -> None:
        if life != self.life:
            return
        if why is None:
            self.work(f"wrote {write.id}", self._durable, write, letters)
        else:
            self._input(f"write {write.id} failed", WriteFailed(id=write.id, why=why))

    def _durable(self, write: Write, letters: list[tuple[Replica, Message]]) -> None:
        for peer, message in letters:
            self._send(peer, message)
        self.core.step(Written(id=write.id))

    def _send(self, peer: Replica, message: Message) -> None:
        message = self._filled(message)
        self._around.watch.said(self, peer, message)
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

    def _later_fold(self, life: int) -> None:
        clockwork = self._around.clockwork
        delay = self._around.fold_interval * (0.5 + clockwork.rng.random())
        clockwork.after(delay, self._fold, life)

    def _fold(self, life: int) -> None:
        if life != self.life:
            return
        self._later_fold(life)
        fold = None if self.paused else self.core.fold(FOLD_ROWS_MAX)
        if fold is not None:
            self.disk.fold(fold)
            self.core.folded_to(fold)
            self._around.watch.folded(self)

    # -- the trace

    def _note(self, what: str) -> None:
        self._around.trace.note(self._around.clockwork.now, sight(self), what)


def sight(node: Node) -> Sight:
    """What a line of the trace shows of a node."""
    if not node.up:
        return Sight(node.me, ".", 0, 0, 0, 0, 0)
    raft, ledger = node.core.machine.raft, node.core.machine.ledger
    return Sight(
        node.me,
        "Z" if node.paused else raft.role.value[0].upper(),
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


def _as_built(core: Core) -> None:
    """The product itself, unchanged."""
