"""The scan: one task reads a range of all logs of a run at once and says what it found.

Nothing goes through the JVM but the plan and what was found: tasks read the files themselves.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from admin.checker.kernels.logs.findings import LogFindings
from admin.checker.kernels.logs.neighbours import neighbours
from admin.checker.kernels.logs.slices import PROMOTE, Slice, Whose
from admin.checker.spark.columns import slices
from admin.checker.spark.control_entries import tell
from admin.checker.spark.job_schema import ENTRY, PROMOTED, SLICE, FindingRow
from admin.checker.spark.kernels import finding_rows
from admin.checker.spark.log_matching import compare
from admin.checker.spark.numbered_requests import requests
from admin.checker.spark.scan_context import Batches, ScanContext, ScanQuestions, batch
from admin.checker.spark.shapes import outline
from admin.checker.spark.units import Unit, tables


def scan(units: Sequence[Unit], given: ScanContext) -> Callable[[Batches], Batches]:
    """For rows of one number each: which unit."""

    def run(batches: Batches) -> Batches:
        for each in batches:
            for number in each.column(0).to_pylist():
                unit = units[number]
                yield batch(look(unit.run_id, tables(unit), given))

    return run


def asks(
    units: Sequence[Unit], given: ScanContext, asked: Mapping[Whose, ScanQuestions]
) -> Callable[[Batches], Batches]:
    """The same, only to answer what the first look left open."""

    def run(batches: Batches) -> Batches:
        for each in batches:
            for number in each.column(0).to_pylist():
                unit = units[number]
                yield batch(answers(unit.run_id, tables(unit), given, asked))

    return run


def look(run_id: str, tables: Sequence[pa.Table], given: ScanContext) -> Iterator[FindingRow]:
    """Everything about the logs in one range."""
    logs = slices(run_id, tables)
    if not logs:
        return
    yield from compare(logs, given)
    for log in logs:
        found = LogFindings(*log.whose[1:])
        neighbours(log, found)
        for id_, finding in found.by_id.items():
            yield from finding_rows(run_id, id_, finding)
        yield from _marks(log, given)
        yield _told(log, given, ScanQuestions())


def answers(
    run_id: str,
    tables: Sequence[pa.Table],
    given: ScanContext,
    asked: Mapping[Whose, ScanQuestions],
) -> Iterator[FindingRow]:
    """New summaries of the slices of logs that were asked about."""
    for log in slices(run_id, tables):
        if log.whose in asked:
            yield _told(log, given, asked[log.whose])


def _told(log: Slice, given: ScanContext, asked: ScanQuestions) -> FindingRow:
    run, node, generation = log.whose
    upto = given.confirmed.get(log.whose, 0)
    summary = outline(log)
    tell(log, summary, upto)
    summary.requests = requests(log, upto, given.requests.get(run, {}), asked.spans)
    first, rows = int(log.index[0]), len(log)
    return FindingRow(run, SLICE, "", node, generation, first, 0, rows, summary.text())


def _marks(log: Slice, given: ScanContext) -> Iterator[FindingRow]:
    """PROMOTEs, and the entry that is wanted."""
    run, node, generation = log.whose
    for at in np.flatnonzero(log.kind == PROMOTE).tolist():
        place = (int(log.index[at]), int(log.term[at]), int(log.origin[at]))
        yield FindingRow(run, PROMOTED, "", node, generation, *place)
    wanted = given.wanted.get(run, 0)
    for at in np.flatnonzero(log.index == wanted).tolist():
        place = (wanted, int(log.term[at]), int(log.crc[at]))
        yield FindingRow(run, ENTRY, "", node, generation, *place)
