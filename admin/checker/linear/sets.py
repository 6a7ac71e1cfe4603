"""The test for a growing set whose elements are added once: near-linear in time.

Of two answers one must contain the other, so the answers have one order, and it orders the
additions too: of two operations at different positions, the later must not have ended before the
earlier began.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from admin.checker.clip import clip
from admin.checker.linear.models import members, twice
from admin.checker.operation import FOREVER, Frozen, Operation, freeze


@dataclass(frozen=True, slots=True, kw_only=True)
class Torn:
    """The history restricted to these elements has no order either."""

    message: str
    elements: frozenset[Frozen]


class _Placed(NamedTuple):
    """An operation and its position in the order of answers: additions are odd, reads even."""

    place: int
    operation: Operation


def applies(operations: Sequence[Operation], initial: Sequence[Frozen] = ()) -> bool:
    """Return whether there are only reads, and additions of distinct elements."""
    added: set[Frozen] = set(initial)
    for each in operations:
        if each.f == "add":
            element = freeze(each.value)
            if element in added:
                return False
            added.add(element)
        elif each.f != "read":
            return False
    return True


def torn(operations: Sequence[Operation], initial: Sequence[Frozen] = ()) -> Torn | None:
    """The operations without an order, or None if there is an order. Call `applies` first."""
    for each in operations:
        for element in twice(each.value) if each.f == "read" else ():
            return Torn(
                message=f"an answer holds {clip(element)} twice", elements=frozenset({element})
            )
    adds = {freeze(each.value): each for each in operations if each.f == "add"}
    reads = [(members(each.value), each) for each in operations if each.f == "read"]
    answer, place = frozenset(initial), 0
    placed: list[_Placed] = []
    for known, read in sorted(reads, key=lambda pair: len(pair[0])):
        if not answer <= known:
            return _apart(answer, known)
        for element in _sorted(known - answer):
            if element not in adds:
                said = f"nobody added {clip(element)}"
                return Torn(message=said, elements=frozenset({element}))
            placed.append(_Placed(place + 1, adds.pop(element)))
        if answer != known:
            answer, place = known, place + 2
        placed.append(_Placed(place, read))
    # An unknown addition that no read returned need not have happened.
    placed += [_Placed(place + 1, each) for each in adds.values() if each.ended is not None]
    return _out_of_order(placed)


def _out_of_order(placed: list[_Placed]) -> Torn | None:
    """Two operations at different positions, of which the later ended before the earlier began."""
    placed.sort(key=lambda each: each.place)
    newest: Operation | None = None
    same: list[_Placed] = []
    for each in placed:
        if same and same[0].place != each.place:
            for _, one in same:
                newest = one if newest is None or one.begun > newest.begun else newest
            same = []
        ended = FOREVER if each.operation.ended is None else each.operation.ended
        if newest is not None and ended < newest.begun:
            return _late(newest, each.operation)
        same.append(each)
    return None


def _late(earlier: Operation, later: Operation) -> Torn:
    """The reason for the order of the two."""
    elements = {freeze(each.value) for each in (earlier, later) if each.f == "add"}
    if not elements:
        elements = {_sorted(members(later.value) - members(earlier.value))[0]}
    said = "an answer lacks what was there already, or holds what came later"
    return Torn(message=said, elements=frozenset(elements))


def _apart(one: frozenset[Frozen], other: frozenset[Frozen]) -> Torn:
    """Two answers of which neither contains the other."""
    elements = {*_sorted(one - other)[:1], *_sorted(other - one)[:1]}
    said = "two answers each lack what the other holds"
    return Torn(message=said, elements=frozenset(elements))


def _sorted(elements: frozenset[Frozen]) -> list[Frozen]:
    return sorted(elements, key=repr)
