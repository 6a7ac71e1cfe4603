"""A change feed is in order, has every change once, and no rolled-back change."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from admin.checker.exhibit import EvidenceRow
from admin.checker.kernels import proofs
from admin.checker.kernels.arrays import Flags, Numbers
from admin.checker.kernels.columns import Whose
from admin.checker.kernels.kernel import PartKernel
from admin.checker.kernels.logs.outlines import LogOutline
from admin.checker.kernels.tables import ColumnTable, among
from admin.checker.rules.rule import Breach, RuleFinding

FEED = "feed-complete"
NO_LOG = "no complete log has a confirmed entry"
USER_SPACE_MIN = 512
"""A feed may omit changes of lower space ids."""
SPAN = 1 << 20
"""How many log entries are examined together."""
ANSWERS = ("reader", "number", "after", "upto")
"""Columns of feeds that order the answers."""
PLACES = (*ANSWERS, "places")
"""Columns with the delivered entries."""
ENTRIES = ("node", "generation", "index", "term", "kind", "space")
"""Columns of logs that are read."""
Place = tuple[int, int]
"""Index and term of an entry."""
Before = Callable[[int, int], int | None]
"""The number of the reader's previous answer."""


@dataclass(frozen=True, slots=True)
class LongestLog:
    """The first of the longest confirmed logs of a run, and its rolled-back entries."""

    whose: Whose
    upto: int
    gone: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ConfirmedTransactions:
    """Confirmed transactions of a log; `due`: the indexes that every feed must have."""

    index: Numbers
    term: Numbers
    due: Numbers

    @classmethod
    def of(
        cls, log: LongestLog, tables: Iterable[ColumnTable], first: int, last: int
    ) -> "ConfirmedTransactions":
        """The transactions in a range of indexes, from the full tables."""
        none = np.empty(0, dtype=np.int64)
        found: list[tuple[Numbers, Numbers, Flags]] = [(none, none, none.astype(np.bool_))]
        for table in tables:
            index, term = table.numbers("index"), table.numbers("term")
            kept = (table.numbers("node") == log.whose[0]) & among(table, "kind", ("TXN",))
            kept &= table.numbers("generation") == log.whose[1]
            kept &= (index >= first) & (index <= min(last, log.upto))
            for begin, end in log.gone:
                kept &= (index < begin) | (index > end)
            due = table.numbers("space") >= USER_SPACE_MIN
            found.append((index[kept], term[kept], due[kept]))
        index, term, due = (np.concatenate(each) for each in zip(*found, strict=True))
        order = np.argsort(index, kind="stable")
        index, term, due = index[order], term[order], due[order]
        return cls(index, term, index[due])

    def wrong(self, places: Sequence[Place], after: int, upto: int) -> tuple[int, str]:
        """The first index at which an answer differs from the log, and how it differs."""
        listed = np.array(places, dtype=np.int64).reshape(-1, 2)
        if not self._is_odd(listed[:, 0], listed[:, 1], after, upto):
            return 0, ""
        given, before = set(zip(self.index.tolist(), self.term.tolist(), strict=True)), after
        for index, term in places:
            if not before < index <= upto:
                return index, f"was given {index}, which is not between {before} and {upto}"
            before = index
            if (index, term) not in given:
                return index, f"was given {index} of term {term}, which is no confirmed transaction"
        missed = int(np.setdiff1d(self._due_in(after, upto), listed[:, 0])[0])
        return missed, f"was not given {missed}"

    def _is_odd(self, index: Numbers, term: Numbers, after: int, upto: int) -> bool:
        if len(index) and not (
            after < index[0] and index[-1] <= upto and (np.diff(index) > 0).all()
        ):
            return True
        known = np.stack((self.index, self.term), axis=1)
        first = np.searchsorted(self.index, index)
        end = np.searchsorted(self.index, index, side="right")
        there = np.zeros(len(index), dtype=np.bool_)
        for ahead in range(int((end - first).max(initial=0))):
            place = np.minimum(first + ahead, len(known) - 1)
            there |= (first + ahead < end) & (known[place, 1] == term)
        return bool(not there.all() or np.setdiff1d(self._due_in(after, upto), index).size)

    def _due_in(self, after: int, upto: int) -> Numbers:
        """The indexes above the first one, up to the last."""
        first, end = np.searchsorted(self.due, (after + 1, upto + 1)).tolist()
        return self.due[first:end]


