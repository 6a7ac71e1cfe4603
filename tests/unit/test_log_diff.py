"""Two logs compared, and the end of one that grows and is cut."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import pytest

from admin.cluster import log_diff, log_tail
from admin.cluster.log_diff import LogDifference
from admin.cluster.log_tail import TailCut
from qsync import record
from qsync.core.logstart import EMPTY, LogStart
from qsync.errors import Compacted
from qsync.record import Entry
from tests.unit.logs import some, start_behind


@dataclass
class KeptLog:
    """A log in memory, and how many entries it was asked for."""

    kept: list[Entry]
    begins: LogStart = EMPTY
    read: int = field(default=0)

    def batches(self, first: int, last: int | None) -> Iterator[bytes]:
        end = self.last() if last is None else last
        found = [each for each in self.kept if first <= each.index <= end]
        self.read += len(found)
        if found:
            yield record.encode(found)

    def damage(self) -> str | None:
        return None

    def start(self) -> LogStart:
        return self.begins

    def last(self) -> int:
        return self.kept[-1].index if self.kept else int(self.begins.index)


def trimmed(entries: Sequence[Entry], upto: int) -> KeptLog:
    return KeptLog(list(entries[upto:]), start_behind(entries[upto - 1]))


@pytest.mark.parametrize("common", [0, 1, 7, 1000])
@pytest.mark.parametrize(("left", "right"), [(0, 0), (3, 0), (0, 2), (5, 4)])
def test_logs_are_compared_by_the_last_entry_that_both_have(
    common: int, left: int, right: int
) -> None:
    base = some(common)
    after = base[-1] if base else None
    one = KeptLog(base + some(left, after=after, term=2))
    other = KeptLog(base + some(right, after=after, term=3))
    found = log_diff.difference(one, other)
    assert found == LogDifference(common=common, left=common + left, right=common + right)
    assert (found.only_left, found.only_right) == (left, right)
    assert found.same is (left == right == 0)
    assert one.read <= 16  # by halves


def test_a_trimmed_log_is_compared_from_where_it_begins() -> None:
    entries = some(20)
    found = log_diff.difference(trimmed(entries, 8), KeptLog(entries[:15]))
    assert (found.common, found.only_left, found.only_right) == (15, 5, 0)
    assert log_diff.difference(trimmed(entries, 8), KeptLog(entries[:8])).common == 8


@pytest.mark.parametrize("other", [KeptLog(some(20, term=2)), KeptLog(some(5))])
def test_logs_that_part_before_what_both_have_are_not_compared(other: KeptLog) -> None:
    with pytest.raises(Compacted, match="begins at 9"):
        log_diff.difference(trimmed(some(20), 8), other)


def test_the_tail_shows_what_comes_and_what_is_cut() -> None:
    log = KeptLog(some(5))
    shown = log_tail.last_entries(log, 2)
    assert [each.index for each in shown] == [4, 5]
    moments = iter(
        [some(7), some(7)[:6], some(4) + some(3, after=some(4)[-1], term=2), some(4)[:2]]
    )

    def sleep(_: float) -> None:
        log.kept = next(moments)

    events = log_tail.follow(log, shown, sleep=sleep)
    told = [
        each if isinstance(each, TailCut) else (each.term, each.index) for each in islice(events, 8)
    ]
    assert told == [(1, 6), (1, 7), TailCut(6), TailCut(4), (2, 5), (2, 6), (2, 7), TailCut(2)]


def test_the_tail_of_an_empty_log_is_empty() -> None:
    assert log_tail.last_entries(KeptLog([]), 10) == []
