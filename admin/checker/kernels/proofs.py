"""Rows that prove a breach: a kernel names them, and its runner looks them up.

A kernel that takes a table in parts no longer has the rows of earlier parts. So it only names a
row; the owner of the table replaces the name by the full row.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from admin.checker.exhibit import EvidenceRow
from admin.checker.rules.rule import Breach, RuleFinding
from admin.checker.verdict import KEPT_MAX

WAL, EVENTS, OPS, FEEDS = "wal", "events", "ops", "feeds"
PROVEN_MAX = KEPT_MAX
"""How many breaches of an invariant get full rows."""

NAMES = {WAL: "lsn", EVENTS: "name", OPS: "process", FEEDS: "upto"}
"""By table a column that every full row has, and no row that is only named."""
PLACES = {
    WAL: ("index", "node", "generation"),
    EVENTS: ("number",),
    OPS: ("index",),
    FEEDS: ("number", "reader"),
}
"""By table the columns that name a row, in the order of `RowPlace`."""


class RowPlace(NamedTuple):
    """A row by the columns that name it (see `PLACES`); of a feed `node` is the reader."""

    table: str
    number: int
    node: int = 0
    generation: int = 0


LookUp = Callable[[set[RowPlace]], Mapping[RowPlace, list[EvidenceRow]]]
"""All rows at these places, in order."""


def entry(node: int, generation: int, index: int) -> EvidenceRow:
    """An entry of a log by its name alone."""
    return EvidenceRow(WAL, {"node": node, "generation": generation, "index": index})


def event(number: int) -> EvidenceRow:
    """An event by its number alone."""
    return EvidenceRow(EVENTS, {"number": number})


def line(index: int) -> EvidenceRow:
    """A line of the history by its index alone."""
    return EvidenceRow(OPS, {"index": index})


def answer(reader: int, number: int) -> EvidenceRow:
    """An answer of a change feed, by its number alone."""
    return EvidenceRow(FEEDS, {"reader": reader, "number": number})


def complete(findings: Iterable[RuleFinding], look_up: LookUp) -> None:
    """Replace entries with unknown columns by full rows."""
    known = list(findings)
    wanted = {place for each in known for one in each.breaches[:PROVEN_MAX] for place in _open(one)}
    rows = look_up(wanted) if wanted else {}
    for each in known if rows else ():
        each.breaches[:PROVEN_MAX] = [
            replace(one, witness=tuple(_whole(one, rows))) for one in each.breaches[:PROVEN_MAX]
        ]


def _open(breach: Breach) -> list[RowPlace]:
    return [_place(row) for row in breach.witness if _is_open(row)]


def _whole(breach: Breach, rows: Mapping[RowPlace, list[EvidenceRow]]) -> Iterator[EvidenceRow]:
    """Return the entries; of two with one index both if it is named twice, else the second."""
    named = _open(breach)
    seen: dict[RowPlace, int] = {}
    for row in breach.witness:
        found = rows.get(_place(row)) if _is_open(row) else None
        if not found:
            if not _is_place(row):
                yield row
            continue
        place = _place(row)
        at = seen.get(place, 0)
        seen[place] = at + 1
        yield found[min(at, len(found) - 1)] if named.count(place) > 1 else found[-1]


def _is_open(row: EvidenceRow) -> bool:
    return row.table in NAMES and NAMES[row.table] not in row.row


def _is_place(row: EvidenceRow) -> bool:
    """Return whether the row is only named."""
    return row.row.keys() <= set(PLACES.get(row.table, ()))


def _place(row: EvidenceRow) -> RowPlace:
    cells = [row.row[name] for name in PLACES[row.table]]
    return RowPlace(row.table, *(each for each in cells if isinstance(each, int)))
