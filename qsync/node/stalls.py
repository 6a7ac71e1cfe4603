"""Stalls of this node: pieces of work that took long, each with its cause as far as known.

Everything of a node runs in one thread, a piece at a time: a batch of requests, due timers, a
follower's entries that are applied, a step of a fold. During a long one no client is answered. Most
of that is not the node's own work: a slow flush of the log, a collection of the interpreter, or no
processor while others use it.
"""

from collections import Counter, deque
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Final, Protocol

SLOW_SECONDS: Final = 0.02
"""A piece of work of this duration is a stall."""
BRIEF_SECONDS: Final = 0.004
"""A shorter one is remembered from here on: several in a row delay a request as much."""
PART_SECONDS: Final = 0.002
"""A part of a piece with this duration is named in the report."""
LONG_SECONDS: Final = 1.0
"""A stall of this duration is also logged by the process."""
STALLS_MAX: Final = 256
"""The newest stalls that are remembered."""
BRIEF_MAX: Final = 4096
"""The newest of the shorter ones."""
BATCH, TIMERS, ABSORBING, FOLDING, WAITING = "batch", "timers", "absorbing", "folding", "waiting"
"""Pieces. `absorbing`: a follower applies to its rows in memory what it acked before. `waiting`:
nothing ran, and yet a timer was late."""
COMMIT, COLLECTION, NO_PROCESSOR = "log commit", "garbage collection", "no processor"
"""Causes beside the piece itself."""


class StallClocks(Protocol):
    """The clocks that stalls are measured by."""

    def stopwatch(self) -> float:
        """Return monotonic seconds."""

    def processor(self) -> float:
        """Return the processor time of this thread, in seconds."""

    def wall(self) -> float:
        """Return seconds since 1970."""


class Stalls:
    """Off until `watch`: measures are right only for a node that is alone in its process."""

    def __init__(self, say: Callable[[str, Mapping[str, object]], None] | None = None) -> None:
        """`say` is called for those that were long."""
        self.recent: deque[dict[str, object]] = deque(maxlen=STALLS_MAX)
        self.brief: deque[tuple[float, float, str, str]] = deque(maxlen=BRIEF_MAX)
        """Each with when it was over (seconds since 1970), ms, piece and cause."""
        self.counts: Counter[str] = Counter()
        """How many there were since the start, by cause."""
        self._say = say
        self._clocks: StallClocks | None = None
        self._begun = 0.0
        self._used = 0.0
        self._due = 0.0
        self._busy = 0.0
        self._parts: dict[str, float] = {}

    def watch(self, clocks: StallClocks) -> None:
        """Watch the time from now on."""
        self._clocks = clocks

    def begin_piece(self) -> None:
        """Begin a piece of work. Pieces do not nest."""
        clocks = self._clocks
        if clocks is not None and not self._begun:
            self._begun, self._used = clocks.stopwatch(), clocks.processor()

    def part(self, name: str, seconds: float) -> None:
        """Record the duration of a named part of the piece."""
        if self._clocks is None or seconds < PART_SECONDS:
            return
        if self._begun:
            self._parts[name] = self._parts.get(name, 0.0) + seconds
        elif seconds >= BRIEF_SECONDS:
            # In a thread of its own, or while no request waited: those that wait for it are late.
            self._add(name, name, seconds, used=None)

    def committed(self, seconds: float) -> None:
        """Note that a write of the log is durable."""
        self.part(COMMIT, seconds)

    def end_piece(self, piece: str) -> None:
        """End the piece of work."""
        clocks, begun = self._clocks, self._begun
        if clocks is None or not begun:
            return
        self._begun, ended = 0.0, clocks.stopwatch()
        seconds = ended - begun
        if self._due and ended > self._due:
            self._busy += ended - max(begun, self._due)
        if seconds >= BRIEF_SECONDS:
            used = clocks.processor() - self._used
            self._add(piece, self._cause(piece, seconds, used), seconds, used=used)
        if self._parts:
            self._parts.clear()

    @contextmanager
    def piece(self, name: str) -> Generator[None, None, None]:
        """Measure the block as a piece of work."""
        self.begin_piece()
        try:
            yield
        finally:
            self.end_piece(name)

    def asleep(self, seconds: float) -> None:
        """Note that the one sleeping task sleeps so long from now on, until `woke`."""
        if self._clocks is not None:
            self._due, self._busy = self._clocks.stopwatch() + seconds, 0.0

    def woke(self) -> None:
        """Note that it woke. What pieces of work took after its time does not count."""
        clocks, due = self._clocks, self._due
        if clocks is None or not due:
            return
        self._due = 0.0
        late = clocks.stopwatch() - due - self._busy
        if late >= BRIEF_SECONDS:
            self._add(WAITING, NO_PROCESSOR, late, used=None)

    def describe(self) -> dict[str, object]:
        """Return the stalls as INFO shows them."""
        return {
            "slow_ms": SLOW_SECONDS * 1e3,
            "counts": dict(self.counts),
            "recent": list(self.recent),
            "brief": [list(each) for each in self.brief],
        }

    def _cause(self, piece: str, seconds: float, used: float) -> str:
        longest = max(self._parts, key=lambda name: self._parts[name], default=piece)
        if self._parts.get(longest, 0.0) >= seconds / 2:
            return longest
        return NO_PROCESSOR if used < seconds / 2 else piece

    def _add(self, piece: str, cause: str, seconds: float, *, used: float | None) -> None:
        assert self._clocks is not None
        ended, ms = round(self._clocks.wall(), 4), round(seconds * 1e3, 1)
        if seconds < SLOW_SECONDS:
            self.brief.append((ended, ms, piece, cause))
            return
        self.counts[cause] += 1
        self.recent.append({
            "time": ended,
            "ms": ms,
            "piece": piece,
            "cause": cause,
            "processor_ms": None if used is None else round(used * 1e3, 1),
            "parts": {name: round(each * 1e3, 1) for name, each in self._parts.items()},
        })  # fmt: skip
        if self._say is not None and seconds >= LONG_SECONDS:
            self._say("stalled", {"ms": ms, "piece": piece, "cause": cause})
