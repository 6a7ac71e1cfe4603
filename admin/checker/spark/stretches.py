"""Where everything of a log is, as stretches in which index and lsn grow together: few of them."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple


class LogStretch(NamedTuple):
    """Entries `first..last` of one term and origin; the first of them has this lsn."""

    first: int
    last: int
    origin: int
    lsn: int
    term: int


class LogStretches:
    """All stretches of a log, in the order of the log."""

    def __init__(self, segments: Iterable[list[int]]) -> None:
        self.all: list[LogStretch] = []
        for each in map(LogStretch._make, segments):
            if self.all and _goes_on(self.all[-1], each):
                self.all[-1] = self.all[-1]._replace(last=each.last)
            else:
                self.all.append(each)
        self._firsts = [each.first for each in self.all]
        self._of: dict[int, list[LogStretch]] = defaultdict(list)
        for each in self.all:
            self._of[each.origin].append(each)

    def term(self, index: int) -> int | None:
        """Of the entry at an index; None if there is none."""
        at = bisect_right(self._firsts, index) - 1
        return self.all[at].term if at >= 0 and index <= self.all[at].last else None

    def named(self, owner: int, lsn: int, before: int) -> int | None:
        """The index of the latest entry of that name before a place."""
        for each in reversed(self._of.get(owner, ())):
            index = each.first + lsn - each.lsn
            if each.first <= index <= each.last and index < before:
                return index
        return None


def _goes_on(before: LogStretch, each: LogStretch) -> bool:
    follows = (each.first, each.origin, each.term) == (before.last + 1, before.origin, before.term)
    return follows and each.lsn == before.lsn + each.first - before.first
