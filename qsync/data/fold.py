"""Folding: the confirmed part of the overlay becomes rows of the store, a slice at a time."""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from election.messages import Index
from qsync.data import sessions
from qsync.data.request import LoggedTransaction, Write
from qsync.data.sessions import Sessions, Table
from qsync.errors import Damaged

T = TypeVar("T")

TXNS_PER_ROW_MAX = 16
"""A slice that rewrites few keys often ends after so many transactions per row it may have."""
STEP = 500
"""Transactions, keys or sessions that are looked at in one go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """What the store writes in one transaction, with the index it then stands at."""

    folded: Index
    puts: list[tuple[bytes, bytes]]
    """Rows of the overlay in key order, after those of `_session`; deletes, too."""
    deletes: list[bytes]
    txns: int
    rows: int
    """Versions of the overlay that this folds."""
    keys: list[bytes]
    """Of the overlay, in order."""
    sessions: Table


def plan(
    txns: Iterable[LoggedTransaction],
    *,
    upto: int,
    rows_max: int,
    known: Sessions,
    rolled: Mapping[int, object],
) -> Generator[None, None, Fold]:
    """The next slice: whole transactions from the oldest on, of each key the last value.

    In steps, between which newer entries may come and go.
    Raises Damaged when a confirmed transaction does not follow from what is before it.
    """
    last: dict[bytes, bytes | None] = {}
    taken: list[LoggedTransaction] = []
    table: Table = {}
    folded, rows, planned = upto, 0, 0
    for txn in txns:
        if txn.index > upto:
            break
        if taken and (
            len(last) + len(txn.writes) > rows_max or len(taken) >= rows_max * TXNS_PER_ROW_MAX
        ):
            folded = taken[-1].index
            break
        if txn.damage:
            raise Damaged(txn.damage)
        last.update(txn.writes)
        rows += len(txn.writes)
        taken.append(txn)
        if len(taken) - planned == STEP:
            known.plan(taken[planned:], rolled, table)
            planned = len(taken)
            yield
    known.plan(taken[planned:], rolled, table)
    table = known.planned(table)
    keys = yield from _in_order(last)
    writes = yield from _of_sessions(table)
    writes += [(key, last[key]) for key in keys]
    return Fold(
        folded=Index(folded),
        puts=[(key, value) for key, value in writes if value is not None],
        deletes=[key for key, value in writes if value is None],
        txns=len(taken),
        rows=rows,
        keys=keys,
        sessions=table,
    )


def at_once(steps: Generator[None, None, T]) -> T:
    """The result of what can also be done in steps."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            found: T = done.value
            return found


def _in_order(keys: Iterable[bytes]) -> Generator[None, None, list[bytes]]:
    """Sorted runs, which the sort at the end has only to merge."""
    runs: list[bytes] = []
    rest = iter(keys)
    while run := sorted(islice(rest, STEP)):
        runs += run
        if len(run) == STEP:
            yield
    runs.sort()
    return runs


def _of_sessions(table: Table) -> Generator[None, None, list[Write]]:
    rows: list[Write] = []
    for name in sorted(table):
        rows.append(sessions.write(name, table[name]))
        if len(rows) % STEP == 0:
            yield
    return rows
