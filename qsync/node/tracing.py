"""The stages of the log's growth with their times, kept only while traces are asked for."""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from election.messages import Index
from qsync.record import EntryKind

if TYPE_CHECKING:
    from qsync.core.machine import Machine

MARKS_MAX: Final = 4096
"""Marks kept; older ones are forgotten first."""
ARM_MAX: Final = 3600.0
"""Seconds for which one question may keep the watch on."""


Stage = tuple[str, int]
"""What is reached, and by whom (0: this node)."""


class TraceMark(NamedTuple):
    """The log reached `upto` in the sense of `what`; `who` for an ack."""

    what: str
    who: int
    upto: int
    time: float


class Tracing:
    """Compares the machine after every batch while armed, and notes what has moved."""

    def __init__(
        self, machine: "Machine", *, now: Callable[[], float], wall: Callable[[], float]
    ) -> None:
        self._machine = machine
        self._now = now
        self._wall = wall
        self._until = 0.0
        self._marks: deque[TraceMark] = deque(maxlen=MARKS_MAX)
        self._reached: dict[Stage, int] = {}
        self._base: dict[Stage, int] = {}

    @property
    def armed(self) -> bool:
        """Whether traces were asked for lately."""
        return self._until > 0.0

    def arm(self, seconds: float) -> None:
        """Trace for so many seconds from now on."""
        if seconds > 0:
            if not self.armed:
                self._reached = dict(self._stages())
                self._base = dict(self._reached)
            self._until = max(self._until, self._now() + min(seconds, ARM_MAX))

    def tick(self) -> None:
        """Stop when no trace was asked for within that time."""
        if self.armed and self._now() > self._until:
            self._until = 0.0
            self._marks.clear()

    def turn(self) -> None:
        """Note what moved in a batch."""
        wall, reached = self._wall(), self._reached
        for stage, upto in self._stages():
            if reached.get(stage) != upto:
                reached[stage] = upto
                self._note(TraceMark(*stage, upto, wall))

    def _note(self, mark: TraceMark) -> None:
        if len(self._marks) == MARKS_MAX:
            oldest = self._marks[0]
            self._base[oldest.what, oldest.who] = oldest.upto
        self._marks.append(mark)

    def _stages(self) -> list[tuple[Stage, int]]:
        machine = self._machine
        replicated_log, leader = machine.replicated_log, machine.leader
        stages = [
            (("appended", 0), int(replicated_log.log.last)),
            (("durable", 0), int(replicated_log.written)),
            (("confirmed", 0), int(replicated_log.confirmed)),
        ]
        if leader is not None:
            stages += [(("acked", int(each.peer)), int(each.match)) for each in leader.counted()]
        return stages

    def tell(self, index: int) -> dict[str, object]:
        """Return what is known of an entry: its kind, its fate, and when it reached a stage."""
        replicated_log = self._machine.replicated_log
        place = Index(index)
        found = (
            replicated_log.entries(place, place)
            if replicated_log.log.start.index < place <= replicated_log.log.last
            else []
        )
        entry: dict[str, object] | None = None
        if found:
            one = found[0]
            entry = {
                "index": int(one.index),
                "term": int(one.term),
                "origin": int(one.origin),
                "lsn": int(one.lsn),
                "kind": EntryKind(one.kind).name,
                "bytes": len(one.raw),
                "crc": int(one.crc),
                "made": one.time,
            }
        return {
            "node": int(self._machine.config.me),
            "leads": self._machine.leader is not None,
            "armed": self.armed,
            "entry": entry,
            "fate": self._fate(index) if found else "absent",
            "durable": replicated_log.written >= index,
            "marks": [[each.what, each.who, each.time] for each in self._first(index)],
        }

    def _fate(self, index: int) -> str:
        replicated_log = self._machine.replicated_log
        if replicated_log.limbo.stretch_at(index) is not None:
            return "rolled_back"
        return "confirmed" if replicated_log.confirmed >= index else "pending"

    def _first(self, index: int) -> list[TraceMark]:
        """Return, for every stage, the first mark that reached the entry, unless it was before."""
        first: dict[Stage, TraceMark] = {}
        for mark in self._marks:
            if mark.upto >= index > self._base.get((mark.what, mark.who), 0):
                first.setdefault((mark.what, mark.who), mark)
        return sorted(first.values(), key=lambda mark: mark.time)
