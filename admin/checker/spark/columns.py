"""A slice of one log as numpy columns, in order: what the vectorised invariants look at."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from admin.checker.spark.arrays import NOBODY, Flags, Numbers, Reals, known, numbers, reals, words
from admin.evidence.rows import kind_number
from qsync.record import EntryKind

Whose = tuple[str, int, int]
"""Run, node, generation."""

TXN, CONFIRM, ROLLBACK, PROMOTE = (
    int(EntryKind.TXN),
    int(EntryKind.CONFIRM),
    int(EntryKind.ROLLBACK),
    int(EntryKind.PROMOTE),
)


class Body(NamedTuple):
    """What the checksum covers beside the place: when, and CRC and length of the body."""

    time: Reals
    crc: Numbers
    length: Numbers
    known: Flags


class ReferenceColumns(NamedTuple):
    """Which entry a control entry names."""

    owner: Numbers
    lsn: Numbers
    known: Flags


class RequestColumns(NamedTuple):
    """Who asked for an entry: a place in `names`, or NOBODY, and the number of the request."""

    session: Numbers
    seq: Numbers
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Some entries of a log, by index; equal ones by checksum."""

    whose: Whose
    index: Numbers
    term: Numbers
    kind: Numbers
    origin: Numbers
    lsn: Numbers
    flags: Numbers
    crc: Numbers
    body: Body
    ref: ReferenceColumns
    request: RequestColumns

    def __len__(self) -> int:
        return len(self.index)


def slices(run_id: str, tables: Sequence[pa.Table]) -> list[Slice]:
    """A slice for each log that has entries in them."""
    logs: dict[tuple[int, int], list[pa.Table]] = defaultdict(list)
    for table in tables:
        for log, part in _by_log(table):
            logs[log].append(part)
    return [_slice((run_id, *log), parts) for log, parts in sorted(logs.items())]


def _by_log(table: pa.Table) -> Iterator[tuple[tuple[int, int], pa.Table]]:
    node, generation = numbers(table, "node"), numbers(table, "generation")
    if (node == node[0]).all() and (generation == generation[0]).all():
        yield (int(node[0]), int(generation[0])), table
        return
    for one, other in sorted(set(zip(node.tolist(), generation.tolist(), strict=True))):
        yield (one, other), table.filter(pa.array((node == one) & (generation == other)))


def _slice(whose: Whose, parts: list[pa.Table]) -> Slice:
    table = pa.concat_tables(parts).unify_dictionaries().combine_chunks()
    index, crc = numbers(table, "index"), numbers(table, "crc")
    if (np.diff(index) <= 0).any():
        table = table.take(pa.array(np.lexsort((crc, index))))
        index, crc = numbers(table, "index"), numbers(table, "crc")
    session, names = words(table, "session")
    kind, kinds = words(table, "kind")
    sealed = [known(table, name) for name in ("time", "body_crc", "body_len")]
    return Slice(
        whose=whose,
        index=index,
        term=numbers(table, "term"),
        kind=np.array([kind_number(each) for each in kinds], dtype=np.int64)[kind],
        origin=numbers(table, "origin"),
        lsn=numbers(table, "lsn"),
        flags=numbers(table, "flags"),
        crc=crc,
        body=Body(
            reals(table, "time"),
            numbers(table, "body_crc"),
            numbers(table, "body_len"),
            np.logical_and.reduce(sealed),
        ),
        ref=ReferenceColumns(
            numbers(table, "ref_owner"),
            numbers(table, "ref_lsn"),
            known(table, "ref_owner") & known(table, "ref_lsn"),
        ),
        request=RequestColumns(
            np.where(known(table, "seq"), session, NOBODY), numbers(table, "seq"), tuple(names)
        ),
    )
