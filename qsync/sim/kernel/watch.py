"""The observer of a shipped node: its loop reports everything before any effect is visible."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from election.messages import Position, Replica
from election.roles import Role
from qsync.core.inputs import Input, ReadAsked, Received
from qsync.core.messages import AppendResponse, HeartbeatResponse, Message
from qsync.core.ready import Ready, Settled, Write
from qsync.node.mishaps import EVENT
from qsync.node.node import Node
from qsync.node.tickets import WriteTicket
from qsync.replica import Replica as Core
from qsync.sim import properties
from qsync.sim.canon import PropertyViolation
from qsync.sim.kernel.calls import Calls
from qsync.sim.kernel.room import SimulatedKernel


class KernelInvariants(Protocol):
    """The properties that always hold."""

    def said(self, me: Replica, core: Core, peer: Replica, message: Message) -> None:
        """A message is about to be sent."""

    def turned(self, me: Replica, core: Core, *, looked: float) -> None:
        """It processed an input, and decided. `looked`: when it last read its clock, in seconds."""

    @property
    def floor(self) -> Position:
        """The newest entry that was answered to anybody as committed."""

    def settled(
        self, me: Replica, core: Core, request: tuple[bytes, int], settled: Settled
    ) -> None:
        """A client is about to get the outcome of its request."""

    def served(self, me: Replica, core: Core, asked: ReadAsked, floor: Position) -> None:
        """A read is about to be answered; `floor` had been answered when it came."""


class MemberLeases(Protocol):
    """The leases of the observed member."""

    def elected(self) -> None:
        """It begins to lead."""

    def promised(self, to: int, heard: HeartbeatResponse) -> None:
        """It gives a leader a promise of this duration."""


class KernelObserver:
    """See `qsync.node.loop.LoopObserver`. `operators`: waiting operators, by ticket."""

    def __init__(
        self, node: Node, room: SimulatedKernel, witness: KernelInvariants, leases: MemberLeases
    ) -> None:
        self.operators: dict[int, str] = {}
        self._node = node
        self._room = room
        self._witness = witness
        self._me = node.config.node.id
        self._leases = leases
        self._led = 0
        self._reads: dict[int, tuple[ReadAsked, Position]] = {}
        """Waiting reads, and the newest answer when the clock was read after they came."""
        calls = node.reactor.effects
        assert isinstance(calls, Calls)
        self._process = calls.process
        self._looked, self._floor = self._process.at, witness.floor
        self._answers = False
        """A request now was received before the clock was read: it waited meanwhile."""

    def batch_started(self) -> None:
        """A batch of inputs begins: the clock is about to be read."""
        self._looked, self._floor = self._process.at, self._witness.floor
        self._answers = False

    def asking(self, step: Callable[[Input], None]) -> Callable[[Input], None]:
        """The same step; it first checks when the input was received and what had been answered."""
        return partial(self._stepping, step)

    def _stepping(self, step: Callable[[Input], None], event: Input) -> None:
        """membership.md M11 j: its clock was read after it was received."""
        if isinstance(event, Received) or (isinstance(event, ReadAsked) and not self._answers):
            process = self._process
            try:
                properties.clock_read_since(
                    self._me, looked=self._looked, received=process.machine.received
                )
            except PropertyViolation as violation:
                self._room.found(violation)
        if isinstance(event, ReadAsked):
            self._reads[event.ticket] = event, self._floor
        step(event)

    def decided(self) -> None:
        """Called before any of its messages and answers is sent."""
        try:
            self._witness.turned(self._me, self._node.replica, looked=self._looked)
            properties.rows_agree(self._me, self._node.folding.comparing.differs)
            raft = self._node.replica.machine.raft
            if raft.role is Role.LEADER and raft.term != self._led:
                self._led = raft.term
                self._leases.elected()
        except PropertyViolation as violation:
            self._room.found(violation)
        if self._node.timeline.counts.get(EVENT):
            told = [each for each in self._node.timeline.events if each["event"] == EVENT]
            self._room.found(PropertyViolation(0, f"node {self._me}: {told[-1]['trace']}"))

    def wrote(self, write: Write) -> None:
        """The disk has reported it already."""

    def saying(self, messages: Sequence[tuple[Replica, Message]]) -> None:
        """Votes and acks are checked against the disk."""
        core = self._node.replica
        replicated_log, term = core.machine.replicated_log, core.machine.raft.term
        try:
            for peer, message in messages:
                if isinstance(message, AppendResponse) and (
                    message.index > replicated_log.written and message.term < term
                ):
                    continue  # of an ended term: its entries were cut meanwhile
                if isinstance(message, HeartbeatResponse) and message.promised_us:
                    self._leases.promised(peer, message)
                self._witness.said(self._me, core, peer, message)
        except PropertyViolation as violation:
            self._room.found(violation)

    def answering(self, ready: Ready) -> None:
        """Outcomes are checked against the confirmed log, reads against earlier answers."""
        self._answers, waiting = True, self._node.requests.tickets
        try:
            for each in ready.settled:
                ticket = waiting.waits(each.ticket)
                if type(ticket) is WriteTicket:
                    self._witness.settled(self._me, self._node.replica, ticket.token, each)
            for read in ready.reads:
                self.operators.pop(read.ticket, None)
                asked = self._reads.pop(read.ticket, None)
                if asked is not None and read.refused is None:
                    self._witness.served(self._me, self._node.replica, *asked)
        except PropertyViolation as violation:
            self._room.found(violation)

    def close(self) -> None:
        """The life of the node ends."""
