"""Times that go back prove nothing: whoever compares them must know."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from admin.checker.spark.arrays import numbers
from admin.checker.spark.job_schema import DOUBT, FACTS, FindingRow
from admin.checker.spark.reading import chunks, in_order, spread
from admin.evidence.manifest import Manifest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ID = "times-usable"
_SAMPLES = ("node", "generation", "life", "sample", "time_mono")


def times(session: "SparkSession", paths: Sequence[Path]) -> "DataFrame":
    """Lines of the history, and samples of a process, in the order in which they were written."""
    sizes = [sum(each.size for each in chunks(path, "ops", "index")) for path in paths]
    return spread(session, paths, sizes, look)


def look(path: Path) -> Iterator[FindingRow]:
    """At all clocks of a run: how often they were read, and whose went back."""
    run = Manifest.load(path).run_id
    for whose, steps, back in (*_clients(path), *_processes(path)):
        yield FindingRow(run, FACTS, _ID, amount=steps)
        if back:
            text = f"the clock of {whose} went back: times prove nothing"
            yield FindingRow(run, DOUBT, _ID, message=text)


def _clients(path: Path) -> Iterator[tuple[str, int, bool]]:
    last: int | None = None
    for lines in in_order(chunks(path, "ops", "index"), "index", ("index", "time")):
        time = numbers(lines, "time")
        if not len(time):
            continue
        here = time if last is None else np.append(last, time)
        last = int(time[-1])
        yield "the clients", len(here) - 1, bool((np.diff(here) < 0).any())


def _processes(path: Path) -> Iterator[tuple[str, int, bool]]:
    last: dict[tuple[int, ...], int] = {}
    for samples in in_order(chunks(path, "status", "sample"), "sample", _SAMPLES):
        columns = [numbers(samples, name) for name in _SAMPLES]
        series, which = np.unique(np.stack(columns[:3]), axis=1, return_inverse=True)
        for number, process in enumerate(map(tuple, series.T.tolist())):
            time = columns[4][which == number]
            here = np.append(last[process], time) if process in last else time
            last[process] = int(time[-1])
            yield f"node {process[0]}", len(here) - 1, bool((np.diff(here) < 0).any())
