"""The table `events` of a bundle, from the directories of nodes, written part by part."""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from admin.evidence.bundle import LINES, PARQUET
from admin.evidence.inside import Inside
from admin.evidence.tables import Row
from admin.evidence.writing import EvidenceWriter

PART_ROWS: Final = 1 << 18


def clear(folder: Path) -> None:
    """Remove the table that a former dump left: it does not fit another one."""
    shutil.rmtree(folder / "events", ignore_errors=True)
    for suffix in (LINES, PARQUET):
        (folder / f"events{suffix}").unlink(missing_ok=True)


def keep(
    inside: Inside, folder: Path, writer: EvidenceWriter, *, generations: Mapping[int, int]
) -> int:
    """Write all rows; return how many. `generations`: the numbers of each node's directories."""
    shift = {node: generations.get(node, own) - own for node, own in inside.generations.items()}
    rows = (_shifted(row, shift) for row in inside.rows())
    count = 0
    for number, part in enumerate(_parts(rows), start=1):
        writer.write_events(folder / "events" / f"{number:06d}", part)
        count += len(part)
    return count


def _parts(rows: Iterable[Row]) -> Iterator[list[Row]]:
    left = iter(rows)
    while part := list(islice(left, PART_ROWS)):
        yield part


def _shifted(row: Row, shift: Mapping[int, int]) -> Row:
    node, generation = row["node"], row["generation"]
    assert isinstance(node, int)
    assert isinstance(generation, int)
    row["generation"] = generation + shift.get(node, 0)
    return row
