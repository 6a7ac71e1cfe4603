"""The scan: one task reads a range of all logs of a run and returns its findings.

Only the plan and the findings go through the JVM: tasks read the files themselves.
"""

import json
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from admin.checker.kernels.logs.between import compare
from admin.checker.kernels.logs.findings import LogFindings
from admin.checker.kernels.logs.neighbours import neighbours
from admin.checker.spark.borders import SliceEnds
from admin.checker.spark.columns import slices
from admin.checker.spark.job_schema import ENTRY, SLICE, UNEQUAL, FindingRow
from admin.checker.spark.kernels import finding_rows
from admin.checker.spark.scan_context import Batches, ScanContext, batch
from admin.checker.spark.units import Unit, tables


def scan(units: Sequence[Unit], given: ScanContext) -> Callable[[Batches], Batches]:
    """For rows with the number of a unit."""

    def run(batches: Batches) -> Batches:
        for each in batches:
            for number in each.column(0).to_pylist():
                unit = units[number]
                yield batch(look(unit.run_id, tables(unit), given))

    return run


def look(run_id: str, tables: Sequence[pa.Table], given: ScanContext) -> Iterator[FindingRow]:
    """All findings about the logs in one range."""
    logs = slices(run_id, tables)
    for each in compare(logs) if logs else ():
        yield FindingRow(run_id, UNEQUAL, index=each.index, message=json.dumps(each))
    for log in logs:
        _, node, generation = log.whose
        found = LogFindings(node, generation)
        neighbours(log, found)
        for id_, finding in found.by_id.items():
            yield from finding_rows(run_id, id_, finding)
        wanted = given.wanted.get(run_id, 0)
        for at in np.flatnonzero(log.index == wanted).tolist():
            place = (wanted, int(log.term[at]), int(log.crc[at]))
            yield FindingRow(run_id, ENTRY, "", node, generation, *place)
        ends, first = SliceEnds.of(log).text(), int(log.index[0])
        yield FindingRow(run_id, SLICE, "", node, generation, first, 0, len(log), ends)
