"""The reference log of a simulated cluster when another cluster is made of one survivor."""

from collections.abc import Callable
from random import Random

import pytest

from election.messages import Index
from qsync.core.logindex import LogIndex
from qsync.data import tuples
from qsync.sim.canon import ReferenceLog, ReferenceRecords
from tests.unit.backups import MadeHistory

_PENDING = 2
"""Transactions whose fate the two logs tell differently."""
Ending = Callable[[MadeHistory], None]


def _takes_back(history: MadeHistory) -> None:
    """The leader of their own term rolls them back."""
    history.random = Random(0)
    while not history.stretches:
        history.roll_back()


def _inherits(history: MadeHistory) -> None:
    """The next leader confirms them."""
    history.lead()
    history.write([[2, "t", tuples.encode([1, 1])]], [])
    history.confirm()


def _with_pending(end: Ending) -> tuple[MadeHistory, int]:
    """A history and the index before its pending transactions, equal up to how it ends."""
    history = MadeHistory(Random(7))
    decided = history.last
    for key in range(_PENDING):
        history.write([[2, "t", tuples.encode([key, key])]], [])
    end(history)
    return history, decided


def _log(history: MadeHistory, books: ReferenceRecords) -> LogIndex:
    log = LogIndex()
    for entry in history.log:
        log.push(entry)
        books.enter(1, entry, log)
    return log


@pytest.mark.parametrize(
    ("former", "survivor"), [(_takes_back, _inherits), (_inherits, _takes_back)]
)
def test_a_survivors_log_decides_anew_what_a_rollback_of_either_log_reaches(
    former: Ending, survivor: Ending
) -> None:
    books = ReferenceRecords()
    canon = ReferenceLog(books)
    confirmed, _ = _with_pending(former)
    canon.extend(_log(confirmed, books), confirmed.last)
    left, decided = _with_pending(survivor)
    stands = canon.begin_anew(_log(left, books), left.last)
    ((first, record),) = [*confirmed.stretches, *left.stretches]
    assert decided <= stands == first - 1
    assert canon.last == left.last
    assert canon.terms[1:] == [entry.term for entry in left.log]
    gone = range(first, record) if left.stretches else range(0)
    fates = [index for index in range(1, canon.last + 1) if canon.rolled_back[index]]
    assert fates == list(gone)


def test_what_a_survivor_lacks_is_gone_and_what_it_has_more_is_confirmed() -> None:
    books = ReferenceRecords()
    canon = ReferenceLog(books)
    history, decided = _with_pending(_inherits)
    log = _log(history, books)
    canon.extend(log, history.last)
    assert canon.begin_anew(log, decided) == decided
    assert canon.last == decided
    assert canon.begin_anew(log, history.last) == decided
    assert canon.last == history.last
    assert canon.shows(history.last, int(log.term_at(Index(history.last))))


def test_an_entry_in_a_stretch_is_moved_before_it() -> None:
    books = ReferenceRecords()
    canon = ReferenceLog(books)
    history, _ = _with_pending(_takes_back)
    canon.extend(_log(history, books), history.last)
    ((first, record),) = history.stretches
    wanted = range(first, record + 1)
    assert [canon.out_of_stretch(index) for index in wanted] == [
        *[first - 1] * (record - first),
        record,
    ]
