"""Folding: the confirmed part of the overlay becomes rows of the store, a slice at a time."""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from election.messages import Index
from qsync.data import sessions
from qsync.data.request import LoggedTransaction
from qsync.data.sessions import Sessions, Table
from qsync.errors import Damaged

T = TypeVar("T")

TXNS_PER_ROW_MAX = 16
"""A slice that rewrites few keys often ends after so many transactions per row it may have."""
STEP = 500
"""Rows and transactions, keys, or outcomes of sessions that are looked at in one go: 0.5 ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """The rows that the store writes in one transaction, with the folded index after it."""

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
    folded, rows, left = upto, 0, STEP
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
        for key, value in txn.writes:
            last[key] = value  # noqa: PERF403 - there is mostly one: `update` takes twice as long
        rows += len(txn.writes)
        taken.append(txn)
        left -= 1 + len(txn.writes)
        if left <= 0:
            left = STEP
            yield
    table = yield from known.planning(taken, rolled, step=STEP)
    yield
    keys = yield from _in_order(last)
    puts, deletes = yield from _of_sessions(table)
    yield from _of_keys(keys, last, puts, deletes)
    return Fold(
        folded=Index(folded),
        puts=puts,
        deletes=deletes,
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
    yield
    return runs


def _of_sessions(
    table: Table,
) -> Generator[None, None, tuple[list[tuple[bytes, bytes]], list[bytes]]]:
    """Rows of `_session`, to put and to delete. Every outcome is written, so those are counted."""
    puts: list[tuple[bytes, bytes]] = []
    deletes: list[bytes] = []
    left = STEP
    for name in sorted(table):
        session = table[name]
        key, row = sessions.write(name, session)
        if row is None:
            deletes.append(key)
        else:
            puts.append((key, row))
        left -= 1 if session is None else 1 + len(session.outcomes)
        if left <= 0:
            left = STEP
            yield
    return puts, deletes


def _of_keys(
    keys: list[bytes],
    last: Mapping[bytes, bytes | None],
    puts: list[tuple[bytes, bytes]],
    deletes: list[bytes],
) -> Generator[None, None, None]:
    """Add the last value of every key."""
    for at in range(0, len(keys), STEP):
        for key in keys[at : at + STEP]:
            value = last[key]
            if value is None:
                deletes.append(key)
            else:
                puts.append((key, value))
        yield
