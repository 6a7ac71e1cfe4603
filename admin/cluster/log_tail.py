"""Follows the end of a node's log, and reports entries that were cut again."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from admin.cluster import logs
from admin.cluster.logs import EntrySource
from qsync.record import Entry

POLL_S: Final = 0.2
"""How often a running node is asked for more."""
REMEMBERED_MAX: Final = 4096
"""Shown entries that are compared with the log again; a cut of older ones is not noticed."""


class TailCut(NamedTuple):
    """Entries above this index were shown, and are not in the log any more."""

    above: int


def last_entries(source: EntrySource, count: int) -> list[Entry]:
    """Return the last entries, as many as there are."""
    last = source.last()
    return list(logs.entries(source, max(1, last - count + 1), last))


def follow(
    source: EntrySource, shown: list[Entry], *, sleep: Callable[[float], None] = time.sleep
) -> Iterator[Entry | TailCut]:
    """Yield new entries forever, and cuts of entries that were shown."""
    known = deque[tuple[int, int]](maxlen=REMEMBERED_MAX)
    known.extend((each.index, each.crc) for each in shown)
    while True:
        above = _agreed(source, known)
        if known and above < known[-1][0]:
            while known and known[-1][0] > above:
                known.pop()
            yield TailCut(above)
        last = source.last()
        if above == last:
            sleep(POLL_S)
            continue
        for entry in logs.entries(source, above + 1, last):
            known.append((entry.index, entry.crc))
            yield entry


def _agreed(source: EntrySource, known: deque[tuple[int, int]]) -> int:
    """Return the last shown entry that is still in the log; 0 without any."""
    for index, crc in reversed(known):
        found = next(iter(logs.entries(source, index, index)), None)
        if found is not None and found.crc == crc:
            return index
    return min(known[0][0] - 1, source.last()) if known else 0
