"""What a kernel is: a function from the columns of one run to what it finds, and its id.

A kernel knows neither files nor Spark. Its runner makes the columns: one process from rows in
memory, a task on Spark from Arrow, and `--follow` from what live nodes just said.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from admin.checker.kernels.columns import Digests, Events, LogEntries, Samples, Whose
from admin.checker.rules.rule import RuleFinding, no_excuse
from admin.evidence.manifest import Manifest


@dataclass(frozen=True, slots=True)
class EventReach:
    """How far the events of a run go, whatever their names: the highest term, and durable index."""

    term: int = 0
    index: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What kernels look at of one run.

    `promotes` are all PROMOTEs in logs, `ends` the last entry of each log. `acked`: how many
    operations of each name were told ok, of transactions those that append. `strikes`: of faults.
    """

    manifest: Manifest
    status: Samples = field(default_factory=Samples)
    events: Events = field(default_factory=Events)
    digests: Digests = field(default_factory=Digests)
    promotes: LogEntries = field(default_factory=LogEntries)
    ends: LogEntries = field(default_factory=LogEntries)
    reach: EventReach = EventReach()
    acked: Mapping[str, int] = field(default_factory=dict)
    strikes: int = 0

    @property
    def confirmed(self) -> dict[Whose, int]:
        """How far each log is known to be confirmed."""
        found = {(each.node, each.generation): each.confirmed for each in self.manifest.nodes}
        for at in range(len(self.status)):
            whose = self.status.whose(at)
            found[whose] = max(found.get(whose, 0), self.status.visibly_confirmed(at))
        return found


@dataclass(frozen=True, slots=True)
class Kernel:
    """An invariant. `needs`: the tables that it cannot do without; `events`: the names it asks for.

    `counts`: the table by whose rows its breaches are numbered. `excuse`: why the run is none to
    be examined, by its manifest. `idle`: else, why nothing was.
    """

    id: str
    title: str
    needs: tuple[str, ...]
    find: Callable[[Evidence], RuleFinding]
    events: frozenset[str] = field(default=frozenset(), kw_only=True)
    counts: str = field(default="wal", kw_only=True)
    excuse: Callable[[Manifest], str] = field(default=no_excuse, kw_only=True)
    idle: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class PartKernel:
    """An invariant of a table that comes in parts, by the family that judges it.

    A log, or the events of disks, may be larger than a memory: a family is fed with parts in order
    and carries on what it knows (see `logs/walk.py`, `disks.py`).
    """

    id: str
    title: str
    needs: tuple[str, ...] = field(default=("wal",), kw_only=True)
    counts: str = field(default="wal", kw_only=True)
    idle: str = field(default="", kw_only=True)


def groups(places: Iterable[int], *keys: Sequence[Any]) -> dict[Any, list[int]]:
    """Places by what stands there in these columns, each group in order."""
    found: dict[Any, list[int]] = {}
    for at in places:
        key = tuple(column[at] for column in keys) if len(keys) > 1 else keys[0][at]
        found.setdefault(key, []).append(at)
    return found
