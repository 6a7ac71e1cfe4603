"""Violations as a table: a folder of Parquet that Spark, pandas and others read."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from admin.checker.operation import FOREVER, Operation
from admin.checker.quick import HistoryReport
from admin.checker.report.places import PlacedViolation, placed
from admin.checker.report.story import tell
from admin.evidence.bundle import Bundle, in_one_step, is_bundle
from qsync.store.private import FILE_OF_ALL

FILE = "part-00000.parquet"
WITNESS = pa.struct([("table", pa.string()), ("row", pa.string())])
SCHEMA = pa.schema(
    [
        ("run_id", pa.string()),
        ("source", pa.string()),
        ("invariant", pa.string()),
        ("title", pa.string()),
        ("node", pa.int64()),
        ("index", pa.int64()),
        ("term", pa.int64()),
        ("key", pa.string()),
        ("seconds", pa.float64()),
        ("message", pa.string()),
        ("count", pa.int64()),
        ("witness", pa.list_(WITNESS)),
    ]
)
"""`count`: how many the run has of this invariant. `key` and the rows of `witness` are JSON."""


def write(reports: Iterable[HistoryReport], folder: Path) -> int:
    """Write one row per violation to one file, which is replaced; return the number of rows."""
    rows = [row for report in reports for row in rows_of_report(report)]
    with in_one_step(folder / FILE, mode=FILE_OF_ALL) as fresh:
        pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), fresh, compression="zstd")
    return len(rows)


def rows_of_report(report: HistoryReport) -> Iterable[dict[str, object]]:
    """One row per kept violation."""
    run, found = _found(report)
    verdicts = {each.verdict.invariant: each for each in report.checked}
    for each in found:
        violation = each.violation
        checked = verdicts[violation.invariant]
        yield {
            "run_id": run,
            "source": report.file,
            "invariant": violation.invariant,
            "title": checked.title,
            "node": violation.node or None,
            "index": violation.index or None,
            "term": violation.term or None,
            "key": None if violation.key is None else json.dumps(violation.key, default=str),
            "seconds": each.at,
            "message": violation.message,
            "count": checked.verdict.count,
            "witness": list(_witness(each)),
        }


def _found(report: HistoryReport) -> tuple[str, Sequence[PlacedViolation]]:
    path = Path(report.file)
    if not is_bundle(path):
        kept = [each.verdict.violations for each in report.checked]
        return path.name, [PlacedViolation(violation) for some in kept for violation in some]
    bundle = Bundle.open(path)
    return bundle.manifest.run_id, placed(bundle, tell(bundle), report)


def _witness(found: PlacedViolation) -> Iterable[Mapping[str, str]]:
    for each in found.violation.rows:
        yield {"table": each.table, "row": json.dumps(dict(each.row), default=str)}
    for operation in found.violation.witness:
        yield {"table": "ops", "row": json.dumps(_operation(operation), default=str)}


def _operation(operation: Operation) -> dict[str, object]:
    """`ended`: null if the outcome is unknown, missing if it took effect at an unknown time."""
    known = {name: value for name, value in asdict(operation).items() if value is not None}
    if operation.ended is None:
        known["ended"] = None
    elif operation.ended >= FOREVER:
        del known["ended"]
    return known
