"""Checks a partition of keys: first all registers at once, then each undecided key."""

import itertools
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from admin.checker.facts import FAILURES, NOBODY_READ
from admin.checker.kernels.arrays import Flags, Numbers
from admin.checker.kinds import ObjectKind
from admin.checker.linear import LINEARIZABLE
from admin.checker.operation import Operation
from admin.checker.sessions import dates
from admin.checker.spark.clients.boxes import unboxed
from admin.checker.spark.clients.keys import (
    COLUMNS,
    KeyVerdicts,
    Terms,
    judge_appends,
    judge_key,
    operations_of,
)
from admin.checker.spark.clients.pairing import APPENDS, SCHEMA
from admin.checker.spark.clients.zones import decided
from admin.checker.spark.scan_context import Batches
from admin.checker.verdict import Verdict, conclude, skipped

READS = ("read", "get")


Fs = Mapping[str, frozenset[str]]
"""By run, the operations that its history has."""


def judge_partition(
    terms: Terms, sessioned: frozenset[str], fs: Fs
) -> Callable[[Batches], Batches]:
    """For boxes of operations with complete keys. Reads with a session are passed on."""

    def run(batches: Batches) -> Batches:
        for table in unboxed(batches):
            for found in _judged(table, terms, sessioned, fs):
                yield from found.to_batches()

    return run


def _judged(table: pa.Table, terms: Terms, sessioned: frozenset[str], fs: Fs) -> Iterator[pa.Table]:
    names = pc.binary_join_element_wise(
        table.column("run_id"), pc.fill_null(table.column("part"), ""), "\n"
    )
    coded = names.combine_chunks().dictionary_encode()
    key = coded.indices.to_numpy().astype(np.int64)
    first = np.empty(len(coded.dictionary), dtype=np.int64)
    first[key[::-1]] = np.arange(len(key))[::-1]
    firsts = table.select(["run_id", "part"]).take(pa.array(first))
    runs = firsts.column("run_id").to_pylist()
    lists = pc.fill_null(pc.equal(firsts.column("part"), APPENDS), False)  # noqa: FBT003 - Arrow's
    appends = lists.to_numpy()
    passes, counts = decided(table, key, len(runs))
    floors = np.bincount(key[table.column("floor").is_valid().to_numpy()], minlength=len(runs))
    by_default = terms.hints.kind in {None, ObjectKind.REGISTER} and terms.hints.initial is None
    passes &= (floors == 0) & by_default & ~appends
    yield _said(_passed(table, key, passes, counts, runs))
    if sessioned:
        kept = passes[key]
        yield _dated(table.filter(pa.array(kept)), key[kept], sessioned)
    for at, rows in _left(table, key, passes):
        operations = operations_of(zip(*(rows.column(c).to_pylist() for c in COLUMNS), strict=True))
        if appends[at]:
            yield _said([(runs[at], judge_appends(operations, terms))])
            continue
        yield _said([(runs[at], judge_key(operations, terms, fs[runs[at]]))])
        if runs[at] in sessioned:
            yield _exactly_dated(rows, operations)


def _left(table: pa.Table, key: Numbers, passes: Flags) -> Iterator[tuple[int, pa.Table]]:
    """Undecided keys, each with its operations in order."""
    at = np.flatnonzero(~passes[key])
    if not len(at):
        return
    number = table.column("number").take(pa.array(at)).to_numpy()
    at = at[np.lexsort((number, key[at]))]
    rows, whose = table.take(pa.array(at)), key[at]
    starts = np.concatenate(([0], np.flatnonzero(np.diff(whose)) + 1, [len(at)]))
    for start, end in itertools.pairwise(starts.tolist()):
        yield int(whose[start]), rows.slice(start, end - start)


def _passed(
    table: pa.Table, key: Numbers, passes: Flags, counts: Numbers, runs: list[str]
) -> list[tuple[str, KeyVerdicts]]:
    """One verdict per run on all keys that pass."""
    failed = pc.equal(table.column("kind"), "fail").to_numpy()
    failed &= pc.equal(table.column("f"), "write").to_numpy()
    looks = pc.equal(table.column("kind"), "ok").to_numpy()
    looks &= pc.equal(table.column("f"), "read").to_numpy()
    looks &= table.column("value").is_valid().to_numpy()
    failures = np.bincount(key[failed], minlength=len(runs)) > 0
    reads = np.bincount(key[looks], minlength=len(runs))
    told = []
    codes = {run: code for code, run in enumerate(dict.fromkeys(runs))}
    whose = np.array([codes[run] for run in runs])
    for run, code in codes.items():
        own = passes & (whose == code)
        if not own.any():
            continue
        facts = int(counts[own].sum())
        verdicts: list[Verdict] = []
        if facts:
            verdicts.append(conclude(LINEARIZABLE, facts=facts, violations=()))
        if looked := int(reads[own & failures].sum()):
            verdicts.append(conclude(FAILURES, facts=looked, violations=()))
        else:
            verdicts.append(skipped(FAILURES, NOBODY_READ))
        told.append((run, KeyVerdicts((ObjectKind.REGISTER,), tuple(verdicts))))
    return told


def _said(told: list[tuple[str, KeyVerdicts]]) -> pa.Table:
    rows = [{"run_id": run, "said": each.packed()} for run, each in told]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def _dated(table: pa.Table, key: Numbers, sessioned: frozenset[str]) -> pa.Table:
    """Reads that name their session, with the log position of the write that they saw."""
    values = pc.fill_null(table.column("value"), "").combine_chunks().dictionary_encode().indices
    name = key * (int(pc.max(values).as_py() or 0) + 1) + values.to_numpy() if len(key) else key
    place = pc.fill_null(table.column("place"), -1).to_numpy()
    ok = pc.equal(table.column("kind"), "ok").to_numpy()
    writes = ok & pc.equal(table.column("f"), "write").to_numpy() & (place >= 0)
    written, at = name[writes], place[writes]
    order = np.argsort(written)
    written, at = written[order], at[order]
    reads = ok & pc.is_in(table.column("f"), pa.array(READS)).to_numpy()
    reads &= table.column("session").is_valid().to_numpy()
    reads &= pc.is_in(table.column("run_id"), pa.array(sorted(sessioned))).to_numpy()
    wanted = name[reads]
    slot = np.minimum(np.searchsorted(written, wanted), max(len(written) - 1, 0))
    known = written[slot] == wanted if len(written) else np.zeros(len(wanted), dtype=np.bool_)
    date = pa.array(at[slot] if len(at) else np.zeros(len(wanted), np.int64), mask=~known)
    kept = table.filter(pa.array(reads))
    return kept.set_column(SCHEMA.get_field_index("date"), "date", date)


def _exactly_dated(rows: pa.Table, operations: list[Operation]) -> pa.Table:
    known = dates(operations)
    found = []
    for row, each in zip(rows.to_pylist(), operations, strict=True):
        if each.f in READS and each.session is not None and row["kind"] == "ok":
            found.append({**row, "date": known(each)})
    return pa.Table.from_pylist(found, schema=SCHEMA)
