"""Node ids as a separate type, and renamings of symmetric clusters."""

from collections.abc import Iterable, Sequence
from itertools import permutations

from election.messages import Replica


class NodeId(int):
    """The id of a node. Machines keep this type in their configuration and messages."""

    __slots__ = ()


Renaming = tuple[int, ...]
"""New id by old id; 0, which means none, stays 0."""


def node_ids(count: int) -> tuple[Replica, ...]:
    """The ids 1 to `count`."""
    return tuple(Replica(NodeId(number)) for number in range(1, count + 1))


def renamings(count: int, groups: Iterable[Sequence[int]]) -> list[Renaming]:
    """All renamings that exchange ids within each group only; the identity comes first."""
    found: list[list[int]] = [list(range(count + 1))]
    for group in groups:
        found = [
            _exchanged(before, group, order)
            for before in found
            for order in permutations(sorted(group))
        ]
    return [tuple(each) for each in found]


def _exchanged(before: list[int], group: Sequence[int], order: tuple[int, ...]) -> list[int]:
    after = list(before)
    for old, new in zip(sorted(group), order, strict=True):
        after[old] = new
    return after
