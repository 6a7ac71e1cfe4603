"""The newest entries, kept in memory: undecided, unwritten, or still wanted by followers."""

from election.messages import Index
from qsync.record import Entry


class EntryCache:
    """A window on the end of the log. Everything `keep_from` and above stays; older by bytes."""

    def __init__(self, *, base: Index, bytes_max: int) -> None:
        self._base = int(base)
        self._entries: list[Entry] = []
        self._bytes = 0
        self.bytes_max = bytes_max

    @property
    def first(self) -> Index:
        """The oldest index held (one above the last when nothing is)."""
        return Index(self._base + 1)

    def push(self, entry: Entry) -> None:
        """The next entry of the log."""
        assert entry.index == self._base + len(self._entries) + 1
        self._entries.append(entry)
        self._bytes += len(entry.raw)

    def cut(self, above: Index) -> None:
        """Drop everything above."""
        at = max(0, above - self._base)
        self._bytes -= sum(len(entry.raw) for entry in self._entries[at:])
        del self._entries[at:]
        if above < self._base:
            self._base = int(above)

    def slice(self, first: int, last: int) -> list[Entry] | None:
        """Entries `first .. last`; None when the window does not reach back that far."""
        if first <= self._base:
            return None
        return self._entries[first - self._base - 1 : last - self._base]

    def trim(self, keep_from: Index) -> None:
        """Let go of old entries below `keep_from` while the window is over its size."""
        if self._bytes <= self.bytes_max:
            return
        drop, freed = 0, 0
        goal = self._bytes - self.bytes_max // 2
        for entry in self._entries:
            if entry.index >= keep_from or freed >= goal:
                break
            drop += 1
            freed += len(entry.raw)
        del self._entries[:drop]
        self._base += drop
        self._bytes -= freed
