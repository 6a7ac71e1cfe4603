"""Kernels on Spark: one task per run makes their columns from the run's files and runs them.

Their input is small compared with logs: samples, digests, and events with a few names. The driver
passes facts about the logs: PROMOTEs and last entries. The automata, which need every event, run in
the same pass over the events.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from admin.checker.exhibit import EvidenceRow
from admin.checker.kernels.columns import Columns, Digests, Events, LogEntries, Samples
from admin.checker.kernels.kernel import EventReach, Evidence
from admin.checker.kernels.logs.outlines import LogOutline
from admin.checker.kernels.registry import EVENTS, KERNELS
from admin.checker.replay.steps import AUTOMATA
from admin.checker.rules.rule import Breach, RuleFinding
from admin.checker.rules.run import PROMOTE, event
from admin.checker.spark.arrays import among, numbers
from admin.checker.spark.chunks import chunks, in_order, read, spread
from admin.checker.spark.job_schema import (
    ACKED,
    DOUBT,
    FACTS,
    LACKS,
    PROVEN,
    STRIKES,
    FindingRow,
)
from admin.evidence.manifest import Manifest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_STEPS = frozenset[str]().union(*(each.names for each in AUTOMATA))
Kind = TypeVar("Kind", bound=Columns)


@dataclass(frozen=True, slots=True)
class RunJob:
    """A bundle, and the facts about its logs and histories: see `Evidence`."""

    path: Path
    promotes: LogEntries
    ends: LogEntries
    acked: Mapping[str, int] = field(default_factory=dict)
    strikes: int = 0


def kernels(
    session: "SparkSession",
    paths: Sequence[Path],
    known: Mapping[str, Iterable[FindingRow]],
    logs: Mapping[str, Sequence[LogOutline]],
) -> "DataFrame":
    """The findings of all kernels in all runs; `known` has the earlier findings, by type."""
    done, strikes = (_by_run(known[what]) for what in (ACKED, STRIKES))
    jobs = []
    for path in paths:
        run = Manifest.load(path).run_id
        acked = Counter[str]()
        for each in done[run]:
            acked[each.invariant] += each.amount
        struck = sum(each.amount for each in strikes[run])
        own = logs.get(run, ())
        jobs.append(RunJob(path, _promotes(own), ends_of(own), acked, struck))
    sizes = [sum(each.size for each in chunks(path, "events", "number")) for path in paths]
    return spread(session, jobs, sizes, look)


def look(job: RunJob) -> Iterator[FindingRow]:
    """Examine a run."""
    manifest = Manifest.load(job.path)
    machines = [automaton(manifest.quorum) for automaton in AUTOMATA]
    cells: dict[str, list[Any]] = {name: [] for name in Events.names()}
    term = index = 0
    for table in in_order(chunks(job.path, "events", "number"), "number", Events.names()):
        durable = numbers(table, "index")[among(table, "name", ("durable",))]
        term = max(term, int(numbers(table, "term").max(initial=0)))
        index = max(index, int(durable.max(initial=0)))
        _extend(cells, table.filter(pa.array(among(table, "name", EVENTS))))
        for row in table.filter(pa.array(among(table, "name", _STEPS))).to_pylist():
            each = event(row)
            for machine in machines:
                if each.name in machine.names:
                    machine.step(each)
    evidence = Evidence(
        manifest=manifest,
        status=small_table(job.path, Samples, "sample"),
        events=Events.of(cells),
        digests=small_table(job.path, Digests, ""),
        promotes=job.promotes,
        ends=job.ends,
        reach=EventReach(term, index),
        acked=job.acked,
        strikes=job.strikes,
    )
    for kernel in KERNELS:
        yield from finding_rows(manifest.run_id, kernel.id, kernel.find(evidence))
    for machine in machines:
        yield from finding_rows(manifest.run_id, machine.id, machine.found)


def finding_rows(run: str, id_: str, found: RuleFinding) -> Iterator[FindingRow]:
    """A finding as result rows."""
    yield FindingRow(run, FACTS, id_, amount=found.facts)
    for what, why in ((LACKS, found.lacks), (DOUBT, found.doubt)):
        if why:
            yield FindingRow(run, what, id_, message=why)
    for each in found.breaches:
        rows = [(row.table, dict(row.row)) for row in each.witness]
        text, where = json.dumps([each.message, rows]), (each.node, 0, each.index, each.term)
        yield FindingRow(run, PROVEN, id_, *where, message=text)


def proven(found: FindingRow) -> Breach:
    """A breach that was returned with its proof."""
    message, rows = json.loads(found.message)
    return Breach(
        invariant=found.invariant,
        message=message,
        node=found.node,
        index=found.index,
        term=found.term,
        witness=tuple(EvidenceRow(table, row) for table, row in rows),
    )


def small_table(path: Path, kind: type[Kind], key: str) -> Kind:
    """A small table, by the numbers of its rows if they have any."""
    cells: dict[str, list[Any]] = {name: [] for name in kind.names()}
    parts = chunks(path, kind.table, key or "index")
    tables = (
        in_order(parts, key, kind.names()) if key else (read(each, kind.names()) for each in parts)
    )
    for table in tables:
        _extend(cells, table)
    return kind.of(cells)


def _extend(cells: dict[str, list[Any]], table: pa.Table) -> None:
    for name, column in cells.items():
        column.extend(table.column(name).to_pylist())


def _by_run(found: Iterable[FindingRow]) -> dict[str, list[FindingRow]]:
    runs: dict[str, list[FindingRow]] = defaultdict(list)
    for each in sorted(found):
        runs[each.run_id].append(each)
    return runs


def _promotes(logs: Iterable[LogOutline]) -> LogEntries:
    return LogEntries.of_rows(
        {"node": log.node, "generation": log.generation, "kind": PROMOTE, **each._asdict()}
        for log in logs
        for each in log.promotes
    )


def ends_of(logs: Iterable[LogOutline]) -> LogEntries:
    """The last entries of logs."""
    return LogEntries.of_rows(
        {"node": log.node, "generation": log.generation, "index": log.last, "crc": log.crc}
        for log in logs
    )
