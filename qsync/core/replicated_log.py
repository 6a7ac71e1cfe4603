"""One replica's log and what it decides: the only place where either changes."""

from collections.abc import Callable, Iterable

from election.messages import Ballot, Index, Position, Replica
from election.ready import Note
from qsync.core.configuration import Codec, Configuration, Configurations
from qsync.core.entry_cache import EntryCache
from qsync.core.limbo import Limbo
from qsync.core.logindex import LogIndex
from qsync.core.logstart import EMPTY, LogStart, check_reach
from qsync.core.pending_writes import PendingWrites
from qsync.core.ready import (
    LogAppended,
    LogCut,
    LogEvent,
    LogRestored,
    LogRolledBack,
)
from qsync.record import CONFIG, Entry, EntryKind, make, read_ref

Tail = Callable[[Index, Index], list[Entry]]
"""Reads entries `first .. last` back from where they are durable."""


class ReplicatedLog:
    """Log, limbo, and what of the log is durable. Leader and follower act on it, one at a time."""

    def __init__(
        self,
        *,
        confirmed: Index,
        recent_bytes_max: int,
        tail: Tail,
        founding: Configuration | None,
        codec: Codec,
        start: LogStart = EMPTY,
    ) -> None:
        assert confirmed >= start.index
        self.log = LogIndex(start)
        self.configurations = Configurations(founding, codec)
        if start.configuration:
            self.configurations.begin_at(start.configuration)
        self.limbo = Limbo(confirmed=confirmed, owner=start.owner)
        self.entry_cache = EntryCache(base=Index(0), bytes_max=recent_bytes_max)
        self.durable_confirmed = confirmed
        self.leaders = Index(0)
        """Up to here this log is known to be the present leader's, or was shown before."""
        self.now = 0.0
        self.events: list[LogEvent] = []
        self.notes: list[Note] = []
        self.cuts = 0
        self._tail = tail
        self.pending_writes = PendingWrites()

    def recover(self, batches: Iterable[bytes]) -> None:
        """Fill from a durable log, in batches, oldest first; what is undecided is replayed.

        The first entry is the one behind that of `start`.
        """
        log, limbo = self.log, self.limbo
        for batch in batches:
            for index, _, _, _, kind, flags, *_ in log.extend(batch):
                if index <= limbo.confirmed and (kind in _RARE or flags & CONFIG):
                    self._recall(Index(index))
            log.trim(min(log.last, limbo.confirmed))
        assert limbo.confirmed <= log.last
        self.pending_writes.written = log.last
        self.entry_cache = EntryCache(base=limbo.confirmed, bytes_max=self.entry_cache.bytes_max)
        if log.last > limbo.confirmed:
            for entry in self._tail(Index(limbo.confirmed + 1), log.last):
                self.entry_cache.push(entry)
                self.configurations.took(entry, log)
                self._decide(entry)

    def _recall(self, index: Index) -> None:
        entry = self._tail(index, index)[0]
        self.configurations.took(entry, self.log)
        if entry.kind == EntryKind.ROLLBACK:
            ref = read_ref(entry)
            first = self.log.index_of(ref.owner, ref.lsn)
            if first:
                self.limbo.recovered_stretch(first, index)
        elif entry.kind != _TXN:
            self.limbo.owned(entry)

    # -- what can be seen

    @property
    def confirmed(self) -> Index:
        """The index up to which all is decided, visible, and durable on a quorum."""
        return self.limbo.confirmed

    @property
    def visible(self) -> Index:
        """Readable up to here: confirmed, and asynchronous data that is durable here.

        The latter as far as this log is known to be the leader's: what another leader left behind
        may have been cut for good elsewhere, and show itself when what is before it is confirmed.
        """
        reach = min(self.limbo.visible(self.log.last), self.written, self.leaders)
        return max(self.limbo.confirmed, reach)

    @property
    def readable_place(self) -> Position:
        """The last readable entry, as a place: it names everything that can be read here."""
        index = self.limbo.clip(self.visible)
        return Position(self.log.term_at(index), index)

    def queue_full(self, *, entries_max: int, bytes_max: int) -> bool:
        """Return whether the limbo is at a limit; the limits count on the owner (protocol.md 3)."""
        return len(self.limbo.queue) >= entries_max or self.queue_bytes >= bytes_max

    @property
    def queue_bytes(self) -> int:
        """Size of the log from the oldest pending transaction to the newest."""
        queue = self.limbo.queue
        return self.log.bytes_between(queue[0].index - 1, queue[-1].index) if queue else 0

    def entries(self, first: Index, last: Index) -> list[Entry]:
        """Entries `first .. last`, from memory or from where they are durable. Raises Compacted."""
        if last < first:
            return []
        check_reach(self.log.start, first)
        assert last <= self.log.last
        found = self.entry_cache.slice(first, last)
        if found is not None:
            return found
        # Entries dropped from memory are durable; the end of the range may not be yet.
        split = Index(min(last, self.entry_cache.first - 1))
        newest = self.entry_cache.slice(split + 1, last) if split < last else []
        assert newest is not None
        return self._tail(first, split) + newest

    # -- the log grows

    def propose(
        self, *, kind: int, flags: int, term: int, me: Replica, body: bytes, wall: float
    ) -> Entry:
        """Append one entry of the leader's own. The caller mirrors it in its state."""
        log = self.log
        index = log.last + 1
        # protocol.md section 6: a leader appends in its own term, and no later one is in its log.
        assert term >= log.position.term
        entry = make(
            index=index,
            term=term,
            origin=me,
            lsn=log.next_lsn(term, me),
            kind=kind,
            flags=flags,
            time=wall,
            body=body,
            previous=log.crc_at(log.last),
        )
        self._push(entry)
        self.leaders = entry.index
        return entry

    def extend(self, entries: list[Entry]) -> None:
        """Append what the leader sent to this follower."""
        # Log matching (Raft §5.3): a batch continues the log where its predecessor ends it.
        assert entries
        assert entries[0].index == self.log.last + 1
        # Before what it decides: a ROLLBACK of the batch may take entries of the same batch.
        self.events.append(LogAppended(entries))
        for entry in entries:
            self._push(entry)

    def _push(self, entry: Entry) -> None:
        self.log.push(entry)
        self.entry_cache.push(entry)
        if entry.kind == _TXN:
            if entry.flags & CONFIG:
                self.configurations.took(entry, self.log)
            self.limbo.transaction(entry, self.now)
        else:
            self.configurations.took(entry, self.log)
            self._decide(entry)

    def _decide(self, entry: Entry) -> None:
        """Apply the entry to the fates (protocol.md section 4)."""
        kind = entry.kind
        if kind == _TXN:
            self.limbo.transaction(entry, self.now)
        elif kind == EntryKind.CONFIRM:
            ref = read_ref(entry)
            named = self.log.index_of(ref.owner, ref.lsn)
            if named > self.limbo.confirmed:
                self.confirm(named)
        elif kind == EntryKind.ROLLBACK:
            ref = read_ref(entry)
            first = self.log.index_of(ref.owner, ref.lsn)
            assert first
            stretch = self.limbo.rolled_back_from(first, entry.index)
            if stretch:
                self.events.append(LogRolledBack(stretch.first, Index(entry.index - 1)))
        else:
            self.limbo.owned(entry)
            if kind == EntryKind.PROMOTE:
                self.limbo.transaction(entry, self.now)

    # -- fates

    def confirm(self, index: Index) -> None:
        """Make `index` the confirmed index, whatever a record beyond it says."""
        assert self.limbo.confirmed < index <= self.log.last
        self.limbo.moved_at = self.now
        if self.limbo.stretch_at(index) is None:
            self.limbo.confirm(index)
        else:
            self._overrule(index)
        assert self.limbo.confirmed == index
        self._trim()

    def _overrule(self, index: Index) -> None:
        # protocol.md section 4: a deposed leader that rolled S back, and whose successor confirmed
        # S, shows S the moment it learns so, even before its own stale ROLLBACK is cut off.
        before = self.limbo.overrule(index)
        self._replay()
        after = self.limbo.stretch_at(before.rollback - 1)
        last = after.first - 1 if after else before.rollback - 1
        self.events.append(LogRestored(before.first, Index(last)))
        self.notes.append(Note("overruled", {"first": before.first, "rollback": before.rollback}))

    def _replay(self) -> None:
        """Recompute the fates of everything above the confirmed index from the log."""
        kept, self.events = self.events, []
        for entry in self.entries(Index(self.limbo.confirmed + 1), self.log.last):
            self._decide(entry)
        self.events = kept

    def cut(self, above: Index, reason: str) -> None:
        """Cut the tail above, which conflicts with the leader's log; it goes to the archive."""
        assert above >= self.limbo.confirmed
        assert above < self.log.last
        answered = self._answered_above(above)
        fields = {
            "above": above,
            "entries": self.log.last - above,
            "asynchronous": answered,
            "why": reason,
        }
        self.pending_writes.cut(above, reason, answered)
        reopened = self.limbo.stretch_at(above)
        self.configurations.cut(above)
        self.log.cut(above)
        self.entry_cache.cut(above)
        self.leaders = min(self.leaders, above)
        # An entry that is no longer in the log is neither durable nor owned (protocol.md section
        # 7).
        assert self.log.last == above
        assert self.written <= above
        self.limbo.reset(self.limbo.confirmed)
        self.events.append(LogCut(above))
        self._replay()
        if reopened is not None:
            # Its ROLLBACK went with the tail: what is left of the victims is undecided again.
            self.events.append(LogRestored(reopened.first, above))
        self.cuts += 1
        self.notes.append(Note("cut", fields))

    def _answered_above(self, above: Index) -> int:
        """Count asynchronous transactions above that may have been answered."""
        answered = min(self.limbo.visible(self.log.last), self.written)
        shown = self.entries(Index(above + 1), answered)
        stretch_at = self.limbo.stretch_at
        return sum(1 for each in shown if each.kind == EntryKind.TXN and not stretch_at(each.index))

    # -- the disk

    @property
    def written(self) -> Index:
        """The index up to which the log is durable here."""
        return self.pending_writes.written

    def wrote(self, write_id: int) -> Ballot:
        """Note that the Write is durable. Returns the ballot that became durable with it."""
        write = self.pending_writes.wrote(write_id)
        # protocol.md section 9.6: confirmed is monotone, also on the disk.
        assert write.confirmed <= self.limbo.confirmed
        assert self.written <= self.log.last
        self.durable_confirmed = max(self.durable_confirmed, write.confirmed)
        self._trim()
        return write.ballot

    def _trim(self) -> None:
        self.entry_cache.trim(Index(min(self.limbo.confirmed, self.written) + 1))
        self.log.trim(self.limbo.confirmed)


_TXN = int(EntryKind.TXN)
_RARE = frozenset({int(EntryKind.ROLLBACK), int(EntryKind.PROMOTE), int(EntryKind.DEMOTE)})
