"""Counts the answers of a run so far: acknowledged, undone, unknown, and latencies."""

import threading
import time
from collections import deque
from dataclasses import dataclass, field

from election.messages import Index, Position, Term
from qsync.client.blocking import Client

RECENT_MAX = 4096
"""How many of the latest latencies are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnresolvedWrite:
    """A write with an unknown outcome, and how to ask again."""

    process: int
    number: int
    token: str
    client: Client | None
    """The client that knows its token; None if the cluster of the write is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptPlace:
    """The place of a client's write in the log. `client`: its number."""

    client: int
    term: int
    index: int

    @property
    def position(self) -> Position:
        """The same without the client."""
        return Position(Term(self.term), Index(self.index))


@dataclass(slots=True)
class WriteTally:
    """The answers so far, of all clients."""

    acked: dict[int, Position] = field(default_factory=dict)
    """Synchronous writes that were acknowledged, with their places in the log."""
    undone: set[int] = field(default_factory=set)
    unknown: dict[int, UnresolvedWrite] = field(default_factory=dict)
    met_unknown: int = 0
    reads: int = 0
    conflicts: int = 0
    refused: int = 0
    """Conflicts among the undone writes: another client had changed what they read."""
    gap: float = 0.0
    latencies: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT_MAX))
    spontaneous: dict[int, ReceiptPlace] = field(default_factory=dict)
    """Asynchronous writes that were answered; kept only if a later one is acknowledged."""
    reach: dict[int, int] = field(default_factory=dict)
    """The highest acknowledged index of each term: below it everything of the term stays."""
    _paused: bool = False
    _last_ack: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ack(self, number: int, place: ReceiptPlace, seconds: float, *, sync: bool = True) -> None:
        """Count an acknowledged write. One that is not `sync` may still be lost."""
        with self._lock:
            self._acknowledged(seconds)
            if sync:
                self.acked[number] = place.position
                self.reach[place.term] = max(self.reach.get(place.term, 0), place.index)
            else:
                self.spontaneous[number] = place

    def _acknowledged(self, seconds: float) -> None:
        now = time.monotonic()
        if self._last_ack is not None:
            self.gap = max(self.gap, now - self._last_ack)
        self._last_ack = now
        self.latencies.append(seconds)

    def pause(self) -> None:
        """Record that clients are paused, so that no acknowledgement is expected."""
        self._paused = True

    def resume(self) -> None:
        """Note that clients go on; waiting counts from now on."""
        with self._lock:
            self._paused, self._last_ack = False, time.monotonic()

    def waiting(self) -> float:
        """Return the time since the last acknowledgement; 0 while the clients are paused."""
        if self._paused or self._last_ack is None:
            return 0.0
        return time.monotonic() - self._last_ack

    @property
    def terms(self) -> list[int]:
        """Return the terms in which something was acknowledged."""
        return sorted({int(place.term) for place in self.acked.values()})
