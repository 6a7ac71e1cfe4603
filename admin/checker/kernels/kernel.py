"""A kernel: an id, and a function from the columns of one run to findings.

A kernel knows neither files nor Spark. Its runner makes the columns: one process from rows in
memory, a Spark task from Arrow, and `--follow` from the statuses of live nodes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from admin.checker.kernels.columns import Digests, Events, LogEntries, Samples, Whose
from admin.checker.rules.rule import RuleFinding, no_excuse
from admin.evidence.manifest import Manifest


@dataclass(frozen=True, slots=True)
class EventReach:
    """The highest term and the highest durable index of all events of a run."""

    term: int = 0
    index: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The input of kernels for one run.

    `promotes` are all PROMOTEs in logs, `ends` the last entry of each log. `acked`: the number of
    acknowledged operations by name; only transactions that append. `strikes`: the number of faults.
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
        """The known confirmed index of each log."""
        found = {each.whose: each.confirmed for each in self.manifest.nodes}
        for at in range(len(self.status)):
            whose = self.status.whose(at)
            found[whose] = max(found.get(whose, 0), self.status.visibly_confirmed(at))
        return found


@dataclass(frozen=True, slots=True)
class Kernel:
    """An invariant. `needs`: the required tables; `events`: the names of events that it reads.

    `counts`: breaches are numbered by the rows of this table. `excuse`: why its manifest exempts
    the run. `idle`: why nothing was examined otherwise.
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
    """An invariant of a table that comes in parts, with the family that checks it.

    A log, or the events of disks, may not fit into memory: a family takes the parts in order and
    keeps its state between them (see `logs/walk.py`, `disks.py`).
    """

    id: str
    title: str
    needs: tuple[str, ...] = field(default=("wal",), kw_only=True)
    counts: str = field(default="wal", kw_only=True)
    idle: str = field(default="", kw_only=True)


def groups(places: Iterable[int], *keys: Sequence[Any]) -> dict[Any, list[int]]:
    """Row positions grouped by the values of these columns, each group in order."""
    found: dict[Any, list[int]] = {}
    for at in places:
        key = tuple(column[at] for column in keys) if len(keys) > 1 else keys[0][at]
        found.setdefault(key, []).append(at)
    return found
