"""The log of a process, for people and programs: a line on standard error for each event.

It goes through the standard library's `logging`, so a program with a node inside of it
(`qsync.Node`) sends it where it likes: the logger is `qsync.node`. It has what the timeline
keeps, and what is too cheap for others to cause to be kept: refusals and stalls. No fields of
requests, no rows and no secrets are in it.
"""

import json
import logging
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from typing_extensions import override

from qsync.config.sections import LogFormat, LogLevel
from qsync.happenings import Gravity, severity_of
from qsync.node.line_writer import LEFT_OUT, LineWriter

LOGGER: Final = logging.getLogger("qsync.node")
LOGGER.addHandler(logging.NullHandler())
LEVELS: Final = {
    Gravity.DEBUG: logging.DEBUG,
    Gravity.INFO: logging.INFO,
    Gravity.WARNING: logging.WARNING,
    Gravity.ERROR: logging.ERROR,
}
LINES_AT_ONCE: Final = 20
"""How many lines of one event may follow each other..."""
LINE_SECONDS: Final = 1.0
"""...then one in so many seconds; what is left out is counted, and said with the next."""
SAME_LINE_SECONDS: Final = 60.0
"""The same while an event is like the one before it: what somebody repeats for ever is no news."""
_BARE: Final = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/+-[]*@,"
)


class NodeLog:
    """Writes the lines of one node. The number of lines of each event is limited."""

    def __init__(
        self, node: str, cluster: str, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        """`now`: monotonic seconds."""
        self._who = {"node": node, "cluster": cluster}
        self._now = now
        self._rooms: dict[str, tuple[float, float]] = {}
        self._last: dict[str, dict[str, object]] = {}
        self._left_out: dict[str, int] = {}

    def tell(self, name: str, fields: Mapping[str, object]) -> None:
        """Write one event."""
        level = LEVELS[severity_of(name)]
        if not LOGGER.isEnabledFor(level):
            return
        if not self._has_room(name, dict(fields)):
            self._left_out[name] = self._left_out.get(name, 0) + 1
            return
        left_out = self._left_out.pop(name, 0)
        told = {**fields, LEFT_OUT: left_out} if left_out else dict(fields)
        LOGGER.log(level, name, extra={"qsync": told, "qsync_who": self._who})

    def _has_room(self, name: str, fields: dict[str, object]) -> bool:
        now, seconds = self._now(), LINE_SECONDS
        if self._last.get(name) == fields:
            seconds = SAME_LINE_SECONDS
        self._last[name] = fields
        room, since = self._rooms.get(name, (float(LINES_AT_ONCE), now))
        room = min(float(LINES_AT_ONCE), room + (now - since) / seconds)
        self._rooms[name] = (room - 1.0 if room >= 1.0 else room), now
        return room >= 1.0


class TextFormatter(logging.Formatter):
    """`2026-11-22T10:00:00.123Z warning n1 stepped_down why="no quorum" term=4`."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        told, who = _parts(record)
        words = [_time(record), f"{record.levelname.lower():<7}", who.get("node", record.name)]
        words.append(record.getMessage())
        words += [f"{key}={_word(value)}" for key, value in told.items()]
        return " ".join(words)


class JsonFormatter(logging.Formatter):
    """One JSON object a line: `time`, `level`, `node`, `cluster`, `event`, and its fields."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        told, who = _parts(record)
        line = {"time": _time(record), "level": record.levelname.lower(), **who}
        return json.dumps({**line, "event": record.getMessage(), **told}, default=str)


def to_stderr(level: LogLevel, form: LogFormat) -> None:
    """Write the log of this process to standard error. For a process that is a node."""
    LOGGER.propagate = False
    for each in list(LOGGER.handlers):
        LOGGER.removeHandler(each)
        each.close()
    if level is LogLevel.OFF:
        LOGGER.addHandler(logging.NullHandler())
        return
    writer = _writer()
    writer.setFormatter(JsonFormatter() if form is LogFormat.JSON else TextFormatter())
    LOGGER.addHandler(writer)
    LOGGER.setLevel(LEVELS[Gravity(level.value)])


def _writer() -> logging.Handler:
    try:
        return LineWriter(sys.stderr.fileno())
    except OSError:  # a program has put something else there, which has no descriptor
        return logging.StreamHandler(sys.stderr)


def _parts(record: logging.LogRecord) -> tuple[dict[str, object], dict[str, str]]:
    return getattr(record, "qsync", {}), getattr(record, "qsync_who", {})


def _time(record: logging.LogRecord) -> str:
    when = datetime.fromtimestamp(record.created, UTC)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _word(value: object) -> str:
    """Return one word as it is; quote anything else as JSON does, so that a line stays a line."""
    if isinstance(value, str) and value and _BARE.issuperset(value):
        return value
    return json.dumps(value, default=str)
