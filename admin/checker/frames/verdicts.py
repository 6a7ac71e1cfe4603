"""Tables, user rules and reports as DataFrames of one shape."""

import dataclasses
import functools
import json
import pickle  # noqa: TID251 - of tasks of our own job, as Spark itself does
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StringType

from admin.checker.exhibit import EXHIBITS_MAX, EvidenceRow
from admin.checker.frames.frame_rule import EvidenceTables, FrameRule
from admin.checker.frames.schemas import VIOLATIONS, table_schema
from admin.checker.quick import CheckedInvariant, HistoryReport
from admin.checker.readers import HistoryFormat
from admin.checker.spark.counted import CountedOperations
from admin.checker.spark.whole_runs import SOURCE
from admin.checker.verdict import KEPT_MAX, Verdict, Violation, conclude, skipped
from admin.evidence.tables import RUN, TABLES, ColumnType
from qsync.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row


_OF_RULE = ("invariant", "title", "source", "count")
"""Columns of violations that the rule itself fills in."""


def fitted(name: str, frame: "DataFrame") -> "DataFrame":
    """A DataFrame fitted to the schema of its evidence table. Raises ConfigError."""
    wanted = table_schema(name)
    missing = sorted((TABLES[name].needed | {RUN}) - set(frame.columns))
    if missing:
        raise ConfigError(
            f"the table {name} lacks {', '.join(missing)}",
            hint=f"frames.table_schema({name!r}) has its columns",
        )
    chosen = []
    for field in wanted:
        if field.name not in frame.columns:
            column = F.lit(None).cast(field.dataType)
        elif TABLES[name].columns[field.name] is ColumnType.JSON:
            column = _as_json(frame, field.name)
        else:
            column = F.col(f"`{field.name}`").cast(field.dataType)
        chosen.append(column.alias(field.name, metadata=field.metadata))
    return frame.select(*chosen)


def _as_json(frame: "DataFrame", name: str) -> "Column":
    """Text is already JSON; numbers stay as they are; structs, arrays and maps become JSON."""
    column, type_ = F.col(f"`{name}`"), frame.schema[name].dataType
    if isinstance(type_, StringType):
        return column
    if type_.typeName() in {"struct", "array", "map"}:
        return F.to_json(column)
    return column.cast("string")


def rows(tables: "Mapping[str, DataFrame]") -> "DataFrame":
    """The rows of all tables: the run, the table, and the row as JSON."""
    packed = [
        frame.select(
            RUN, F.lit(name).alias("table"), F.to_json(F.struct(*frame.columns)).alias("row")
        )
        for name, frame in tables.items()
    ]
    return functools.reduce(lambda one, other: one.unionByName(other), packed)


def unpacked(found: "Iterable[Row]") -> dict[str, HistoryReport]:
    """By run, from a separate job."""
    return {row[RUN]: pickle.loads(bytes(row["said"])) for row in found}  # noqa: S301 - our own


def with_rule(
    evidence: EvidenceTables, own: FrameRule, reports: Mapping[str, HistoryReport]
) -> dict[str, HistoryReport]:
    """Add a user's rule: its violations, and the rows of its first table as facts."""
    facts = Counter[str]()
    for row in evidence.tables[own.needs[0]].groupBy(RUN).count().collect():
        facts[row[RUN]] = row["count"]
    counts = Counter[str]()
    kept = defaultdict[str, list[Violation]](list)
    for row in own(evidence).toLocalIterator():
        counts[row[RUN]] += 1
        if len(kept[row[RUN]]) < KEPT_MAX:
            kept[row[RUN]].append(_violation(own.id, row))
    found = dict(reports)
    for run in sorted(facts.keys() | counts.keys() | reports.keys()):
        verdict = _verdict(own, facts[run], kept[run], counts[run])
        checked = CheckedInvariant(verdict=verdict, seconds=0.0, says=own.title)
        before = found.get(run) or _blank(run)
        found[run] = dataclasses.replace(before, checked=(*before.checked, checked))
    return found


def _verdict(own: FrameRule, facts: int, kept: list[Violation], count: int) -> Verdict:
    if not facts and not count:
        return skipped(own.id, f"there is no row of {own.needs[0]}")
    verdict = conclude(own.id, facts=facts, violations=kept)
    return dataclasses.replace(verdict, count=count) if count else verdict


def _blank(run: str) -> HistoryReport:
    return HistoryReport(
        file=run, format=HistoryFormat.OURS, kinds=(), operations=CountedOperations(0), checked=()
    )


def _violation(id_: str, row: "Row") -> Violation:
    rows_ = [EvidenceRow(each["table"], json.loads(each["row"])) for each in row["witness"]]
    return Violation(
        invariant=id_,
        message=row["message"],
        key=None if row["key"] is None else json.loads(row["key"]),
        rows=tuple(rows_[:EXHIBITS_MAX]),
        node=row["node"] or 0,
        index=row["index"] or 0,
        term=row["term"] or 0,
    )


def violations_frame(id_: str, title: str, frame: "DataFrame") -> "DataFrame":
    """The violations of a user's rule, in the shape of all violations. Raises ConfigError."""
    odd = sorted(set(frame.columns) - set(VIOLATIONS.names))
    lacks = sorted({RUN, "message"} - set(frame.columns))
    if odd or lacks:
        told = f"has a column {odd[0]}" if odd else f"lacks {', '.join(lacks)}"
        raise ConfigError(
            f"what the rule {id_} found {told}",
            hint=f"it gives {RUN}, message, and of {', '.join(VIOLATIONS.names)} what it knows",
        )
    known = {
        "invariant": F.lit(id_),
        "title": F.lit(title),
        "source": F.concat(F.lit(SOURCE), F.col(RUN)),
        "count": F.count("*").over(Window.partitionBy(RUN)),
        "witness": F.array().cast(VIOLATIONS["witness"].dataType),
    }
    chosen = []
    for field in VIOLATIONS:
        given = field.name in frame.columns and field.name not in _OF_RULE
        column = F.col(f"`{field.name}`") if given else known.get(field.name, F.lit(None))
        chosen.append(column.cast(field.dataType).alias(field.name, metadata=field.metadata))
    return frame.select(*chosen)
