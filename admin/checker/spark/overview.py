"""Small facts for other jobs: confirmed indexes, and the numbers of events and faults."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from admin.checker.kernels.columns import Samples
from admin.checker.kernels.kernel import groups
from admin.checker.spark.arrays import words
from admin.checker.spark.chunks import Chunk, chunks, read, spread
from admin.checker.spark.job_schema import CONFIRMED, EVENTS, STRIKES, FindingRow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def beforehand(session: "SparkSession", paths: Sequence[Path]) -> "DataFrame":
    """Return the overview of every run."""
    keys = {"status": "sample", "nemesis": "number", "events": "number"}
    parts = [each for path in paths for name in keys for each in chunks(path, name, keys[name])]
    return spread(session, parts, [each.size for each in parts], look)


def look(chunk: Chunk) -> Iterator[FindingRow]:
    """Examine some samples, faults or events."""
    match chunk.part.table:
        case "status":
            yield from _confirmed(chunk)
        case "nemesis":
            yield FindingRow(chunk.run_id, STRIKES, amount=read(chunk, ("number",)).num_rows)
        case _:
            yield from _named(chunk)


def _confirmed(chunk: Chunk) -> Iterator[FindingRow]:
    """Return, by log, the known confirmed index."""
    names = ("node", "generation", "confirmed", "written")
    table = read(chunk, names)
    status = Samples.of({name: table.column(name).to_pylist() for name in names})
    for (node, generation), own in groups(
        range(len(status)), status.node, status.generation
    ).items():
        upto = max(status.visibly_confirmed(at) for at in own)
        yield FindingRow(chunk.run_id, CONFIRMED, "", node, generation, upto)


def _named(chunk: Chunk) -> Iterator[FindingRow]:
    """The names of events, and how many there are of each."""
    codes, texts = words(read(chunk, ("name",)), "name")
    for code, name in enumerate(texts):
        amount = int((codes == code).sum())
        yield FindingRow(chunk.run_id, EVENTS, name, amount=amount)
