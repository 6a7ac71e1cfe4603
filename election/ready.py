"""The outputs of an election: a ballot to write, messages to send, timers to arm."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from election.messages import Ballot, ElectionMessage, Replica, Term


class ElectionTimer(StrEnum):
    """The purpose of an election timer. At most one of a kind is armed."""

    ELECTION = "election"
    CHECK_QUORUM = "check_quorum"
    TRANSFER = "transfer"


@dataclass(slots=True, init=False, unsafe_hash=True)
class TimerRequest:
    """Ask for `timer(kind)` after a time between `earliest` and `latest` seconds.

    The shell throws the dice, the simulator picks adversarially. Replaces an armed timer of the
    same kind; `earliest` None disarms it.
    """

    kind: Final[str]
    earliest: Final[float | None]
    latest: Final[float]

    def __init__(self, *, kind: str, earliest: float | None, latest: float = 0.0) -> None:
        self.kind = kind
        self.earliest = earliest
        self.latest = latest


class Note(NamedTuple):
    """An event for the timeline: a stable name and its numbers."""

    name: str
    fields: dict[str, object]


Letter = tuple[Replica, ElectionMessage]
"""A message and its receiver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionReady:
    """Everything to be done since the last one, in the order in which it must be done.

    `ballot` must be durable before `after` is sent and before anything else is answered in its
    term. It is named again for as long as there is something to send after it.
    `elected` and `deposed` compare with the last ready; both are true when the node lost one term
    and won another in between.
    """

    ballot: Ballot | None = None
    now: tuple[Letter, ...] = ()
    after: tuple[Letter, ...] = ()
    timers: tuple[TimerRequest, ...] = ()
    notes: tuple[Note, ...] = ()
    elected: bool = False
    deposed: bool = False


NOTHING = ElectionReady()
"""The shared answer for all the batches in which no election happened."""


class ElectionOutbox:
    """Gathers outputs, and knows which ballot is durable."""

    def __init__(self, durable: Ballot) -> None:
        self.durable = durable
        self._handed = durable
        self._led: Term | None = None
        self._dirty = True
        self._letters: list[Letter] = []
        self._timers: dict[str, TimerRequest] = {}
        self._notes: list[Note] = []

    def send(self, to: Replica, message: ElectionMessage) -> None:
        """Send it when everything it may rest on is durable."""
        self._letters.append((to, message))
        self._dirty = True

    def arm(self, kind: ElectionTimer, earliest: float, latest: float) -> None:
        """Ask for a timer; a later request for the same kind replaces an earlier one."""
        self._timers[kind] = TimerRequest(kind=kind, earliest=earliest, latest=latest)
        self._dirty = True

    def disarm(self, kind: ElectionTimer) -> None:
        """Take a timer back."""
        self._timers[kind] = TimerRequest(kind=kind, earliest=None)
        self._dirty = True

    def add_event(self, name: str, **fields: object) -> None:
        """Keep an event for the timeline."""
        self._notes.append(Note(name, fields))
        self._dirty = True

    def mark_dirty(self) -> None:
        """Note another change (of ballot or role): the next `drain` must look."""
        self._dirty = True

    def drain(self, *, ballot: Ballot, leads: Term | None) -> ElectionReady:
        """Return all that was gathered. `leads`: the term in which this node leads now, if any."""
        if not self._dirty:
            return NOTHING
        written = ballot == self.durable
        letters = tuple(self._letters)
        ready = ElectionReady(
            ballot=ballot if not written and (letters or ballot != self._handed) else None,
            # Whatever is said may rest on the ballot, so nothing overtakes it.
            now=letters if written else (),
            after=() if written else letters,
            timers=tuple(self._timers.values()),
            notes=tuple(self._notes),
            elected=leads is not None and leads != self._led,
            deposed=self._led is not None and leads != self._led,
        )
        self._handed, self._led, self._dirty = ballot, leads, False
        self._letters.clear()
        self._timers.clear()
        self._notes.clear()
        return ready
