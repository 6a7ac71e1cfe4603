"""Invariants of disks, clocks and confirmed indexes, one part of a table at a time."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from admin.checker.exhibit import EvidenceRow
from admin.checker.kernels import log_ends, proofs
from admin.checker.kernels.arrays import Numbers
from admin.checker.kernels.clocks import TIMES, ClockReplay
from admin.checker.kernels.columns import LogEntries, Samples
from admin.checker.kernels.disks import NUMBERS, ROWS, DiskEvents, DiskWalk
from admin.checker.kernels.logs.outlines import LogOutline
from admin.checker.kernels.stops import STOPS, RolledBackStretches, stopped
from admin.checker.spark.arrays import among, numbers
from admin.checker.spark.chunks import Chunk, chunks, in_order, read, spread
from admin.checker.spark.job_schema import FindingRow
from admin.checker.spark.kernels import ends_of, finding_rows
from admin.evidence.manifest import Manifest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SAMPLES = ("node", "generation", "life", "sample", "time_mono")
Stretches = Mapping[str, RolledBackStretches]
"""By run."""


@dataclass(frozen=True, slots=True)
class DiskJob:
    """A bundle, and the last entries of its logs."""

    path: Path
    ends: LogEntries


def disks(
    session: "SparkSession", paths: Sequence[Path], logs: Mapping[str, Sequence[LogOutline]]
) -> "DataFrame":
    """One disk for each node of each run."""
    sizes = [sum(each.size for each in chunks(path, "events", "number")) for path in paths]
    jobs = [DiskJob(each, ends_of(logs.get(Manifest.load(each).run_id, ()))) for each in paths]
    return spread(session, jobs, sizes, disks_of)


def disks_of(job: DiskJob, rows: int = ROWS) -> Iterator[FindingRow]:
    """The findings on acks, on quorums and on ends of logs, from the disks of a bundle."""
    path, manifest = job.path, Manifest.load(job.path)
    walk = DiskWalk(manifest.quorum, rows)
    for events in in_order(chunks(path, "events", "number"), "number", (*NUMBERS, "name")):
        columns = {name: numbers(events, name) for name in NUMBERS}
        walk.next_part(DiskEvents.of(columns, functools.partial(among, events, "name")))
    kept = {log_ends.KEPT: log_ends.kept(manifest, walk.disks, job.ends)}
    for id_, found in (walk.end() | kept).items():
        yield from finding_rows(manifest.run_id, id_, found)


def clocks(session: "SparkSession", paths: Sequence[Path]) -> "DataFrame":
    """Return the clocks of every run."""
    sizes = [sum(each.size for each in chunks(path, "ops", "index")) for path in paths]
    return spread(session, paths, sizes, clocks_of)


def clocks_of(path: Path) -> Iterator[FindingRow]:
    """Return how often the clocks of a run were read, and which clock went back."""
    replay = ClockReplay()
    for lines in in_order(chunks(path, "ops", "index"), "index", ("index", "time")):
        replay.lines(numbers(lines, "time").tolist())
    for samples in in_order(chunks(path, "status", "sample"), "sample", _SAMPLES):
        cells = {name: numbers(samples, name).tolist() for name in _SAMPLES}
        replay.samples(Samples.of(cells))
    yield from finding_rows(Manifest.load(path).run_id, TIMES, replay.finding())


def stretches(
    session: "SparkSession", paths: Sequence[Path], logs: Mapping[str, Sequence[LogOutline]]
) -> "DataFrame":
    """Return the confirmed rolled-back ranges of runs."""
    known = {run: RolledBackStretches.of(own) for run, own in logs.items()}
    by_run = {run: own for run, own in known.items() if len(own)}
    found = [
        each
        for table, key in (("events", "number"), ("status", "sample"))
        for path in paths
        for each in chunks(path, table, key)
        if each.run_id in by_run
    ]
    look_at = functools.partial(stops_in, stretches=by_run)
    return spread(session, found, [each.size for each in found], look_at)


def stops_in(chunk: Chunk, stretches: Stretches) -> Iterator[FindingRow]:
    """Examine some events, or some samples."""
    claims = _events if chunk.part.table == "events" else _samples
    found = stopped(stretches[chunk.run_id], *claims(chunk))
    yield from finding_rows(chunk.run_id, STOPS, found)


def _events(chunk: Chunk) -> tuple[Numbers, Numbers, Callable[[int], EvidenceRow]]:
    table = read(chunk, ("name", "node", "index", "number"))
    table = table.filter(among(table, "name", ("confirmed",)))
    number = numbers(table, "number")
    columns = (numbers(table, "node"), numbers(table, "index"))
    return *columns, lambda at: proofs.event(int(number[at]))


def _samples(chunk: Chunk) -> tuple[Numbers, Numbers, Callable[[int], EvidenceRow]]:
    table = read(chunk, Samples.names())
    table = table.filter(numbers(table, "confirmed") != 0)
    status = Samples.of({name: table.column(name).to_pylist() for name in Samples.names()})
    return numbers(table, "node"), numbers(table, "confirmed"), lambda at: status.shows(at)[0]
