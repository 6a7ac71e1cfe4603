"""The guarantees of a restored cluster: all writes up to one index, none after it.

A restore goes back on purpose. So the history of a run is judged in stretches: what was asked of
the former cluster by itself, and what was asked of the restored one on top of those writes of the
former that are at or below the index.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from admin.checker.operation import LOOKS
from admin.workload.history import HistoryLine, OutcomeType
from election.messages import Index, Position, Term


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredPoint:
    """A restore: the new cluster continues from `index` of the old one, from `term` on.

    `at`: when the former was gone for good, in nanoseconds of the monotonic clock.
    """

    index: int
    term: int
    at: int

    def has(self, place: Position) -> bool:
        """Is an entry there that was confirmed at this place, by it or by the former cluster?"""
        return place.term >= self.term or place.index <= self.index


def survives(points: Sequence[RestoredPoint], place: Position) -> bool:
    """Return whether an entry is there after all these restores."""
    return all(point.has(place) for point in points)


def stretches(
    lines: Sequence[HistoryLine], points: Sequence[RestoredPoint]
) -> list[list[HistoryLine]]:
    """Return the histories to check separately: one more than there are restores."""
    found: list[list[HistoryLine]] = []
    rest = list(lines)
    for point in points:
        found.append([line for line in rest if line.time < point.at])
        rest = list(_since(rest, point))
    return [*found, rest]


def without_places(lines: Sequence[HistoryLine], point: RestoredPoint) -> list[HistoryLine]:
    """The same; what was asked of the former cluster says no more where it is in which log.

    The logs of the restored cluster begin behind all of that.
    """
    begun: dict[int, bool] = {}
    found: list[HistoryLine] = []
    for line in lines:
        if line.type is OutcomeType.INVOKE:
            begun[line.process] = line.time < point.at
        found.append(_unplaced(line) if begun[line.process] else line)
    return found


def _unplaced(line: HistoryLine) -> HistoryLine:
    return replace(line, session=None, seq=None, term=None, lsn=None, log_index=None, key_hash=None)


def _since(lines: Sequence[HistoryLine], point: RestoredPoint) -> Iterator[HistoryLine]:
    """Return the requests to the restored cluster, and the old writes that it has."""
    ends = _ends(lines)
    kept: set[int] = set()
    for line in lines:
        if line.type is not OutcomeType.INVOKE:
            if line.index in kept:
                yield line
            continue
        end = ends.get(line.index)
        if line.time >= point.at or (line.f not in LOOKS and _is_there(end, point)):
            yield line
            if end is not None:
                kept.add(end.index)


def _is_there(end: HistoryLine | None, point: RestoredPoint) -> bool:
    """May a restored cluster have what ended so, or did not end, in the former one?

    What was unknown is looked up later: it is there when that ended well.
    """
    if end is None:
        return True
    if end.log_index is not None and end.term is not None:
        return point.has(Position(Term(end.term), Index(end.log_index)))
    late = end.time >= point.at
    return late and end.type is not OutcomeType.FAIL


def _ends(lines: Sequence[HistoryLine]) -> dict[int, HistoryLine]:
    """Return the last line of each operation, by the number of its first line."""
    found: dict[int, HistoryLine] = {}
    waiting: dict[int, int] = {}
    for line in lines:
        if line.type is OutcomeType.INVOKE:
            waiting[line.process] = line.index
        else:
            found[waiting.pop(line.process)] = line
    return found
