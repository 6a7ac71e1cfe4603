"""The index of the one log: terms, origins, lsns, checksums and sizes."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from election.messages import Index, Position, Replica, Term
from qsync.core.entry_sums import STEP_ENTRIES, WINDOW_ENTRIES, EntrySums
from qsync.core.logstart import EMPTY, LogStart
from qsync.record import CONFIG, HEADER, HEADER_SIZE, SUMMARY, Entry, EntryKind, Header, Lsn

_TXN = int(EntryKind.TXN)


@dataclass(frozen=True, slots=True)
class TermRun:
    """All entries of one term: they have one origin and consecutive lsns."""

    first: Index
    term: Term
    origin: Replica
    first_lsn: Lsn


class LogIndex(EntrySums):
    """One run for each term, and for each entry what `EntrySums` knows."""

    def __init__(
        self, start: LogStart = EMPTY, *, window: int = WINDOW_ENTRIES, step: int = STEP_ENTRIES
    ) -> None:
        super().__init__(window=window, step=step, after=start.index, crc=start.crc)
        self._runs: list[TermRun] = []
        self._firsts: list[int] = []
        self.start = start
        """The entry just before the log. It counts as in it (membership.md M6 d)."""
        if start.index:
            self._begin(start.index, start.term, start.origin, start.lsn)

    def __repr__(self) -> str:
        runs = " ".join(f"{run.first}:t{run.term}/o{run.origin}" for run in self._runs)
        begins = f"after={self.start.index} " if self.start.index else ""
        return f"log {begins}last={self.last} [{runs}]"

    @property
    def position(self) -> Position:
        """Term and index of the last entry."""
        return Position(self._runs[-1].term if self._runs else Term(0), self.last)

    def push(self, entry: Entry) -> None:
        """Add the next entry."""
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

    def extend(self, batch: bytes) -> list[Header]:
        """Add the entries of a stored batch; return the headers that matter for more.

        Those are of entries that are no transactions, and of transactions that change who votes.
        """
        telling: list[Header] = []
        add_crc, add_end, unpack = self._crcs.append, self._ends.append, SUMMARY.unpack_from
        index, term, before = int(self.last), int(self.position.term), self._bytes
        at, end = 0, len(batch)
        while at < end:
            named, its_term, kind, flags, length, crc = unpack(batch, at)
            index += 1
            assert named == index
            if its_term != term or kind != _TXN or flags & CONFIG:
                header: Header = HEADER.unpack_from(batch, at)
                if its_term != term:
                    term = its_term
                    self._begin(index, term, header[2], header[3])
                if kind != _TXN or flags & CONFIG:
                    telling.append(header)
            at += HEADER_SIZE + length
            add_crc(crc)
            add_end(before + at)
        self.last, self._bytes = Index(index), before + at
        return telling

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

    def begin_at(self, start: LogStart) -> None:
        """Begin the log at that entry: forget everything before."""
        assert self.start.index <= start.index <= self.last
        assert self.term_at(start.index) == start.term
        assert not self.knows(start.index) or self.crc_at(start.index) == start.crc
        runs = [run for run in self._runs if run.first > start.index]
        if start.index:
            runs.insert(0, TermRun(start.index, start.term, start.origin, start.lsn))
        self._runs, self._firsts = runs, [run.first for run in runs]
        self._forget_below(start.index, start.crc)
        self.start = start

    def cut(self, above: Index) -> None:
        """Forget every entry above."""
        assert above >= self.start.index
        while self._runs and self._runs[-1].first > above:
            self._runs.pop()
            self._firsts.pop()
        self._forget_above(above)

    def run_at(self, index: int) -> TermRun:
        """The run that holds `index`."""
        assert max(1, self.start.index) <= index <= self.last
        return self._runs[bisect_right(self._firsts, index) - 1]

    def term_at(self, index: int) -> Term:
        """Return the term of an entry; 0 before the first one."""
        if index == 0:
            return Term(0)
        last = self._runs[-1]
        if index >= last.first:
            assert index <= self.last
            return last.term
        return self.run_at(index).term

    def has(self, index: int, term: int) -> bool:
        """Return whether there is an entry of that index and term.

        What is before the log is confirmed. Where its term is not known any more, it is taken to be
        there unless it cannot be.
        """
        if index < self.start.index:
            known = self.start.term_at(index)
            return term <= self.start.term if known is None else term == known
        return index <= self.last and self.term_at(index) == term

    def agrees(self, index: int, term: int, crc: int) -> bool:
        """Return whether that entry is in this log, as far as it is known."""
        return self.has(index, term) and (not self.knows(index) or self.crc_at(index) == crc)

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
        return self.start.lsn_of(origin)

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
        """Return the number of entries of each term, in order; the one before the log counts."""
        stops = [*self._firsts[1:], self.last + 1]
        return [(stop - run.first, run.term) for run, stop in zip(self._runs, stops, strict=False)]

    def terms_upto(self, index: int) -> tuple[tuple[Index, Term], ...]:
        """Return first entry and term of each run up to `index`; the one before the log counts."""
        behind = [run for run in self._runs if self.start.index < run.first <= index]
        start = self.start
        before = start.terms or (((start.index, start.term),) if start.index else ())
        return (*before, *((run.first, run.term) for run in behind))

    def vclock(self) -> dict[Replica, Lsn]:
        """Origin to its last lsn."""
        return dict(self.vclock_at(self.last))

    def vclock_at(self, index: int) -> tuple[tuple[Replica, Lsn], ...]:
        """Origin to its last lsn up to `index`, in order of the origins."""
        found = dict(self.start.vclock)
        for at, run in enumerate(self._runs):
            if run.first > index:
                break
            end = self._runs[at + 1].first - 1 if at + 1 < len(self._runs) else self.last
            found[run.origin] = Lsn(run.first_lsn + min(end, index) - run.first)
        return tuple(sorted(found.items()))

    def last_of_term_at_most(self, term: int) -> Index:
        """The last index whose term is at or below `term`; 0 if none is in the log."""
        for at in range(len(self._runs) - 1, -1, -1):
            if self._runs[at].term <= term:
                nxt = self._runs[at + 1].first - 1 if at + 1 < len(self._runs) else self.last
                return Index(nxt)
        return Index(0)

    def first_of_run(self, index: int) -> Index:
        """The first index of the term that `index` belongs to."""
        return Index(self._firsts[max(0, bisect_left(self._firsts, index + 1) - 1)])
