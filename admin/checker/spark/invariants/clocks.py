"""Clocks of a run, a task a run: the lines of the history and the samples, part by part."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from admin.checker.kernels.clocks import TIMES, ClockReplay
from admin.checker.kernels.columns import Samples
from admin.checker.spark.arrays import numbers
from admin.checker.spark.chunks import chunks, in_order, spread
from admin.checker.spark.job_schema import FindingRow
from admin.checker.spark.kernels import finding_rows
from admin.evidence.manifest import Manifest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SAMPLES = ("node", "generation", "life", "sample", "time_mono")


def clocks(session: "SparkSession", paths: Sequence[Path]) -> "DataFrame":
    """Of every run."""
    sizes = [sum(each.size for each in chunks(path, "ops", "index")) for path in paths]
    return spread(session, paths, sizes, look)


def look(path: Path) -> Iterator[FindingRow]:
    """At all clocks of a run: how often they were read, and whose went back."""
    replay = ClockReplay()
    for lines in in_order(chunks(path, "ops", "index"), "index", ("index", "time")):
        replay.lines(numbers(lines, "time").tolist())
    for samples in in_order(chunks(path, "status", "sample"), "sample", _SAMPLES):
        cells = {name: numbers(samples, name).tolist() for name in _SAMPLES}
        replay.samples(Samples.of(cells))
    yield from finding_rows(Manifest.load(path).run_id, TIMES, replay.finding())