def longest(logs: Iterable[LogOutline]) -> LongestLog | None:
    """None if no whole log has anything confirmed."""
    whole = [log for log in logs if log.first == 1 and log.confirmed > 0]
    if not whole:
        return None
    log = min(whole, key=lambda log: (-log.confirmed, log.whose))
    return LongestLog(log.whose, log.confirmed, tuple((e.first, e.last) for e in log.rolled))


def order(tables: Sequence[ColumnTable]) -> RuleFinding:
    """All answers: each continues where the reader's previous answer ended."""
    reader, number, after, upto = _in_order(tables, ANSWERS)
    found = RuleFinding(facts=len(reader))
    broken = (np.diff(reader) == 0) & (upto[:-1] != after[1:])
    for at in (np.flatnonzero(broken) + 1).tolist():
        who, ended, begins = int(reader[at]), int(upto[at - 1]), int(after[at])
        message = f"reader {who} of the feed was given up to {ended}, and goes on after {begins}"
        rows = [proofs.answer(who, int(number[each])) for each in (at - 1, at)]
        found.broken(FEED, message, rows, index=min(ended, begins) + 1)
    return found


def before(tables: Sequence[ColumnTable]) -> Before:
    """Check the order of all answers."""
    reader, number = (each.tolist() for each in _in_order(tables, ANSWERS[:2]))
    pairs = list(zip(reader, number, strict=True))
    known = {
        pair: former[1] if former[0] == pair[0] else None
        for former, pair in zip([(None, None), *pairs], pairs, strict=False)
    }
    return lambda who, which: known.get((who, which))


def wrong(
    answers: ColumnTable,
    log: LongestLog,
    given: Callable[[int, int], ConfirmedTransactions],
    preceding: Before,
    span: int = SPAN,
) -> RuleFinding:
    """Some answers: each has every log transaction between its ends once, and nothing else.

    `given`: the transactions of the log in a range of indexes; `preceding`: see `before`.
    """
    found = RuleFinding()
    after, upto = answers.numbers("after"), answers.numbers("upto")
    inside = np.flatnonzero(upto <= log.upto)
    inside = inside[np.argsort(after[inside], kind="stable")]
    while len(inside):
        # All that end within a span; the first one, even if it ends later.
        ends = np.maximum.accumulate(upto[inside])
        some = max(int(np.searchsorted(ends, int(after[inside[0]]) + span, side="right")), 1)
        here, inside = inside[:some], inside[some:]
        known = given(int(after[here[0]]) + 1, int(ends[some - 1]))
        for at, cell in zip(here.tolist(), answers.cells("places", here), strict=True):
            begin, end = int(after[at]), int(upto[at])
            index, why = known.wrong(_places(cell), begin, end)
            if why:
                who, number = (int(answers.numbers(name)[at]) for name in ANSWERS[:2])
                rows = _answers(who, number, preceding)
                copies = len(np.unique(given(index, index).term))
                rows += [proofs.entry(*log.whose, index)] * copies
                found.broken(FEED, f"reader {who} of the feed {why}", rows, index=index)
    return found


def joined(finding: RuleFinding, log: LongestLog | None) -> RuleFinding:
    """All answers of a run: only the first wrong answer about an entry is reported."""
    if log is None:
        return RuleFinding(lacks=NO_LOG)
    first: dict[int, Breach] = {}
    for each in sorted(finding.breaches, key=_number):
        first.setdefault(each.index, each)
    return RuleFinding(facts=finding.facts, breaches=list(first.values()))


def _number(breach: Breach) -> int:
    """Return the number of the last row shown for a wrong answer."""
    numbers = [row.row["number"] for row in breach.witness if row.table == proofs.FEEDS]
    assert isinstance(numbers[-1], int)
    return numbers[-1]


def _answers(who: int, number: int, preceding: Before) -> list[EvidenceRow]:
    former = preceding(who, number)
    return [proofs.answer(who, each) for each in (former, number) if each is not None]


def _in_order(tables: Sequence[ColumnTable], names: Sequence[str]) -> list[Numbers]:
    """Sort by reader and number, the first two columns."""
    none = np.empty(0, dtype=np.int64)
    columns = [np.concatenate([none, *(each.numbers(n) for each in tables)]) for n in names]
    at = np.lexsort((columns[1], columns[0]))
    return [each[at] for each in columns]


def _places(cell: object) -> list[Place]:
    return [(int(one), int(two)) for one, two in cell] if isinstance(cell, list) else []


KERNELS = (
    PartKernel(
        FEED,
        "feeds have every change once, in order",
        needs=("wal", "feeds"),
        idle="no feed was read, or no complete log has a confirmed entry",
    ),
)
