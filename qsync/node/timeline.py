"""What happened on this node: elections, promotes, cuts, rollbacks, disks. A ring and a file."""

import json
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

EVENTS_MAX = 1000
"""Events kept in memory; the file keeps all."""
FILE_BYTES_MAX = 16 << 20
"""A larger timeline is renamed to `timeline.1.jsonl` and a new one begun."""


class Timeline:
    """Rare events with their numbers. Writing one never takes a node down."""

    def __init__(self, path: Path | None) -> None:
        self.events: deque[dict[str, object]] = deque(maxlen=EVENTS_MAX)
        self.unwritten = 0
        self._path = path

    def note(self, name: str, fields: Mapping[str, object]) -> None:
        """Keep an event and append it to the file."""
        event: dict[str, object] = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "event": name,
            **fields,
        }
        self.events.append(event)
        if self._path is None:
            return
        try:
            if self._path.exists() and self._path.stat().st_size > FILE_BYTES_MAX:
                self._path.replace(self._path.with_suffix(".1.jsonl"))
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(event, default=str) + "\n")
        except OSError:
            # The disk is full or gone: the event stays in the ring, and status counts the miss.
            self.unwritten += 1
