"""The durable part of the log, the one write under way, and the cut that it must make."""

from collections.abc import Callable

from election.messages import Ballot, Index
from qsync.core.logstart import LogStart
from qsync.core.ready import Write
from qsync.record import Entry

Entries = Callable[[Index, Index], list[Entry]]
"""Gives entries `first .. last` of the log as it is now."""


class PendingWrites:
    """One write at a time; entries that are cut meanwhile do not become durable by it."""

    def __init__(self) -> None:
        self.written = Index(0)
        """Durable here and still in the log, up to here."""
        self.overdue = False
        """Write the confirmed index next, even without entries: a client waits for it."""
        self._write: Write | None = None
        self._reach = Index(0)
        self._good_to = Index(0)
        self._writes = 0
        self._cut_above: Index | None = None
        self._cut_reason = ""
        self._cut_answered = 0
        self._begins: LogStart | None = None

    def begin_at(self, start: LogStart) -> None:
        """Begin at a snapshot: nothing that is durable is in the log any more."""
        self._begins = start
        self.written = self._good_to = Index(0)
        self._cut_above, self._cut_answered = None, 0

    @property
    def under_way(self) -> bool:
        """Whether a Write was taken and has not ended."""
        return self._write is not None

    @property
    def reach(self) -> Index:
        """The last entry of the Write under way; 0 without one."""
        return self._reach

    def cut(self, above: Index, reason: str, answered: int) -> None:
        """Cut the log at `above`; the disk must follow if it has more, or is about to.

        `answered`: so many asynchronous transactions of the tail were shown here.
        """
        on_disk = max(self.written, self._reach)
        if on_disk > above and self._begins is None:
            self._must_cut(above, reason, answered)
        self.written = min(self.written, above)
        self._good_to = min(self._good_to, above)

    def _must_cut(self, above: Index, reason: str, answered: int) -> None:
        self._cut_answered += answered
        if self._cut_above is None or above < self._cut_above:
            self._cut_above, self._cut_reason = above, reason

    def next_write(
        self, entries: Entries, *, last: Index, ballot: Ballot, durable: Ballot, confirmed: Index
    ) -> Write | None:
        """Return all that is not durable yet; None during a Write or when nothing is due."""
        if self._write is not None:
            return None
        begins = self._begins
        due = self.written < last or ballot != durable or self._cut_above is not None
        if not due and not self.overdue:
            return None
        # protocol.md section 9.5: terms and votes never go back on a disk.
        assert ballot.term >= durable.term
        assert ballot.term > durable.term or durable.vote in (None, ballot.vote)
        assert self.written <= last
        self._writes += 1
        self.overdue = False
        self._write = Write(
            id=self._writes,
            cut_above=self._cut_above,
            cut_reason=self._cut_reason,
            cut_answered=self._cut_answered,
            entries=entries(Index((begins.index if begins else self.written) + 1), last),
            ballot=ballot,
            confirmed=confirmed,
            begins=begins,
        )
        self._begins = None
        self._reach = self._good_to = last
        self._cut_above, self._cut_answered = None, 0
        return self._write

    def wrote(self, write_id: int) -> Write:
        """Note that the Write is durable, with those of its entries that are in the log."""
        write = self._end(write_id)
        # Entries that were cut during the write do not become durable by it.
        assert self.written <= self._good_to
        self.written = self._good_to
        return write

    def failed(self, write_id: int) -> None:
        """Forget the Write: nothing of it may be relied on; the next one has it all again."""
        write = self._end(write_id)
        if self._begins is None:
            self._begins = write.begins
        if write.cut_above is not None and self._begins is None:
            self._must_cut(write.cut_above, write.cut_reason, write.cut_answered)

    def _end(self, write_id: int) -> Write:
        write = self._write
        assert write is not None
        assert write.id == write_id
        self._write = None
        self._reach = Index(0)
        return write
