"""What happened on this node: elections, promotes, cuts, rollbacks, disks. A ring and a file."""

import json
from collections import Counter, deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from qsync.line_files import append_line, last_lines, object_of
from qsync.node.stalls import Stalls
from qsync.node.system import SYSTEM

EVENTS_MAX = 1000
"""Events kept in memory; the file keeps all."""
FILE_BYTES_MAX = 16 << 20
"""A larger timeline is renamed to `timeline.1.jsonl` and a new one begun."""
REREAD_BYTES_MAX = 64 << 10
"""How much of the file is read back at start, so that the past is known after a restart."""
_SUMS = {"cut": "asynchronous", "rollback": "transactions"}
"""Events whose numbers are summed: transactions answered ok and lost, and rolled back."""
REPEATED_S: Final = 30.0
_LASTS: Final = {"disk_failed": "disk_works"}
"""Events that come again and again while something lasts, and the event that ends it. One with the
same reason is kept once in REPEATED_S; all are counted."""


Tell = Callable[[str, Mapping[str, object]], None]
"""Takes the name of an event and its fields."""


class Timeline:
    """A ring of rare events with their numbers. An error of writing one never stops a node."""

    def __init__(self, path: Path | None, *, wall: Callable[[], float] = SYSTEM.wall) -> None:
        self.events: deque[dict[str, object]] = deque(maxlen=EVENTS_MAX)
        self.unwritten = 0
        self.counts: Counter[str] = Counter()
        """How often each event happened since the start of the process."""
        self.sums: Counter[str] = Counter()
        self.told: Tell | None = None
        """Hears of every event, for the log of the process."""
        self.audited: Tell | None = None
        """Hears of every event, for the audit trail of a cluster with users."""
        self.stalls = Stalls(self.say)
        """What is no event but held everything up."""
        self.failing: float | None = None
        """Since when no write succeeds, in seconds of the node's clock; for the loop."""
        self._kept: dict[str, tuple[object, float]] = {}
        self._path = path
        self._wall = wall
        if path is not None:
            self.events.extend(_reread(path))

    def append(self, name: str, fields: Mapping[str, object]) -> None:
        """Keep an event and append it to the file, unless it only says again what lasts."""
        wall = self._wall()
        self.counts[name] += 1
        if self._is_repeated(name, fields.get("why"), wall):
            return
        self.say(name, fields)
        time = datetime.fromtimestamp(wall, UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": time, "event": name, **fields}, default=str)
        self.events.append(json.loads(line))
        if self.audited is not None:
            self.audited(name, fields)
        number = fields.get(_SUMS.get(name, ""))
        if isinstance(number, int):
            self.sums[name] += number
        if self._path is None:
            return
        try:
            if self._path.exists() and self._path.stat().st_size > FILE_BYTES_MAX:
                self._path.replace(self._path.with_suffix(".1.jsonl"))
            append_line(self._path, line)
        except OSError:
            # The disk is full or gone: the event stays in the ring, and status counts the miss.
            self.unwritten += 1

    def _is_repeated(self, name: str, why: object, wall: float) -> bool:
        for lasting, end in _LASTS.items():
            if name == end:
                self._kept.pop(lasting, None)
        if name not in _LASTS:
            return False
        before, kept_at = self._kept.get(name, (None, 0.0))
        if why == before and abs(wall - kept_at) < REPEATED_S:  # a wall clock may go back
            return True
        self._kept[name] = why, wall
        return False

    def say(self, name: str, fields: Mapping[str, object]) -> None:
        """Write to the log of the process only: for what others could cause without end."""
        if self.told is not None:
            self.told(name, fields)

    def latest(self, count: int) -> list[dict[str, object]]:
        """Return the newest events, oldest first."""
        return list(self.events)[-count:]


def _reread(path: Path) -> list[dict[str, object]]:
    """Read the end of an earlier life's file. Lines that were cut short are left out."""
    try:
        lines = last_lines(path, bytes_max=REREAD_BYTES_MAX)
    except OSError:
        return []
    return [event for line in lines if (event := object_of(line)) is not None]
