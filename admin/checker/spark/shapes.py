"""What the neighbours of a slice must know of it."""

import itertools
from dataclasses import replace

import numpy as np

from admin.checker.kernels.logs.references import breaks
from admin.checker.kernels.logs.slices import Body, Slice, Whose
from admin.checker.spark.summary import Summary

_COVERED = 10
"""Fields of a head of which the checksum is known to be over."""
_TIME = 7


def outline(found: Slice) -> Summary:
    """What joins it to its neighbours."""
    head = [found.index[0], found.term[0], found.crc[0]]
    if found.body.known[0]:
        head += [found.origin[0], found.lsn[0], found.kind[0], found.flags[0]]
        head += [found.body.time[0], found.body.crc[0], found.body.length[0]]
    starts = breaks(found)
    ends = np.append(starts[1:], len(found)) - 1
    columns = (found.index[starts], found.index[ends], found.origin[starts])
    return Summary(
        head=[each.item() for each in head],
        tail=[int(found.index[-1]), int(found.term[-1]), int(found.crc[-1])],
        segments=np.stack((*columns, found.lsn[starts], found.term[starts]), axis=1).tolist(),
    )


def border(whose: Whose, before: Summary, after: Summary) -> Slice:
    """The last entry of a slice and the first of the next one, as a slice of two."""
    pairs = list(itertools.zip_longest(before.tail, after.head, fillvalue=0))
    pairs += [(0, 0)] * (_COVERED - len(pairs))
    time = np.array(pairs.pop(_TIME), dtype=np.float64)
    columns = (np.array(pair, dtype=np.int64) for pair in pairs)
    index, term, crc, origin, lsn, kind, flags, body_crc, body_len = columns
    known = np.array([False, len(after.head) == _COVERED])
    return replace(
        Slice.plain(whose, index=index, term=term, crc=crc, origin=origin, lsn=lsn),
        kind=kind,
        flags=flags,
        body=Body(time, body_crc, body_len, known),
    )
