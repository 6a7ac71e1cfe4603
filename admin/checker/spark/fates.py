"""The fates of a log from summaries of its slices: which entries are rolled back, by which record.

The queue always begins with an entry that waits for a quorum. It is everything of clients from the
first such entry above the highest index confirmed so far, without what was rolled back.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from admin.checker.kernels.logs.slices import CONFIRM, ROLLBACK
from admin.checker.spark.summary import ASKED, CONTROL, WAITS, Summary


class EntryRun(NamedTuple):
    """Entries `first..last` of one sort and term."""

    first: int
    last: int
    bits: int
    term: int


class RolledBackEntries(NamedTuple):
    """Entries that the record at `by` rolled back."""

    first: int
    last: int
    bits: int
    by: int


class LimboRecord(NamedTuple):
    """A CONFIRM or ROLLBACK, what it names, and how far was confirmed before it in its slice."""

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs
    term: int
    kind: int
    named: int
    before: int


class Replay:
    """One log, slice by slice."""

    def __init__(self, slices: list[Summary]) -> None:
        self.gone: list[RolledBackEntries] = []
        self._runs = [EntryRun._make(each) for found in slices for each in found.runs]
        self._firsts = [each.first for each in self._runs]
        self._reach: list[tuple[int, int]] = [(0, 0)]

    def slice(self, found: Summary, records: list[LimboRecord]) -> None:
        """The next one, with those of its records that the summary tells, their names resolved."""
        for each in records:
            if each.kind == CONFIRM:
                self._confirm(each.index, each.named)
            elif each.kind == ROLLBACK:
                self._roll_back(each, max(self._reached(each.index), each.before))
        self._confirm(int(found.tail[0]), found.confirmed)

    def rolled_back(self, upto: int) -> Iterator[RolledBackEntries]:
        """By records up to an index."""
        for each in self.gone:
            if each.by <= upto:
                yield each

    def _confirm(self, record: int, named: int) -> None:
        self._reach.append((record, max(named, self._reach[-1][1])))

    def _reached(self, index: int) -> int:
        """The highest index that was confirmed before a place, but for what its slice knows."""
        at = bisect_right(self._reach, index - 1, key=lambda each: each[0]) - 1
        return self._reach[at][1]

    def _roll_back(self, record: LimboRecord, base: int) -> None:
        queued = list(self._pending(base, record.index))
        head = next((each.first for each in queued if each.bits & WAITS), None)
        if head is None:
            return
        floor = max(head, record.named)
        cut = [each._replace(first=max(each.first, floor)) for each in queued if each.last >= floor]
        self.gone += [
            RolledBackEntries(each.first, each.last, each.bits, record.index) for each in cut
        ]

    def _pending(self, above: int, below: int) -> Iterator[EntryRun]:
        """Entries of clients between two places that were not rolled back before the second."""
        at = max(bisect_right(self._firsts, above) - 1, 0)
        for each in self._runs[at:]:
            if each.first >= below:
                break
            inside = each._replace(first=max(each.first, above + 1), last=min(each.last, below - 1))
            if not each.bits & CONTROL:
                yield from self._without_gone(inside, below)

    def _without_gone(self, run: EntryRun, below: int) -> Iterator[EntryRun]:
        left = [run] if run.first <= run.last else []
        for gone in self.gone:
            if gone.by < below:
                left = [part for each in left for part in _minus(each, gone)]
        yield from left


def numbered_requests(gone: RolledBackEntries) -> int:
    """How many numbered requests went with it."""
    return gone.last - gone.first + 1 if gone.bits & ASKED else 0


def _minus(run: EntryRun, gone: RolledBackEntries) -> Iterator[EntryRun]:
    if gone.first > run.first:
        yield run._replace(last=min(run.last, gone.first - 1))
    if gone.last < run.last:
        yield run._replace(first=max(run.first, gone.last + 1))
