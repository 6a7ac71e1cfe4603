"""The rows that prove what Spark found, looked up when it is known where to look."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from admin.checker.exhibit import EXHIBITS_MAX, EvidenceRow, exhibit
from admin.checker.rules.catalogue import BY_ID, load
from admin.checker.rules.rule import Breach, RuleFinding
from admin.checker.spark.source import QsyncSource
from admin.checker.verdict import EXAMPLES_MAX
from admin.evidence.manifest import Manifest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS_MAX = 1_000_000
"""A bundle with no more rows is simply read once more; of a larger one only the entries around."""

Found = Mapping[str, dict[str, RuleFinding]]


def prove(session: "SparkSession", paths: Sequence[Path], found: Found) -> None:
    """Put them beside the breaches of every run."""
    for path in paths:
        manifest = Manifest.load(path)
        broken = [each for each in found[manifest.run_id].items() if each[1].breaches]
        if not broken:
            continue
        if sum(manifest.rows.values()) <= ROWS_MAX:
            _in_one_process(path, broken)
        else:
            _around(session, path, broken)


def _in_one_process(path: Path, broken: Iterable[tuple[str, RuleFinding]]) -> None:
    run = load(path)
    for id_, finding in broken:
        known = {each.where: each for each in BY_ID[id_].find(run).breaches}
        finding.breaches = [
            each if _is_proven(each) else known.get(each.where, each) for each in finding.breaches
        ]


def _is_proven(breach: Breach) -> bool:
    """By a kernel, with whole rows: of entries of logs it has only some columns."""
    return bool(breach.witness) and all(row.table != "wal" for row in breach.witness)


def _around(session: "SparkSession", path: Path, broken: Iterable[tuple[str, RuleFinding]]) -> None:
    """Of breaches in logs: the entry there and the one before it."""
    shown = [
        (finding, each)
        for id_, finding in broken
        if "wal" in BY_ID[id_].needs and BY_ID[id_].counts == "wal"
        for each in finding.breaches[:EXAMPLES_MAX]
        if each.index
    ]
    if not shown:
        return
    session.dataSource.register(QsyncSource)
    places = {place for _, each in shown for place in (each.index - 1, each.index)}
    wal = session.read.format("qsync").option("table", "wal").option("path", str(path)).load()
    rows = [row.asDict() for row in wal.where(wal["index"].isin(sorted(places))).collect()]
    rows.sort(key=lambda row: (row["index"], row["node"]))
    for finding, each in shown:
        at = finding.breaches.index(each)
        finding.breaches[at] = replace(each, witness=_of(each, rows))


def _of(breach: Breach, rows: Iterable[Mapping[str, object]]) -> tuple[EvidenceRow, ...]:
    there = (breach.index - 1, breach.index)
    mine = [
        exhibit("wal", row)
        for row in rows
        if row["index"] in there and breach.node in {0, row["node"]}
    ]
    return tuple(mine[:EXHIBITS_MAX])
