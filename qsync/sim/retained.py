"""Which entries of a log may be trimmed, and what must be durable before: membership.md M6 f, g."""

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from election.messages import Index, Replica
from qsync.consumer import ConsumerKind, consumer_of
from qsync.core.logstart import LogStart
from qsync.data import schema, tuples
from qsync.data.consumers import consumers_of
from qsync.record import Entry, Instance, instance_text
from qsync.replica import Replica as Core
from qsync.sim.canon import PropertyViolation, ReferenceRecords
from qsync.sim.lives import DurableLog
from qsync.sim.replayed import StoredRows
from qsync.sim.snapshots import LogStarts

Directory = TypeVar("Directory", bound=DurableLog)


class RetentionRules(Generic[Directory]):
    """Of nodes that write snapshots and trim their logs by themselves."""

    def __init__(
        self, starts: LogStarts[Directory], rows: StoredRows, books: ReferenceRecords
    ) -> None:
        self.rows = rows
        self.checkpoint_count = 0
        """How many of its own snapshots each node keeps; 0 if none."""
        self._starts = starts
        self._books = books

    def wrote_snapshot(
        self, me: Replica, core: Core, start: LogStart, rows: Mapping[bytes, bytes]
    ) -> None:
        """Property 10: a node's new snapshot represents the confirmed log up to there."""
        who, kept = f"a snapshot of node {me}", sorted(rows.items())
        self._starts.check(who, start, core.machine.replicated_log.configurations.codec)
        self.rows.check(
            who, start.index, lambda lo, hi: [each for each in kept if lo <= each[0] < hi]
        )

    def forgot(self, me: Replica, core: Core) -> None:
        """A node has trimmed its log, as its disk soon will."""
        start, directories = core.machine.replicated_log.log.start, self._starts.directories
        if self.checkpoint_count:
            nobody_lacks_it(me, core, start, directories)

    def appended(self, core: Core, entry: Entry) -> None:
        """A leader has appended that. Property 15: it drops no reader that is within its limit.

        The log is not kept for a reader that is behind the beginning of the log.
        """
        books, log = self._books, core.machine.replicated_log.log
        here = (int(entry.index), int(entry.term))
        for key in books.places[here].keys:
            if key[0] != schema.GC_CONSUMERS:
                continue
            row = next(row for at, of, row in books.writes[key] if (at, of) == here)
            if row is None:
                continue
            reader, size = consumer_of(tuples.stored(row)), core.machine.config.wal_retention_size
            if reader.kind is ConsumerKind.REPLICA or not reader.let_go:
                continue
            begins = log.start.index
            held = log.bytes_between(reader.index, log.last) if reader.index >= begins else size + 1
            if held <= size:
                raise PropertyViolation(
                    15, f"{entry} lets {reader.name} go, which holds {held} of {size} bytes"
                )

    def trims(
        self, me: Replica, start: LogStart, *, written: Sequence[Index], stay: Sequence[Index]
    ) -> None:
        """Its disk is about to forget the log up to there.

        `written`: the snapshots that the log went on behind; `stay`: what a power cut leaves.
        """
        count = self.checkpoint_count
        if count:
            snapshots_hold_it(me, start, written=written, stay=stay, count=count)


def nobody_lacks_it(
    me: Replica,
    core: Core,
    start: LogStart,
    directories: Mapping[tuple[Replica, Instance], Directory],
) -> None:
    """Property 15: every member, and every registered reader, has the trimmed entries.

    A reader that was dropped, by a row that every member has, no longer counts.
    """
    rows = {each.name: each for each in consumers_of(core.state.select(schema.GC_CONSUMERS))}
    for row in rows.values():
        if row.kind is not ConsumerKind.REPLICA and not row.let_go and row.index < start.index:
            raise PropertyViolation(
                15, f"node {me} trims up to {start.index}: {row.name} needs it from {row.index} on"
            )
    configuration = core.machine.replicated_log.configurations.in_force
    for member in () if configuration is None else configuration.members:
        known = rows.get(instance_text(member.instance))
        directory = directories.get((member.replica, member.instance))
        if known is not None and known.let_go:
            continue
        if directory is None or not directory.holds(start.index, start.crc):
            raise PropertyViolation(
                15, f"node {me} trims up to {start.index}, which node {member.replica} lacks"
            )


def snapshots_hold_it(
    me: Replica, start: LogStart, *, written: Sequence[Index], stay: Sequence[Index], count: int
) -> None:
    """Property 15: the newest snapshots, `count` of them, outlive a power cut, with the log behind.

    `written`: all that the log went on behind so far; `stay`: those that a power cut would leave.
    """
    needed = sorted(written)[-count:]
    lost = [each for each in needed if each not in stay]
    if not needed or lost or needed[0] < start.index:
        raise PropertyViolation(
            15,
            f"node {me} trims up to {start.index}; of its newest snapshots {needed} a power cut "
            f"leaves {sorted(stay)}",
        )
