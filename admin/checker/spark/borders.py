"""Borders of slices: the last entry of one and the first of the next are a pair."""

import itertools
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

import numpy as np

from admin.checker.kernels.logs.findings import LogFindings
from admin.checker.kernels.logs.neighbours import pairs
from admin.checker.kernels.logs.slices import Body, Slice, Whose

_COVERED = 10
"""The number of fields of a head that has everything its checksum covers."""
_TIME = 7


@dataclass(frozen=True, slots=True)
class SliceEnds:
    """The parts of a slice that its neighbours need.

    `head`: index, term, crc, and what the checksum of the first entry covers: origin, lsn, kind,
    flags, time, CRC and length of the body; shorter if these are unknown. `tail`: index, term, crc.
    """

    head: list[float]
    tail: list[int]

    @classmethod
    def of(cls, here: Slice) -> "SliceEnds":
        """The borders of a slice."""
        head = [here.index[0], here.term[0], here.crc[0]]
        if here.body.known[0]:
            head += [here.origin[0], here.lsn[0], here.kind[0], here.flags[0]]
            head += [here.body.time[0], here.body.crc[0], here.body.length[0]]
        tail = [int(here.index[-1]), int(here.term[-1]), int(here.crc[-1])]
        return cls([each.item() for each in head], tail)

    def text(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> "SliceEnds":
        """The inverse."""
        return cls(**json.loads(text))


def joined(whose: Whose, slices: Iterable[SliceEnds]) -> LogFindings:
    """The findings between the slices of one log."""
    found = LogFindings(*whose[1:])
    for before, after in itertools.pairwise(sorted(slices, key=lambda each: each.head[0])):
        pairs(_border(whose, before, after), found)
    return found


def _border(whose: Whose, before: SliceEnds, after: SliceEnds) -> Slice:
    """A slice of two entries."""
    ends = list(itertools.zip_longest(before.tail, after.head, fillvalue=0))
    ends += [(0, 0)] * (_COVERED - len(ends))
    time = np.array(ends.pop(_TIME), dtype=np.float64)
    columns = (np.array(pair, dtype=np.int64) for pair in ends)
    index, term, crc, origin, lsn, kind, flags, body_crc, body_len = columns
    known = np.array([False, len(after.head) == _COVERED])
    return replace(
        Slice.plain(whose, index=index, term=term, crc=crc, origin=origin, lsn=lsn),
        kind=kind,
        flags=flags,
        body=Body(time, body_crc, body_len, known),
    )
