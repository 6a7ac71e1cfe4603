"""Samples that name the last entry of their log, and what they say of the limbo there."""

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from admin.checker.spark.columns import Slice
from admin.checker.spark.source import Reader

Log = tuple[int, int]
"""Node, generation."""
_LOG = ("node", "generation")


class Says(NamedTuple):
    """A sample whose last entry is the one that it stands behind."""

    last: int
    crc: int
    sample: int
    term: int
    confirmed: int
    visible: int | None
    written: int | None
    limbo_owner: int | None
    limbo_term: int | None
    limbo_len: int


def samples(path: Path) -> dict[Log, list[Says]]:
    """By log, in the order of their last entries; of a bundle. Raises NoEvidence."""
    reader = Reader("status", [str(path)], aligned=False)
    found: dict[Log, list[Says]] = defaultdict(list)
    for part in reader.partitions():
        for rows in reader.read(part):
            columns = [rows.column(name).to_pylist() for name in (*_LOG, *Says._fields)]
            for node, generation, last, crc, sample, term, confirmed, *told in zip(
                *columns, strict=True
            ):
                known = None not in {last, crc, told[-1]}
                if known and last and (confirmed or 0) <= last:
                    each = Says(last, crc, sample, term, confirmed or 0, *told)
                    found[node, generation].append(each)
    for own in found.values():
        own.sort(key=lambda each: each.last)
    return dict(found)


def within(here: Slice, own: list[Says]) -> list[tuple[int, Says]]:
    """Those of a slice, by their place in it."""
    lasts = np.array([each.last for each in own], dtype=np.int64)
    begin, end = np.searchsorted(lasts, (here.index[0], here.index[-1] + 1)).tolist()
    first = np.searchsorted(here.index, lasts[begin:end], side="left").tolist()
    behind = np.searchsorted(here.index, lasts[begin:end], side="right").tolist()
    found = []
    for each, low, high in zip(own[begin:end], first, behind, strict=True):
        same = np.flatnonzero(here.crc[low:high] == each.crc)
        if len(same):
            found.append((low + int(same[-1]), each))
    return found
