"""Stored rows and the log behind them become the rows of one index, by the nodes' own rules.

The fates of entries are found first, from all of the log that decides them: what is kept of it was
confirmed, so nothing is undecided. Then it is folded into the rows, some thousands at a time.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from election.messages import Index
from qsync.core.configuration import Configuration
from qsync.core.limbo import RolledBackRange
from qsync.core.logstart import EMPTY, LogStart
from qsync.core.replicated_log import ReplicatedLog
from qsync.core.trimming import start_at
from qsync.data import body, keys
from qsync.data.members import CODEC
from qsync.data.state import DataState
from qsync.record import CONFIG, HEADER_SIZE, Entry, EntryKind, encode
from qsync.replaying import REPLAY_STEP, next_stop, replay
from qsync.store.contract import Log, RecoveredLog, Spaces
from qsync.store.snapshot import SnapshotHead, chunks

FOLD_ROWS: Final = 10_000
"""Rows in one transaction of the store."""
CACHE_BYTES: Final = 1 << 20

Batches = Callable[[], Iterable[list[Entry]]]
"""The log behind the rows, from its first entry on, each time it is called."""


class DecidedLog:
    """The log behind the rows of a backup or of a stopped node, all of it decided."""

    def __init__(self, start: LogStart, batches: Batches, *, upto: int, index: int) -> None:
        """`upto`: its last entry. `index`: which one is to be the last."""
        self._batches = batches
        self._kept: dict[int, Entry] = {}
        self._wanted = index
        self.replicated_log = ReplicatedLog(
            confirmed=Index(upto),
            recent_bytes_max=CACHE_BYTES,
            tail=self._entries,
            founding=None,
            codec=CODEC,
            start=start,
        )
        self.replicated_log.recover(map(encode, self._noted()))
        self._cursor = _Cursor(iter(()))

    @property
    def stretch(self) -> RolledBackRange | None:
        """The rolled-back stretch in which the wanted index lies."""
        return self.replicated_log.limbo.stretch_at(self._wanted)

    @property
    def last(self) -> Index:
        """The index to restore: the wanted one, or the one before its rolled-back stretch."""
        return self.replicated_log.limbo.clip(Index(self._wanted))

    @property
    def last_term(self) -> int:
        """The newest term in it."""
        return self.replicated_log.log.position.term

    def start_behind(self) -> LogStart:
        """The start of a log that has no entries up to there."""
        log = self.replicated_log
        if self.last == log.log.start.index:
            return log.log.start
        if not log.log.knows(self.last):
            self._kept[self.last] = next(self._from(self.last))
        return start_at(log, self.last)

    def fold_into(self, spaces: Spaces, progress: Callable[[int], None]) -> None:
        """Bring rows that are exact where it begins to the index to restore."""
        log, goal = self.replicated_log, self.last
        state = DataState(spaces, folded=spaces.folded)
        at = int(spaces.folded)
        assert at == log.log.start.index
        self._cursor = _Cursor(self._from(at + 1))
        while at < goal:
            end = min(next_stop(log, after=at, entries_max=REPLAY_STEP), goal)
            replay(state, log, self._cursor.entries, after=at, upto=end)
            state.see(Index(end))
            while state.folded < end:
                fold = state.fold(Index(end), FOLD_ROWS)
                spaces.fold(fold)
                state.folded_to(fold)
            at = end
            progress(at)

    def written_to(self, space: int) -> Iterator[tuple[bytes, bytes | None]]:
        """The rows that it puts into a space up to the index to restore, in order, by their keys.

        None for a row that is deleted; what was rolled back is left out.
        """
        log, prefix = self.replicated_log, keys.prefix(space, 0)
        for entry in self._from(log.log.start.index + 1):
            if entry.index > self.last:
                return
            if entry.kind == EntryKind.TXN and log.limbo.stretch_at(entry.index) is None:
                for written, key, row in body.decode(entry.raw[HEADER_SIZE:])[3]:
                    if written == space:
                        yield prefix + key, row

    def _noted(self) -> Iterator[list[Entry]]:
        """All batches; what the fates need of them is kept."""
        for batch in self._batches():
            for entry in batch:
                if entry.kind in _DECIDING or entry.flags & CONFIG or entry.index == self._wanted:
                    self._kept[entry.index] = entry
            yield batch

    def _entries(self, first: Index, last: Index) -> list[Entry]:
        return [self._kept[index] for index in range(first, last + 1)]

    def _from(self, first: int) -> Iterator[Entry]:
        for batch in self._batches():
            if batch and batch[-1].index >= first:
                yield from batch[max(0, first - batch[0].index) :]


def stopped_log(log: Log, found: RecoveredLog, founding: Configuration | None) -> ReplicatedLog:
    """The log of a node that does not run, as its process would find it."""
    replicated_log = ReplicatedLog(
        confirmed=found.confirmed,
        recent_bytes_max=CACHE_BYTES,
        tail=log.entries,
        founding=founding,
        codec=CODEC,
        start=found.start,
    )
    replicated_log.recover(log.stored())
    return replicated_log


def start_of_rows(log: ReplicatedLog, folded: Index) -> LogStart:
    """The start of a log after the stored rows: they are confirmed, so not in a stretch (M6 f)."""
    if not folded:
        return EMPTY
    return log.log.start if log.log.start.index == folded else start_at(log, folded)


def copy_rows(stored: Spaces, fresh: Spaces, start: LogStart) -> None:
    """Put the stored rows in place as they are. `start`: see `start_of_rows`."""
    if not stored.folded:
        return
    view = stored.view()
    try:
        rows = fresh.importing(SnapshotHead(start=start, sums=view.sums))
        try:
            for chunk in chunks(view):
                rows.take_chunk(chunk.encode())
            rows.finish()
        finally:
            rows.close()
    finally:
        view.close()
    fresh.install(rows)


class _Cursor:
    """Entries read one range after the other."""

    def __init__(self, entries: Iterator[Entry]) -> None:
        self._entries = entries

    def entries(self, first: Index, last: Index) -> list[Entry]:
        """The next ones."""
        found = [next(self._entries) for _ in range(last - first + 1)]
        assert not found or (found[0].index, found[-1].index) == (first, last)
        return found


_DECIDING: Final = frozenset(
    {int(EntryKind.ROLLBACK), int(EntryKind.PROMOTE), int(EntryKind.DEMOTE)}
)
