"""The test for a register whose written values are all different: near-linear in time.

Gibbons and Korach: all operations on one value must come in one block, its write first. The zone
of a value reaches from the earliest end of them to the latest begin. If it ends after it starts
(*forward*) the value must be present all that time, so no other block fits inside; if not
(*backward*) the block may be anywhere in it.
"""

import itertools
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from admin.checker.clip import clip
from admin.checker.operation import FOREVER, Frozen, Operation, freeze


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """Operations that have no legal order."""

    message: str
    witness: tuple[Operation, ...]


class Zone(NamedTuple):
    """When a value must be present: from the earliest end to the latest begin of its operations."""

    end: int
    begin: int
    value: Frozen


class _Block:
    """All operations on one value."""

    __slots__ = ("begin", "end", "first", "last", "write")

    def __init__(self) -> None:
        self.write: Operation | None = None
        self.end = FOREVER + 1
        self.begin = -FOREVER
        self.first: Operation | None = None
        self.last: Operation | None = None

    def add(self, operation: Operation) -> None:
        ended = FOREVER if operation.ended is None else operation.ended
        if ended < self.end:
            self.end, self.first = ended, operation
        if operation.begun > self.begin:
            self.begin, self.last = operation.begun, operation


def applies(operations: Sequence[Operation], initial: Frozen = None) -> bool:
    """Return whether there are only reads and writes, and no value is written twice."""
    written: set[Frozen] = {initial}
    for each in operations:
        if each.f == "write":
            value = freeze(each.value)
            if value in written:
                return False
            written.add(value)
        elif each.f != "read":
            return False
    return True


def clash(operations: Sequence[Operation], initial: Frozen = None) -> Clash | None:
    """The operations without an order, or None if there is an order. Call `applies` first."""
    blocks, wrong = _blocks(operations, initial)
    if wrong is not None:
        return wrong
    zones = [Zone(block.end, block.begin, value) for value, block in blocks.items()]
    zones.sort(key=lambda zone: zone[:2])
    forward = [zone for zone in zones if zone.end < zone.begin]
    for one, other in itertools.pairwise(forward):
        if other.end < one.begin:
            return _clash(blocks, one, other)
    starts = [zone.end for zone in forward]
    for zone in zones:
        if zone.end >= zone.begin:
            # Forward zones are disjoint here, so only the last one that starts before can contain
            # it.
            at = bisect_right(starts, zone.begin - 1) - 1
            if at >= 0 and zone.end < forward[at].begin:
                return _clash(blocks, forward[at], zone)
    return None


def _blocks(
    operations: Sequence[Operation], initial: Frozen
) -> tuple[dict[Frozen, _Block], Clash | None]:
    blocks: dict[Frozen, _Block] = {}
    writes = {freeze(each.value): each for each in operations if each.f == "write"}
    first = _Block()
    first.end = -FOREVER
    blocks[initial] = first
    for each in operations:
        if each.f != "read":
            continue
        value = freeze(each.value)
        write = writes.get(value)
        if write is None and value != initial:
            return blocks, Clash(message=f"nobody wrote {clip(each.value)}", witness=(each,))
        if write is not None and each.ended is not None and each.ended < write.begun:
            said = f"{clip(each.value)} was read before anybody began to write it"
            return blocks, Clash(message=said, witness=(each, write))
        blocks.setdefault(value, _Block()).add(each)
    for value, write in writes.items():
        # An unknown write that no read returned need not have happened.
        if write.ended is not None or value in blocks:
            block = blocks.setdefault(value, _Block())
            block.write = write
            block.add(write)
    return blocks, None


def _clash(blocks: dict[Frozen, _Block], one: Zone, other: Zone) -> Clash:
    found: dict[int, Operation] = {}
    for zone in (one, other):
        block = blocks[zone.value]
        for each in (block.write, block.first, block.last):
            if each is not None:
                found[each.number] = each
    witness = tuple(sorted(found.values(), key=lambda each: each.begun))
    return Clash(message=_words(one, other), witness=witness)


def _words(one: Zone, other: Zone) -> str:
    if other.end < other.begin:
        both = f"{clip(one.value)} and {clip(other.value)}"
        return f"{both} must both have been there at the same time"
    return f"{clip(other.value)} came and went while {clip(one.value)} must have been there"
