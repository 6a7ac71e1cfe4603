"""What the neighbours of a slice must know of it."""

import itertools

import numpy as np

from admin.checker.kernels.arrays import NOBODY
from admin.checker.kernels.logs.references import breaks
from admin.checker.kernels.logs.slices import Body, ReferenceColumns, RequestColumns, Slice, Whose
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
    nothing, none = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.bool_)
    return Slice(
        whose=whose,
        index=index,
        term=term,
        kind=kind,
        origin=origin,
        lsn=lsn,
        flags=flags,
        crc=crc,
        body=Body(time, body_crc, body_len, np.array([False, len(after.head) == _COVERED])),
        ref=ReferenceColumns(nothing, nothing, none),
        request=RequestColumns(nothing + NOBODY, nothing, ()),
    )
