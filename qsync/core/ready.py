"""Everything that a node wants done, in the order in which it must be done."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, final

from election.messages import Ballot, Index, Position, Replica, Term
from election.ready import Note, TimerRequest
from qsync.core.logstart import LogStart
from qsync.core.messages import InstallSnapshot, Message
from qsync.record import Entry

Ticket = int
"""A waiting client, named by the shell. The core only hands it back."""


class TimerKind(StrEnum):
    """The purpose of a timer of the core, besides election timers (`ElectionTimer`).

    At most one of a kind is armed.
    """

    PROMOTION = "promotion"
    HAND_OVER = "hand_over"
    DEMOTION = "demotion"
    HEARTBEAT = "heartbeat"
    SYNCHRO = "synchro"
    CONFIRM = "confirm"
    READS = "reads"
    DISK = "disk"
    CHANGE = "change"


@dataclass(slots=True, init=False, unsafe_hash=True)
class Write:
    """One durable commit: begin, cut, then append, then ballot and the confirmed index.

    `begins`: the log has nothing that was in it, and begins behind that entry, a snapshot's.

    Answer with `Written(id)` or `WriteFailed(id)`. The next Write is given only after that.
    """

    id: Final[int]
    cut_above: Final[Index | None]
    cut_reason: Final[str]
    cut_answered: Final[int]
    """How many of what is cut were asynchronous, and shown here: for people."""
    entries: Final[list[Entry]]
    ballot: Final[Ballot]
    confirmed: Final[Index]
    begins: Final[LogStart | None]

    def __init__(
        self,
        *,
        id: int,
        cut_above: Index | None,
        cut_reason: str,
        cut_answered: int = 0,
        entries: list[Entry],
        ballot: Ballot,
        confirmed: Index,
        begins: LogStart | None = None,
    ) -> None:
        self.id = id
        self.cut_above = cut_above
        self.cut_reason = cut_reason
        self.cut_answered = cut_answered
        self.entries = entries
        self.ballot = ballot
        self.confirmed = confirmed
        self.begins = begins


class TransactionFate(StrEnum):
    """The fate with which a ticket is answered."""

    COMMITTED = "committed"
    ROLLED_BACK = "rolled_back"
    CUT = "cut"
    LOST = "lost"
    """Cut, and asynchronous: not confirmed anywhere, but an isolated node may still show it."""


@final
class Settled:
    """The fate of the transaction that a ticket waits for is definite."""

    __slots__ = ("index", "term", "ticket", "verdict")

    def __init__(self, ticket: Ticket, verdict: TransactionFate, index: Index, term: Term) -> None:
        self.ticket = ticket
        self.verdict = verdict
        self.index = index
        self.term = term


@dataclass(slots=True, init=False, unsafe_hash=True)
class ReadSettled:
    """A read may be served from what is visible now; `refused` says why not, if so.

    `place`: what it waited for, where that is an entry and not a round of this leader.
    """

    ticket: Final[Ticket]
    refused: Final[str | None]
    place: Final[Position | None]

    def __init__(
        self, ticket: Ticket, refused: str | None = None, place: Position | None = None
    ) -> None:
        self.ticket = ticket
        self.refused = refused
        self.place = place


# Changes of the log and of outcomes, in order, for the mirrors of the log (qsync.data).
@dataclass(slots=True, init=False, unsafe_hash=True)
class LogAppended:
    """These entries were appended (by a leader). A leader's own proposals are not repeated here."""

    entries: Final[list[Entry]]

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries


@dataclass(frozen=True, slots=True)
class LogCut:
    """Everything above `index` left the log."""

    index: Index


@dataclass(frozen=True, slots=True)
class LogRolledBack:
    """The entries `first..last` are rolled back."""

    first: Index
    last: Index


@dataclass(frozen=True, slots=True)
class LogRestored:
    """The entries `first..last` are confirmed after all: their ROLLBACK was annulled."""

    first: Index
    last: Index


LogEvent = LogAppended | LogCut | LogRolledBack | LogRestored


@final
class Ready:
    """Fulfil top to bottom. `send_now`, `settled`, `reads` and `write` may run side by side.

    What is settled or may be read rests on what is durable already, never on `write`. `send_after`
    is sent when `write` is durable (at once when there is none). `snapshot`: its rows are wanted;
    answer with `SnapshotReceived`, or not at all.
    """

    __slots__ = (
        "events",
        "notes",
        "reads",
        "send_after",
        "send_now",
        "settled",
        "snapshot",
        "timers",
        "write",
    )

    def __init__(self) -> None:
        self.events: list[LogEvent] = []
        self.send_now: list[tuple[Replica, Message]] = []
        self.settled: list[Settled] = []
        self.reads: list[ReadSettled] = []
        self.write: Write | None = None
        self.send_after: list[tuple[Replica, Message]] = []
        self.snapshot: InstallSnapshot | None = None
        self.timers: list[TimerRequest] = []
        self.notes: list[Note] = []
