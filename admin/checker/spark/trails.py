"""The logs that a task follows, and how it reads them: in order, a slice at a time."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from admin.checker.kernels.columns import Samples, Whose
from admin.checker.kernels.logs.slices import Slice
from admin.checker.kernels.logs.status_samples import limbo_samples
from admin.checker.kernels.logs.walk import LogWalk
from admin.checker.spark.columns import slices
from admin.checker.spark.job_schema import OUTLINE, FindingRow
from admin.checker.spark.kernels import finding_rows, small_table
from admin.checker.spark.scan_context import Batches, ScanContext, batch
from admin.checker.spark.units import ScanUnit, Unit, tables

COLUMNS = (
    *("node", "generation", "index", "term", "kind", "origin", "lsn", "flags", "crc"),
    *("ref_owner", "ref_lsn", "session", "seq"),
)
"""The columns of an entry that are read here."""


@dataclass(frozen=True, slots=True)
class Trail:
    """Logs of one run, all that are in these units."""

    path: Path
    units: tuple[Unit, ...]


def trails(paths: Mapping[str, Path], units: Sequence[Unit]) -> list[Trail]:
    """One trail per log, if a run has many units whose files name their log; else one per run."""
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


def follow(trails: Sequence[Trail], given: ScanContext) -> Callable[[Batches], Batches]:
    """For rows with the number of a trail."""

    def run(batches: Batches) -> Batches:
        for each in batches:
            for number in each.column(0).to_pylist():
                yield batch(_followed(trails[number], given))

    return run


def _followed(trail: Trail, given: ScanContext) -> Iterator[FindingRow]:
    status = small_table(trail.path, Samples, "sample")
    samples = limbo_samples(status)
    run = trail.units[0].run_id
    asked = given.requests.get(run)
    logs: dict[Whose, LogWalk] = {}
    for here in _slices(trail):
        whose = here.whose[1:]
        if whose not in logs:
            own, upto = samples.get(whose, []), given.confirmed.get(here.whose, 0)
            logs[whose] = LogWalk(*whose, status, own, upto=upto, asked=asked)
        logs[whose].next_slice(here)
    suspects = {whose for whose, log in logs.items() if log.suspects}
    for here in _slices(trail) if suspects else ():
        if here.whose[1:] in suspects:
            logs[here.whose[1:]].look_again(here)
    for whose, log in logs.items():
        yield FindingRow(run, OUTLINE, "", *whose, message=log.outline().text())
        for id_, found in log.end().items():
            yield from finding_rows(run, id_, found)


def _slices(trail: Trail) -> Iterator[Slice]:
    for unit in trail.units:
        yield from slices(unit.run_id, tables(unit, COLUMNS))


def _by_log(unit: Unit) -> dict[tuple[int, int] | None, tuple[ScanUnit, ...]]:
    found: dict[tuple[int, int] | None, list[ScanUnit]] = defaultdict(list)
    for piece in unit.pieces:
        found[piece.log].append(piece)
    return {log: tuple(pieces) for log, pieces in found.items()}
