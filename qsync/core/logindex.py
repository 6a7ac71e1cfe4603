"""Where everything is in the one log: terms, origins, lsns, checksums and sizes by index."""

from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Final

from election.messages import Index, Position, Replica, Term
from qsync.record import CHAIN_SEED, Crc, Entry, Lsn

WINDOW_ENTRIES: Final = 65_536
"""So many entries before the newest decided one are known exactly: 12 bytes each."""
STEP_ENTRIES: Final = 256
"""Of those before them, one of so many: a point, 20 bytes."""
POINT_BYTES: Final = 64 << 10
"""Or one of so many bytes of log, if that is sooner."""


@dataclass(frozen=True, slots=True)
class TermRun:
    """All entries of one term: they have one origin and consecutive lsns."""

    first: Index
    term: Term
    origin: Replica
    first_lsn: Lsn


class LogIndex:
    """One run a term, and of each entry its checksum and size: the core compares logs without disk.

    Of entries that were decided long ago only some are known so exactly, the *points*. That is
    enough: a leader names a point as the entry before a batch, and a follower that is asked about
    an entry between two points goes by index and term, as in Raft (§5.3, log matching). It appends
    nothing by that alone: what continues its log follows its last entry, which it knows exactly,
    and the checksums in between are a chain. Points are at the same places in equal logs.
    """

    def __init__(self, *, window: int = WINDOW_ENTRIES, step: int = STEP_ENTRIES) -> None:
        self.window, self.step = window, step
        self._runs: list[TermRun] = []
        self._firsts: list[int] = []
        self._points = array("Q", [0])
        self._point_crcs = array("I", [CHAIN_SEED])
        self._point_ends = array("Q", [0])
        self._base = 0  # the last point; what follows it is known exactly
        self._crcs = array("I")
        self._ends = array("Q")  # size in bytes of everything up to and including an entry
        self._bytes = 0
        self.last = Index(0)

    def __len__(self) -> int:
        """How many entries are known exactly."""
        return len(self._points) + len(self._crcs)

    def __repr__(self) -> str:
        runs = " ".join(f"{run.first}:t{run.term}/o{run.origin}" for run in self._runs)
        return f"log last={self.last} [{runs}]"

    @property
    def position(self) -> Position:
        """Term and index of the last entry."""
        return Position(self._runs[-1].term if self._runs else Term(0), self.last)

    def push(self, entry: Entry) -> None:
        """Take note of the next entry."""
        index = entry.index
        assert index == self.last + 1
        run = self._runs[-1] if self._runs else None
        if run is None or run.term != entry.term:
            self._begin(entry.index, entry.term, entry.origin, entry.lsn)
        else:
            assert entry.lsn - run.first_lsn == index - run.first
        self._crcs.append(entry.crc)
        self._bytes += len(entry.raw)
        self._ends.append(self._bytes)
        self.last = index

    def append(self, index: int, term: int, origin: int, lsn: int, *, crc: int, size: int) -> None:
        """Take note of the next entry by its header. `size` is header and body, in bytes."""
        assert index == self.last + 1
        if not self._runs or self._runs[-1].term != term:
            self._begin(index, term, origin, lsn)
        self._crcs.append(crc)
        self._bytes += size
        self._ends.append(self._bytes)
        self.last = Index(index)

    def _begin(self, index: int, term: int, origin: int, lsn: int) -> None:
        # One leader a term (Raft §5.2), so a term is one run, of one origin.
        assert not self._runs or term > self._runs[-1].term
        assert origin >= 1
        assert lsn >= 1
        self._runs.append(TermRun(Index(index), Term(term), Replica(origin), Lsn(lsn)))
        self._firsts.append(index)

    def next_lsn(self, term: int, origin: Replica) -> int:
        """The lsn of an entry that `origin` would append now, in `term`."""
        if self._runs:
            run = self._runs[-1]
            if run.term == term:
                return run.first_lsn + self.last + 1 - run.first
        return self.lsn_of(origin) + 1

    def cut(self, above: Index) -> None:
        """Forget every entry above."""
        assert above <= self.last
        while self._runs and self._runs[-1].first > above:
            self._runs.pop()
            self._firsts.pop()
        assert above >= self._base, (above, self._base)
        del self._crcs[above - self._base :]
        del self._ends[above - self._base :]
        self._bytes = self._ends[-1] if self._ends else self._point_ends[-1]
        self.last = above

    def trim(self, decided: Index) -> None:
        """Up to here nothing is ever cut: keep points of what is older than the window."""
        if decided - self.window - self._base < max(self.step, self.window // 4):
            return  # all that is dropped moves what stays: not for every entry
        upto, base = decided - self.window, self._base
        at, ends = base, self._ends
        while True:
            before = ends[at - base - 1] if at > base else self._point_ends[-1]
            room = bisect_right(ends, before + POINT_BYTES, at - base, len(ends)) + base
            following = max(at + 1, min(at + self.step, room))
            if following > upto:
                break
            at = following
            self._points.append(at)
            self._point_crcs.append(self._crcs[at - base - 1])
            self._point_ends.append(ends[at - base - 1])
        del self._crcs[: at - base]
        del self._ends[: at - base]
        self._base = at

    def run_at(self, index: int) -> TermRun:
        """The run that holds `index`."""
        assert 1 <= index <= self.last
        return self._runs[bisect_right(self._firsts, index) - 1]

    def term_at(self, index: int) -> Term:
        """0 before the first entry."""
        if index == 0:
            return Term(0)
        last = self._runs[-1]
        if index >= last.first:
            assert index <= self.last
            return last.term
        return self.run_at(index).term

    def knows(self, index: int) -> bool:
        """Is the checksum of this entry known here?"""
        if index > self._base:
            return index <= self.last
        return self._points[self._point(index)] == index

    def known_below(self, index: Index) -> Index:
        """The newest entry at or below whose checksum is known; 0 is before the first."""
        assert index <= self.last
        return index if index > self._base else Index(self._points[self._point(index)])

    def agrees(self, index: int, term: int, crc: int) -> bool:
        """Is that entry in this log, as far as it is known?"""
        if index > self.last or self.term_at(index) != term:
            return False
        return not self.knows(index) or self.crc_at(index) == crc

    def _point(self, index: int) -> int:
        """Which point is the newest at or below."""
        return bisect_right(self._points, index) - 1

    def crc_at(self, index: int) -> Crc:
        """Chain checksum, of an entry that is known: if equal, the prefixes are equal."""
        if index > self._base:
            return Crc(self._crcs[index - self._base - 1])
        at = self._point(index)
        assert self._points[at] == index, (index, self._base)
        return Crc(self._point_crcs[at])

    def lsn_at(self, index: int) -> Lsn:
        """The lsn of the entry within its origin."""
        run = self.run_at(index)
        return Lsn(run.first_lsn + index - run.first)

    def lsn_of(self, origin: int) -> Lsn:
        """The last lsn of an origin, 0 if it has no entries: one component of the vclock."""
        runs = self._runs
        for at in range(len(runs) - 1, -1, -1):
            if runs[at].origin == origin:
                last = runs[at + 1].first - 1 if at + 1 < len(runs) else self.last
                return Lsn(runs[at].first_lsn + last - runs[at].first)
        return Lsn(0)

    def index_of(self, origin: int, lsn: int) -> Index:
        """The index of `(origin, lsn)`; 0 if this log does not hold it."""
        runs = self._runs
        stop = self.last + 1
        for run in reversed(runs):
            if run.origin == origin and run.first_lsn <= lsn < run.first_lsn + stop - run.first:
                return Index(run.first + lsn - run.first_lsn)
            stop = run.first
        return Index(0)

    def terms(self) -> list[tuple[int, Term]]:
        """How many entries there are of each term, in order."""
        stops = [*self._firsts[1:], self.last + 1]
        return [(stop - run.first, run.term) for run, stop in zip(self._runs, stops, strict=False)]

    def vclock(self) -> dict[Replica, Lsn]:
        """Origin to its last lsn."""
        origins = sorted({run.origin for run in self._runs})
        return {origin: self.lsn_of(origin) for origin in origins}

    def bytes_between(self, after: int, upto: int) -> int:
        """Size of the entries `after + 1 .. upto`; of old ones at least that."""
        if upto <= after:
            return 0
        return self._end_above(upto) - self._end_below(after)

    def _end_below(self, index: int) -> int:
        """Size of everything up to the newest entry at or below that is known."""
        if index > self._base:
            return self._ends[index - self._base - 1]
        return self._point_ends[self._point(index)]

    def _end_above(self, index: int) -> int:
        """Size of everything up to the oldest entry at or above that is known."""
        if index > self._base:
            return self._ends[index - self._base - 1]
        return self._point_ends[bisect_left(self._points, index)]

    def fit(self, first: int, *, entries_max: int, bytes_max: int) -> Index:
        """The last index of a batch from `first` that keeps both limits; one entry always fits."""
        assert first <= self.last
        end = self._end_below(first - 1) + bytes_max
        upto = self._points[bisect_right(self._point_ends, end) - 1]
        if upto == self._base:
            upto += bisect_right(self._ends, end)
        return Index(max(first, min(upto, first + entries_max - 1)))

    def last_of_term_at_most(self, term: int) -> Index:
        """The last index whose term is at or below `term`; 0 if none."""
        for at in range(len(self._runs) - 1, -1, -1):
            if self._runs[at].term <= term:
                nxt = self._runs[at + 1].first - 1 if at + 1 < len(self._runs) else self.last
                return Index(nxt)
        return Index(0)

    def first_of_run(self, index: int) -> Index:
        """The first index of the term that `index` belongs to."""
        return Index(self._firsts[max(0, bisect_left(self._firsts, index + 1) - 1)])
