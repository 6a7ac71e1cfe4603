"""Folding: the confirmed part of the overlay becomes rows of the store, a slice at a time."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from election.messages import Index
from qsync.data import sessions
from qsync.data.request import LoggedTransaction
from qsync.data.sessions import Sessions, Table
from qsync.errors import Damaged

TXNS_PER_ROW_MAX = 16
"""A slice that rewrites few keys often ends after so many transactions per row it may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """What the store writes in one transaction, with the index it then stands at."""

    folded: Index
    puts: list[tuple[bytes, bytes]]
    deletes: list[bytes]
    txns: int
    keys: list[bytes]
    """Keys of the overlay among them; the rest are rows of `_session`."""
    sessions: Table


def plan(
    txns: Iterable[LoggedTransaction],
    *,
    upto: int,
    rows_max: int,
    known: Sessions,
    rolled: Mapping[int, object],
) -> Fold:
    """The next slice: whole transactions from the oldest on, of each key the last value.

    Raises Damaged when a confirmed transaction does not follow from what is before it.
    """
    last: dict[bytes, bytes | None] = {}
    taken: list[LoggedTransaction] = []
    folded = upto
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
        taken.append(txn)
    keys = list(last)
    table = known.plan([txn for txn in taken if txn.session or txn.changes], rolled)
    last.update(sessions.write(name, session) for name, session in table.items())
    return Fold(
        folded=Index(folded),
        puts=[(key, value) for key, value in last.items() if value is not None],
        deletes=[key for key, value in last.items() if value is None],
        txns=len(taken),
        keys=keys,
        sessions=table,
    )
