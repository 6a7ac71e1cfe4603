"""The outputs of a core, gathered until its ballot is durable and the batch is over."""

from election.messages import Replica
from election.ready import Note, TimerRequest
from qsync.core.messages import InstallSnapshot, Message
from qsync.core.ready import ReadSettled, Ready, Ticket, TimerKind


class Outbox:
    """Messages to peers, answers to clients, timers, events."""

    def __init__(self) -> None:
        self._letters: list[tuple[Replica, Message]] = []
        self._answers: list[ReadSettled] = []
        self._timers: list[TimerRequest] = []
        self._notes: list[Note] = []
        self._asks: dict[Ticket, tuple[Replica, int]] = {}
        self._next_ask = -1
        self.snapshot: InstallSnapshot | None = None
        """Whose rows are wanted."""

    def send(self, peer: Replica, message: Message) -> None:
        """Queue a message; it is sent when our ballot is durable."""
        self._letters.append((peer, message))

    def answer(self, ticket: Ticket, refused: str | None = None) -> None:
        """Answer a read or an operation."""
        self._answers.append(ReadSettled(ticket, refused))

    def answers(self, settled: list[ReadSettled]) -> None:
        """Several at once."""
        self._answers += settled

    def remember_ask(self, follower: Replica, ask: int) -> Ticket:
        """Return a ticket for a follower's read index: negative, so never a client's."""
        ticket = self._next_ask
        self._next_ask -= 1
        self._asks[ticket] = (follower, ask)
        return ticket

    def take_ask(self, ticket: Ticket) -> tuple[Replica, int] | None:
        """Return the follower's question behind a ticket; None for a client's ticket."""
        return self._asks.pop(ticket, None) if ticket < 0 else None

    def arm(self, kind: TimerKind, delay: float) -> None:
        """Ask for a timer after exactly `delay` seconds."""
        self._timers.append(TimerRequest(kind=kind, earliest=delay, latest=delay))

    def disarm(self, kind: TimerKind) -> None:
        """Disarm a timer."""
        self._timers.append(TimerRequest(kind=kind, earliest=None))

    def add_event(self, name: str, **fields: object) -> None:
        """Add an event for the timeline."""
        self._notes.append(Note(name, fields))

    def fill(self, ready: Ready, *, durable: bool) -> None:
        """Hand everything over.

        Nothing is said in a term or after a vote that is not durable (protocol.md section 2):
        letters wait for the write with the ballot, or stay here while another one is under way.
        """
        if durable:
            ready.send_now, self._letters = self._letters, []
        elif ready.write is not None:
            ready.send_after, self._letters = self._letters, []
        ready.reads, self._answers = self._answers, []
        ready.snapshot, self.snapshot = self.snapshot, None
        if self._timers:
            ready.timers += self._timers
            self._timers = []
        if self._notes:
            ready.notes += self._notes
            self._notes = []
