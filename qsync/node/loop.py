"""The loop of a node: it takes all inputs, steps the machine, fulfils its outputs, answers clients.

Everything between two waits of the reactor is one plain call (`turn`), so nothing can change
between a look at the state and the decision on it.
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from election.messages import Replica
from qsync import record
from qsync.core.inputs import Input, LogUnreadable, TimerFired, WriteFailed, Written
from qsync.core.messages import Append, Heartbeat, InstallSnapshot, Message
from qsync.core.ready import Ready, Write
from qsync.errors import QsyncError, StoreError
from qsync.node.requests import ClientRequests
from qsync.node.stalls import BATCH, TIMERS
from qsync.node.timeline import Timeline
from qsync.node.timers import Timers
from qsync.replica import Replica as ReplicaMachine
from qsync.store.writer import LogWriter
from qsync.wire import peer_messages

EXPIRY: Final = "expiry"
"""The timer of requests that wait for an answer."""
Deliver = Callable[[Replica, bytes], None]
"""Queues a frame on our connection to a peer; without one it is lost."""
Loses = Callable[[Message], bool]
"""Says of a message to a peer that it does not leave."""


class LoopObserver(Protocol):
    """Observes what happens inside of a node, each event before its effects leave the node."""

    def batch_started(self) -> None:
        """A batch of inputs begins."""

    def asking(self, step: Callable[[Input], None]) -> Callable[[Input], None]:
        """Return a step that also observes requests of clients and messages of peers."""

    def decided(self) -> None:
        """The batch is decided, and no result of it has been sent."""

    def wrote(self, write: Write) -> None:
        """The write is durable."""

    def saying(self, messages: Sequence[tuple[Replica, Message]]) -> None:
        """The messages are about to be sent."""

    def answering(self, ready: Ready) -> None:
        """The answers in `ready` are about to be sent to clients."""

    def close(self) -> None:
        """The node ends."""


class Loop:
    """Runs one replica. Not re-entrant: `settle` runs until there is nothing left to do."""

    loses: Loses | None = None
    """Set by an armed fault point."""
    snapshot_offered: Callable[[InstallSnapshot], None] | None = None
    """Set by a node; called with the leader whose rows are wanted."""

    def __init__(
        self,
        replica: ReplicaMachine,
        *,
        writer: LogWriter,
        timers: Timers,
        timeline: Timeline,
        deliver: Deliver,
        flush: Callable[[], None],
    ) -> None:
        self.replica = replica
        self.requests: ClientRequests | None = None
        self.turns = 0
        self.writer = writer
        self.timers = timers
        self._timeline = timeline
        writer.took = timeline.stalls.committed
        self._deliver = deliver
        self._flush = flush
        self.events: LoopObserver | None = None
        """Put here on nodes that write down what happens inside of them."""
        self._commit: tuple[Write, list[tuple[Replica, Message]]] | None = None
        """The current write, and the messages to send when it is durable."""
        self._settling = False
        self._batches: dict[tuple[int, int], bytes] = {}

    def start_batch(self) -> None:
        """Begin a batch, or go on with it: give the machine the time."""
        self._timeline.stalls.begin_piece()
        if self.events is not None:
            self.events.batch_started()
        self.replica.clock(self.timers.elapsed(), self.timers.wall())

    def step(self, event: Input) -> None:
        """Step the machine with one input of the batch."""
        self.replica.step(event)

    def fired(self, kinds: list[str]) -> None:
        """Step the machine with the timers that are due, as a batch of their own."""
        self.start_batch()
        for kind in kinds:
            self.step(TimerFired(kind=kind))
        self.turn(TIMERS)

    def turn(self, piece: str = BATCH) -> None:
        """End the batch: fulfils the machine's outputs, and send what was queued."""
        self.settle()
        requests = self.requests
        if requests is not None:
            if requests.tickets.due:
                if requests.reads.scans:
                    self._flush()  # what is decided does not wait for a slice
                requests.reads.serve()
            if requests.queries.busy:
                requests.queries.turn()
            self.timers.no_later(EXPIRY, requests.expires_at)
        self._flush()
        self._timeline.stalls.end_piece(piece)

    def make_room(self) -> None:
        """Resume writers that waited for room in memory, in a batch of their own."""
        if self.requests is not None and self.requests.has_parked:
            self.start_batch()
            self.requests.resume()
            self.turn()

    def settle(self) -> None:
        """Fulfil Readies until nothing is left that could be done now."""
        if self._settling:
            return
        self._settling = True
        try:
            while self._once():
                self.turns += 1
        finally:
            self._settling = False

    @property
    def _is_writing(self) -> bool:
        return self._commit is not None

    def _once(self) -> bool:
        ready = self.replica.ready()
        if self.events is not None:
            self.events.decided()
        unreadable = False
        if ready.send_now:
            unreadable = self._send(ready.send_now)
            if ready.write is not None:
                self._flush()  # followers write while we write
        for timer in ready.timers:
            self.timers.arm(timer)
        for note in ready.notes:
            self._timeline.append(note.name, note.fields)
        self._answer(ready)
        wrote = False
        if ready.write is not None:
            self._flush()  # clients send their next requests while we write
            self._commit = ready.write, ready.send_after
            self.writer.submit(ready.write, self._wrote)
            wrote = not self._is_writing
        elif ready.send_after:
            unreadable = self._send(ready.send_after) or unreadable
        if ready.snapshot is not None and self.snapshot_offered is not None:
            self.snapshot_offered(ready.snapshot)
        # A request refused because of pending data is submitted again when that data is decided.
        return wrote or unreadable or bool(ready.settled) or bool(ready.reads)

    def _wrote(self, error: QsyncError | None) -> None:
        """Take the end of a write: an inline writer calls at once, a thread's writer later."""
        assert self._commit is not None
        (write, after), self._commit = self._commit, None
        if not self._settling:
            self.start_batch()
        if error is None:
            if self.events is not None:
                self.events.wrote(write)
            if self._timeline.failing is not None:
                self._works_again(self._timeline.failing)
            self.step(Written(id=write.id))
            if after:
                self._send(after)
                self._flush()  # the leader waits for it
        else:
            if self._timeline.failing is None:
                self._timeline.failing = self.timers.elapsed()
            self.step(WriteFailed(id=write.id, why=str(error)))
        if not self._settling:
            self.turn()

    def _works_again(self, since: float) -> None:
        self._timeline.failing = None
        seconds = round(self.timers.elapsed() - since, 3)
        self._timeline.append("disk_works", {"seconds": seconds})

    def _answer(self, ready: Ready) -> None:
        if self.requests is None:
            return
        if self.events is not None:
            self.events.answering(ready)
        if ready.settled:
            self.requests.settled(ready.settled)
        if ready.reads:
            self.requests.readable(ready.reads)
        self.requests.resume()

    def _send(self, messages: list[tuple[Replica, Message]]) -> bool:
        """Send messages; return true if some entries could not be read back yet."""
        if self.replica.machine.disk.superseded is not None:
            return False  # what rested on a write that was under way is not said any more
        why = None
        deliver, loses = self._deliver, self.loses
        if loses is not None:
            messages = [each for each in messages if not loses(each[1])]
        if self.events is not None:
            self.events.saying(messages)
        for peer, message in messages:
            if isinstance(message, Append):
                try:
                    deliver(peer, self._encode_append(message))
                except StoreError as error:
                    # As if the message were lost: only that follower waits.
                    why = str(error)
            elif isinstance(message, Heartbeat):
                last = self.replica.machine.replicated_log.log.last
                deliver(peer, peer_messages.encode_heartbeat(message, last))
            else:
                deliver(peer, peer_messages.encode(message))
        self._batches.clear()
        if why is not None:
            self.step(LogUnreadable(why=why))
        return why is not None

    def _encode_append(self, message: Append) -> bytes:
        """Encode an Append. Both followers mostly need the same bytes: they are joined once."""
        key = (message.prev_index, message.last)
        batch = self._batches.get(key)
        if batch is None:
            entries = self.replica.machine.replicated_log.entries(
                type(message.last)(message.prev_index + 1), message.last
            )
            batch = self._batches[key] = record.encode(entries)
        return peer_messages.encode_append(message, batch)
