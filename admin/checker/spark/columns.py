"""Slices of logs, the input of kernels, from Arrow columns."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from admin.checker.kernels.arrays import NOBODY
from admin.checker.kernels.logs.slices import Body, ReferenceColumns, RequestColumns, Slice, Whose
from admin.checker.spark.arrays import known, numbers, reals, words
from admin.evidence.rows import kind_number


def slices(run_id: str, tables: Sequence[pa.Table]) -> list[Slice]:
    """One slice for each log that has entries in them."""
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
