"""Samples that name the last entry of their log, and what they say of the limbo there."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from admin.checker.spark.arrays import known, numbers
from admin.checker.spark.chunks import chunks, read
from admin.checker.spark.columns import Slice

Log = tuple[int, int]
"""Node, generation."""
_LOG = ("node", "generation")


class Says(NamedTuple):
    """A sample whose last entry is the one that it stands behind."""

    last: int
    crc: int
    sample: int
    role: str
    term: int
    confirmed: int
    visible: int | None
    written: int | None
    limbo_owner: int | None
    limbo_term: int | None
    limbo_len: int


def samples(path: Path) -> dict[Log, list[Says]]:
    """By log, in the order of their last entries; of a bundle. Raises NoEvidence."""
    found: dict[Log, list[Says]] = defaultdict(list)
    for chunk in chunks(path, "status", "sample"):
        rows = read(chunk, (*_LOG, *Says._fields))
        asked = known(rows, "limbo_len") & known(rows, "crc") & (numbers(rows, "last") > 0)
        asked &= numbers(rows, "confirmed") <= numbers(rows, "last")
        kept = rows.filter(pa.array(asked))
        columns = [kept.column(name).to_pylist() for name in (*_LOG, *Says._fields)]
        for node, generation, *told in zip(*columns, strict=True):
            each = Says._make(told)
            found[node, generation].append(each._replace(confirmed=each.confirmed or 0))
    for own in found.values():
        own.sort(key=_last)
    return dict(found)


def within(here: Slice, own: list[Says]) -> list[tuple[int, Says]]:
    """Those of a slice, by their place in it."""
    begin = bisect_left(own, int(here.index[0]), key=_last)
    end = bisect_right(own, int(here.index[-1]), key=_last)
    lasts = np.array([each.last for each in own[begin:end]], dtype=np.int64)
    first = np.searchsorted(here.index, lasts, side="left").tolist()
    behind = np.searchsorted(here.index, lasts, side="right").tolist()
    found = []
    for each, low, high in zip(own[begin:end], first, behind, strict=True):
        same = np.flatnonzero(here.crc[low:high] == each.crc)
        if len(same):
            found.append((low + int(same[-1]), each))
    return found


def _last(says: Says) -> int:
    return says.last
