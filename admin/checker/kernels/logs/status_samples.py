"""Samples that name the last entry of their log, and the limbo that they report."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from typing import NamedTuple

import numpy as np

from admin.checker.kernels.columns import Samples, Whose
from admin.checker.kernels.logs.slices import Slice


class LimboSample(NamedTuple):
    """A sample, placed after its last log entry. `at`: its position in the table."""

    last: int
    crc: int
    confirmed: int
    at: int


def limbo_samples(status: Samples) -> dict[Whose, list[LimboSample]]:
    """Return samples of the limbo by log, in the order of their last entries."""
    found: dict[Whose, list[LimboSample]] = defaultdict(list)
    for at, (last, crc) in enumerate(zip(status.last, status.crc, strict=True)):
        confirmed = status.confirmed[at] or 0
        if last and crc is not None and status.limbo_len[at] is not None and confirmed <= last:
            found[status.whose(at)].append(LimboSample(last, crc, confirmed, at))
    for own in found.values():
        own.sort()
    return dict(found)


def within(here: Slice, own: list[LimboSample]) -> list[tuple[int, LimboSample]]:
    """The samples in a slice, by their position in it."""
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


def _last(sample: LimboSample) -> int:
    return sample.last
