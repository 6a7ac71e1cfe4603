"""What disks have: acks are of that, and a quorum has it before a confirm; a task a run."""

import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from admin.checker.kernels.disks import NUMBERS, ROWS, DiskEvents, DiskWalk
from admin.checker.spark.arrays import among, numbers
from admin.checker.spark.chunks import chunks, in_order, spread
from admin.checker.spark.job_schema import FindingRow
from admin.checker.spark.kernels import finding_rows
from admin.evidence.manifest import Manifest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def disks(session: "SparkSession", paths: Sequence[Path]) -> "DataFrame":
    """A disk for each node of each run."""
    sizes = [sum(each.size for each in chunks(path, "events", "number")) for path in paths]
    return spread(session, paths, sizes, followed)


def followed(path: Path, rows: int = ROWS) -> Iterator[FindingRow]:
    """What the disks of a bundle show of acks, and of quorums."""
    manifest = Manifest.load(path)
    walk = DiskWalk(manifest.quorum, rows)
    for events in in_order(chunks(path, "events", "number"), "number", (*NUMBERS, "name")):
        columns = {name: numbers(events, name) for name in NUMBERS}
        walk.next_part(DiskEvents.of(columns, functools.partial(among, events, "name")))
    for id_, found in walk.end().items():
        yield from finding_rows(manifest.run_id, id_, found)
