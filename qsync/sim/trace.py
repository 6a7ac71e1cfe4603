"""The minutes of a run: one line of fixed width for every event, and a digest of them all."""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from election.messages import Replica
from qsync.replica import Replica as Core


class TraceColumns(NamedTuple):
    """What a line shows of a node. `role`: Leader, Candidate, Follower, `.` down, Z asleep."""

    node: int
    role: str
    term: int
    last: int
    written: int
    confirmed: int
    visible: int


NOWHERE = TraceColumns(0, " ", 0, 0, 0, 0, 0)
COLUMNS = "node    term  last wrtn conf visi"
HEADING = f"  event        time  {COLUMNS}  what"
STEPS_HEADING = f"  step  {COLUMNS}  what"


def columns_of(me: Replica, core: Core, role: str = "") -> TraceColumns:
    """A node as it is now; `role` instead of its own."""
    raft, replicated_log = core.machine.raft, core.machine.replicated_log
    return TraceColumns(
        me,
        role or raft.role.value[0].upper(),
        raft.term,
        replicated_log.log.last,
        replicated_log.written,
        replicated_log.confirmed,
        replicated_log.visible,
    )


def in_columns(sight: TraceColumns) -> str:
    """As wide as `COLUMNS`."""
    node, role, term, last, written, confirmed, visible = sight
    return f"n{node} {role} {term:7d} {last:5d}{written:5d}{confirmed:5d}{visible:5d}"


class Trace:
    """Lines are kept whole: a run is some thousand of them."""

    def __init__(self) -> None:
        self._lines: list[tuple[float, TraceColumns, str]] = []

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[tuple[float, TraceColumns, str]]:
        return iter(self._lines)

    def note(self, now: float, sight: TraceColumns, what: str) -> None:
        """An event has been dealt with."""
        self._lines.append((now, sight, what))

    def lines(self, last: int | None = None) -> list[str]:
        """The newest `last` lines, or all."""
        first = 0 if last is None else max(0, len(self._lines) - last)
        return [
            describe(number, now, sight, what)
            for number, (now, sight, what) in enumerate(self._lines[first:], start=first + 1)
        ]

    def digest(self) -> str:
        """Equal digests mean equal runs."""
        text = "\n".join([f"{now:.9f}{sight}{what}" for now, sight, what in self._lines])
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def in_step(step: int, sight: TraceColumns, what: str) -> str:
    """A line of a way whose steps have a number and no time, below `STEPS_HEADING`."""
    return f"{step:6d}  {in_columns(sight)}  {what}"


def describe(number: int, now: float, sight: TraceColumns, what: str) -> str:
    """One line."""
    seen = f"{'':34s}" if sight.node == 0 else in_columns(sight)
    return f"{number:7d} {now:11.6f}  {seen}  {what}"
