"""The trace of a run: one line of fixed width for every event, and a digest of all."""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from election.messages import Replica
from election.roles import Role
from qsync.replica import Replica as Core


class TraceColumns(NamedTuple):
    """The columns of a node in a line.

    `role`: Leader, Candidate, Follower, `.` down, Z suspended.
    """

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
        role or _letter(raft.role),
        raft.term,
        replicated_log.log.last,
        replicated_log.written,
        replicated_log.confirmed,
        replicated_log.visible,
    )


_Sight = tuple[int, str, int, int, int, int, int]
"""Plain columns: a named tuple takes ten times as long to make."""


def _letter(role: Role) -> str:
    if role is Role.LEADER:
        return "L"
    return "C" if role is Role.CANDIDATE else "F"


def _in_full(sight: _Sight) -> str:
    """As `repr` has a TraceColumns."""
    node, role, term, last, written, confirmed, visible = sight
    return (
        f"TraceColumns(node={node}, role={role!r}, term={term}, last={last}, "
        f"written={written}, confirmed={confirmed}, visible={visible})"
    )


def in_columns(sight: TraceColumns) -> str:
    """As wide as `COLUMNS`."""
    node, role, term, last, written, confirmed, visible = sight
    return f"n{node} {role} {term:7d} {last:5d}{written:5d}{confirmed:5d}{visible:5d}"


class Trace:
    """All lines are kept: a run has some thousands. In a long one, `fold` the oldest."""

    def __init__(self) -> None:
        self._lines: list[tuple[float, _Sight, str]] = []
        self._folded = 0
        """The number of lines of which only the digest is kept."""
        self._sum = hashlib.blake2b(digest_size=8)

    def __len__(self) -> int:
        return self._folded + len(self._lines)

    def __iter__(self) -> Iterator[tuple[float, TraceColumns, str]]:
        for now, sight, what in self._lines:
            yield now, TraceColumns(*sight), what

    def note(self, now: float, sight: TraceColumns, what: str) -> None:
        """An event has been dealt with."""
        self._lines.append((now, sight, what))

    def saw(self, now: float, me: Replica, core: Core, role: str, what: str) -> None:
        """An event at a node has been dealt with; `role` instead of its own."""
        raft, replicated_log = core.machine.raft, core.machine.replicated_log
        sight = (
            int(me),
            role or _letter(raft.role),
            int(raft.term),
            int(replicated_log.log.last),
            int(replicated_log.written),
            int(replicated_log.confirmed),
            int(replicated_log.visible),
        )
        self._lines.append((now, sight, what))

    def lines(self, last: int | None = None) -> list[str]:
        """The newest `last` lines, or all."""
        first = 0 if last is None else max(0, len(self._lines) - last)
        return [
            describe(number, now, TraceColumns(*sight), what)
            for number, (now, sight, what) in enumerate(
                self._lines[first:], start=self._folded + first + 1
            )
        ]

    def fold(self, keep: int) -> None:
        """Keep only the digest of all lines except this many of the newest."""
        cut = max(0, len(self._lines) - keep)
        self._sum.update(self._text(self._lines[:cut]))
        self._folded += cut
        del self._lines[:cut]

    def digest(self) -> str:
        """Equal digests mean equal runs."""
        found = self._sum.copy()
        found.update(self._text(self._lines))
        return found.hexdigest()

    def _text(self, lines: list[tuple[float, _Sight, str]]) -> bytes:
        """`lines` follow those that are folded."""
        parts = [f"{now:.9f}{_in_full(sight)}{what}" for now, sight, what in lines]
        between = "\n" if self._folded and lines else ""
        return (between + "\n".join(parts)).encode()


def in_step(step: int, sight: TraceColumns, what: str) -> str:
    """A line of a path whose steps have a number and no time, below `STEPS_HEADING`."""
    return f"{step:6d}  {in_columns(sight)}  {what}"


def describe(number: int, now: float, sight: TraceColumns, what: str) -> str:
    """One line."""
    seen = f"{'':34s}" if sight.node == 0 else in_columns(sight)
    return f"{number:7d} {now:11.6f}  {seen}  {what}"
