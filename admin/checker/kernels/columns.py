"""The layout that kernels read: one list per column, from rows, Arrow or live nodes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

from typing_extensions import override

from admin.checker.exhibit import EvidenceRow, exhibit
from admin.checker.rules.rule import Where

Whose = tuple[int, int]
"""A node and its generation."""
Cells = Mapping[str, Sequence[Any]]
"""Columns by name, of any list type."""
Ints = list[int]
Known = list[int | None]
"""Numbers; None if unknown."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Some columns of a table of evidence, all of one length."""

    table: ClassVar[str]
    blank: ClassVar[Mapping[str, object]] = {}
    """The placeholder for null in columns that are read without a check for null."""

    node: Ints = field(default_factory=list)
    generation: Ints = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.node)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The columns, in order."""
        return tuple(each.name for each in fields(cls))

    @classmethod
    def of(cls, cells: Cells) -> Self:
        """From columns; a missing one is null in every row."""
        size = len(cells["node"])
        found: list[list[Any]] = []
        for name in cls.names():
            blank, column = cls.blank.get(name), cells.get(name) or [None] * size
            found.append(
                list(column)
                if blank is None
                else [blank if cell is None else cell for cell in column]
            )
        return cls(*found)

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, object]]) -> Self:
        """From rows, in their order."""
        known = list(rows)
        return cls.of({name: [row.get(name) for row in known] for name in cls.names()})

    @classmethod
    def of_records(cls, records: Iterable[object]) -> Self:
        """From objects whose attributes are the cells of a row."""
        known = list(records)
        return cls.of({name: [getattr(each, name) for each in known] for name in cls.names()})

    def whose(self, at: int) -> Whose:
        """The directory that a row is about."""
        return (self.node[at], self.generation[at])

    def shows(self, *places: int) -> list[EvidenceRow]:
        """The rows at these places, as proof."""
        return [exhibit(self.table, self._row(at)) for at in places]

    def _row(self, at: int) -> dict[str, object]:
        return {name: getattr(self, name)[at] for name in self.names()}


@dataclass(frozen=True, slots=True)
class Samples(Columns):
    """The statuses of nodes, by the number of the sample."""

    table = "status"

    life: Ints = field(default_factory=list)
    sample: Ints = field(default_factory=list)
    time_mono: Ints = field(default_factory=list)
    role: list[str] = field(default_factory=list)
    term: Ints = field(default_factory=list)
    ro: list[bool | None] = field(default_factory=list)
    last: Known = field(default_factory=list)
    written: Known = field(default_factory=list)
    confirmed: Known = field(default_factory=list)
    visible: Known = field(default_factory=list)
    limbo_owner: Known = field(default_factory=list)
    limbo_term: Known = field(default_factory=list)
    limbo_len: Known = field(default_factory=list)
    crc: Known = field(default_factory=list)
    quorum: Known = field(default_factory=list)
    leader: Known = field(default_factory=list)
    voters: Known = field(default_factory=list)

    def where(self, at: int) -> Where:
        """The place of a breach that a sample shows."""
        return {"node": self.node[at], "index": self.sample[at], "term": self.term[at]}

    def safe(self, at: int) -> int:
        """The index that was confirmed and on the disk of the node itself."""
        return min(self.confirmed[at] or 0, self.written[at] or 0)

    def visibly_confirmed(self, at: int) -> int:
        """The confirmed index; a disk may lag behind what its node knows."""
        confirmed, written = self.confirmed[at] or 0, self.written[at]
        return confirmed if written is None else min(confirmed, written)


@dataclass(frozen=True, slots=True)
class Events(Columns):
    """The events of nodes, by number; only events with a name that some kernel uses."""

    table = "events"
    blank: ClassVar[Mapping[str, object]] = {"term": 0, "index": 0, "crc": 0}

    life: Ints = field(default_factory=list)
    number: Ints = field(default_factory=list)
    time_mono: Ints = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    term: Ints = field(default_factory=list)
    index: Ints = field(default_factory=list)
    peer: Known = field(default_factory=list)
    crc: Ints = field(default_factory=list)
    floor: Known = field(default_factory=list)

    def places(self, *names: str) -> Ints:
        """Return the places of events with these names."""
        return [at for at, name in enumerate(self.name) if name in names]


@dataclass(frozen=True, slots=True)
class Digests(Columns):
    """Hashes over rows of spaces. `made`: empty for the visible rows of a node."""

    table = "digests"
    blank: ClassVar[Mapping[str, object]] = {"bucket": 0, "made": ""}

    index: Ints = field(default_factory=list)
    space: list[str] = field(default_factory=list)
    bucket: Ints = field(default_factory=list)
    digest: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)

    @override
    def _row(self, at: int) -> dict[str, object]:
        row = {name: getattr(self, name)[at] for name in self.names()}
        return {name: cell for name, cell in row.items() if cell or name == "node"}


@dataclass(frozen=True, slots=True)
class LogEntries(Columns):
    """Some entries of logs, by log and index. A large log may lack some columns."""

    table = "wal"

    index: Ints = field(default_factory=list)
    term: Ints = field(default_factory=list)
    kind: list[str | None] = field(default_factory=list)
    origin: Ints = field(default_factory=list)
    lsn: Known = field(default_factory=list)
    flags: Known = field(default_factory=list)
    crc: Known = field(default_factory=list)
    ref_owner: Known = field(default_factory=list)
    ref_lsn: Known = field(default_factory=list)
    session: list[str | None] = field(default_factory=list)
    seq: Known = field(default_factory=list)
