"""Runs as rows of any DataFrames, each checked completely by one task."""

import json
import pickle  # noqa: TID251 - between tasks of one Spark job, as Spark itself does
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

import pyarrow as pa

from admin.checker.bundles import check_run
from admin.checker.quick import HistoryReport
from admin.checker.report.violations import SCHEMA, rows_of_report
from admin.checker.rules.run import build
from admin.checker.spark.clients.keys import Terms
from admin.checker.spark.counted import CountedOperations
from admin.evidence.manifest import Manifest, NoEvidence
from admin.evidence.tables import FITS, RUN, TABLES, ColumnType, Row

ROWS_MAX = 3_000_000
"""The limit of rows of a run in one task, which needs some gigabytes for them."""
REPORT_DDL = "run_id string, said binary"
REPORT = pa.schema([(RUN, pa.string()), ("said", pa.binary())])
SOURCE = "dataframes:"
"""The prefix of a run's name, where other reports have the path of its bundle."""
Task = Callable[[pa.Table], pa.Table]


def violations_of(
    manifests: Mapping[str, Manifest],
    terms: Terms,
    only: Collection[str] | None,
    *,
    rows_max: int = ROWS_MAX,
) -> Task:
    """For a task: the rows of a run become its violations, as `report.violations` has them."""

    def judge_rows(rows: pa.Table) -> pa.Table:
        report = report_of(rows, manifests, terms, only, rows_max)
        name = rows.column(RUN)[0].as_py()
        found = [row | {RUN: name} for row in rows_of_report(report)]
        return pa.Table.from_pylist(found, schema=SCHEMA)

    return judge_rows


def reports_of(
    manifests: Mapping[str, Manifest],
    terms: Terms,
    only: Collection[str] | None,
    *,
    rows_max: int = ROWS_MAX,
) -> Task:
    """For a task: the rows of a run become its report, pickled, without its operations."""

    def judge_rows(rows: pa.Table) -> pa.Table:
        report = report_of(rows, manifests, terms, only, rows_max)
        small = replace(report, operations=CountedOperations(len(report.operations)))
        said = {RUN: rows.column(RUN)[0].as_py(), "said": pickle.dumps(small)}
        return pa.Table.from_pylist([said], schema=REPORT)

    return judge_rows


def report_of(
    rows: pa.Table,
    manifests: Mapping[str, Manifest],
    terms: Terms,
    only: Collection[str] | None,
    rows_max: int = ROWS_MAX,
) -> HistoryReport:
    """Check the rows of one run. Raises NoEvidence if they are invalid, or too many."""
    name = rows.column(RUN)[0].as_py()
    if rows.num_rows > rows_max:
        raise NoEvidence(
            f"the run {name} has {rows.num_rows:,} rows, and a task judges {rows_max:,} at most; "
            "write it as a bundle, which `qsync check` judges in parts"
        )
    tables: dict[str, list[Row]] = defaultdict(list)
    texts = zip(rows.column("table").to_pylist(), rows.column("row").to_pylist(), strict=True)
    for table, text in texts:
        tables[table].append(_row(name, table, text))
    manifest = manifests.get(name) or Manifest(run_id=name, source="history")
    try:
        return check_run(
            build(manifest, tables),
            terms.hints,
            name=f"{SOURCE}{name}",
            level=terms.level,
            steps_max=terms.steps_max,
            only=only,
        )
    except (TypeError, ValueError) as error:
        raise NoEvidence(f"the run {name}: {error}") from error


def _row(run: str, table: str, text: str) -> Row:
    """All columns, with JSON decoded. Raises NoEvidence."""
    columns = TABLES[table].columns
    row: Row = {**dict.fromkeys(columns), **json.loads(text)}
    for column, type_ in columns.items():
        value = row[column]
        if value is None:
            if column in TABLES[table].needed:
                raise NoEvidence(f"the run {run} has rows of {table} without {column}")
        elif type_ is ColumnType.JSON:
            try:
                row[column] = json.loads(str(value))
            except ValueError as error:
                told = f"the run {run}: {column} of {table} is no JSON: {str(value)[:40]!r}"
                raise NoEvidence(f"{told}; frames.json_text makes it of a text") from error
        elif not isinstance(value, FITS[type_]):
            raise NoEvidence(f"the run {run}: {column} of {table} is {type_} and not {value!r:.40}")
    return row
