"""Rows that prove a breach: a kernel names entries of logs, and who runs it looks them up.

A kernel that is fed with slices no longer has an entry that it saw in an earlier one. So it says
only which it was; whoever has the log puts the whole row in its place.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from admin.checker.exhibit import EvidenceRow
from admin.checker.rules.rule import Breach, RuleFinding
from admin.checker.verdict import KEPT_MAX

WAL = "wal"
PROVEN_MAX = KEPT_MAX
"""So many breaches of an invariant are given whole rows."""

KEY_COLUMNS = 3

EntryPlace = tuple[int, int, int]
"""Node, generation, index."""
LookUp = Callable[[set[EntryPlace]], Mapping[EntryPlace, list[EvidenceRow]]]
"""All entries at these places, in the order of their logs."""


def entry(node: int, generation: int, index: int) -> EvidenceRow:
    """An entry of a log by its name alone."""
    return EvidenceRow(WAL, {"node": node, "generation": generation, "index": index})


def complete(findings: Iterable[RuleFinding], look_up: LookUp) -> None:
    """Put whole rows in the place of entries of which not every column is known."""
    known = list(findings)
    wanted = {place for each in known for one in each.breaches[:PROVEN_MAX] for place in _open(one)}
    rows = look_up(wanted) if wanted else {}
    for each in known if rows else ():
        each.breaches[:PROVEN_MAX] = [
            replace(one, witness=tuple(_whole(one, rows))) for one in each.breaches[:PROVEN_MAX]
        ]


def _open(breach: Breach) -> list[EntryPlace]:
    return [_place(row) for row in breach.witness if _is_open(row)]


def _whole(breach: Breach, rows: Mapping[EntryPlace, list[EvidenceRow]]) -> Iterator[EvidenceRow]:
    """Where an index is in a log twice, and named twice, both; else the latter one."""
    named = _open(breach)
    seen: dict[EntryPlace, int] = {}
    for row in breach.witness:
        found = rows.get(_place(row)) if _is_open(row) else None
        if not found:
            if len(row.row) > KEY_COLUMNS:
                yield row
            continue
        place = _place(row)
        at = seen.get(place, 0)
        seen[place] = at + 1
        yield found[min(at, len(found) - 1)] if named.count(place) > 1 else found[-1]


def _is_open(row: EvidenceRow) -> bool:
    return row.table == WAL and "lsn" not in row.row


def _place(row: EvidenceRow) -> EntryPlace:
    node, generation, index = (row.row[name] for name in ("node", "generation", "index"))
    assert isinstance(node, int)
    assert isinstance(generation, int)
    assert isinstance(index, int)
    return node, generation, index
