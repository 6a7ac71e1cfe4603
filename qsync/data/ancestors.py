"""Which clusters this one was made of, by forced recoveries: rows of `_ancestors`.

They are written where the log of the new cluster begins, and never after: no client writes them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from qsync.data import tuples

ANCESTORS_MAX: Final = 16
"""How many ancestors a node sends, the newest; a node that missed more recoveries gets none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ancestor:
    """A cluster that ended: all of this one's log up to `index`, which is of `term`, is its own.

    `generation`: how often the history had been begun again before it ended.
    """

    generation: int
    cluster: str
    index: int
    term: int


def row_of(ancestor: Ancestor) -> list[object]:
    """Its row."""
    return [ancestor.generation, ancestor.cluster, ancestor.index, ancestor.term]


def ancestors_of(rows: Iterable[bytes]) -> list[Ancestor]:
    """Return the clusters that stored rows name, the oldest first. Raises ValueError."""
    found = [
        Ancestor(
            generation=int(str(generation)),
            cluster=str(cluster),
            index=int(str(index)),
            term=int(str(term)),
        )
        for generation, cluster, index, term in map(tuples.stored, rows)
    ]
    return sorted(found, key=lambda each: each.generation)
