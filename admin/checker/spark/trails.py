"""Which logs a task follows, and how it reads them: in order, a slice at a time."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from admin.checker.kernels.columns import Samples, Whose
from admin.checker.kernels.logs.status_samples import limbo_samples
from admin.checker.kernels.logs.walk import LogWalk
from admin.checker.spark.columns import slices
from admin.checker.spark.job_schema import FindingRow
from admin.checker.spark.kernels import finding_rows, small_table
from admin.checker.spark.scan_context import Batches, batch
from admin.checker.spark.units import ScanUnit, Unit, tables

COLUMNS = (
    *("node", "generation", "index", "term", "kind", "origin", "lsn", "flags", "crc"),
    *("ref_owner", "ref_lsn"),
)
"""What is looked at here of an entry."""


@dataclass(frozen=True, slots=True)
class Trail:
    """Logs of one run, all that are in these units."""

    path: Path
    units: tuple[Unit, ...]


def trails(paths: Mapping[str, Path], units: Sequence[Unit]) -> list[Trail]:
    """A trail a log, if a run has many units and their files tell whose they are; else a run."""
    by_run: dict[str, list[Unit]] = defaultdict(list)
    for unit in units:
        by_run[unit.run_id].append(unit)
    found = []
    for run, own in by_run.items():
        logs: dict[tuple[int, int] | None, list[Unit]] = defaultdict(list)
        for unit in own:
            for log, pieces in _by_log(unit).items():
                logs[log].append(replace(unit, pieces=pieces))
        apart = len(own) > 1 and None not in logs
        parts = list(logs.values()) if apart else [own]
        found += [Trail(paths[run], tuple(part)) for part in parts]
    return found


def follow(trails: Sequence[Trail]) -> Callable[[Batches], Batches]:
    """For rows of one number each: which trail."""

    def run(batches: Batches) -> Batches:
        for each in batches:
            for number in each.column(0).to_pylist():
                yield batch(_followed(trails[number]))

    return run


def _followed(trail: Trail) -> Iterator[FindingRow]:
    status = small_table(trail.path, Samples, "sample")
    samples = limbo_samples(status)
    logs: dict[Whose, LogWalk] = {}
    for unit in trail.units:
        for here in slices(unit.run_id, tables(unit, COLUMNS)):
            whose = here.whose[1:]
            if whose not in logs:
                logs[whose] = LogWalk(*whose, status, samples.get(whose, []))
            logs[whose].next_slice(here)
    for log in logs.values():
        for id_, found in log.end().items():
            yield from finding_rows(trail.units[0].run_id, id_, found)


def _by_log(unit: Unit) -> dict[tuple[int, int] | None, tuple[ScanUnit, ...]]:
    found: dict[tuple[int, int] | None, list[ScanUnit]] = defaultdict(list)
    for piece in unit.pieces:
        found[piece.log].append(piece)
    return {log: tuple(pieces) for log, pieces in found.items()}
