"""Search for an order of the operations that is legal for a sequential object.

Depth-first search of Wing and Gong with Lowe's memory of seen configurations: an operation may come
next if no other unplaced operation ended before it began. Four rules keep the search small, and
each skips only configurations that are explored elsewhere:

* an operation that changes nothing, or nothing observable, comes at once where it can;
* of operations with the same effect the one that ends first comes first;
* an unknown operation comes only if it changes the effect of the next one;
* a configuration is not entered if it was seen with fewer unknown operations used up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from admin.checker.linear.coding import NEVER, Coding
from admin.checker.linear.models import Model
from admin.checker.operation import FOREVER, Operation

STEPS_MAX = 1_000_000
"""How many configurations of one key a search enters before it is undecided."""

_NOBODY = -1


class SearchConclusion(Enum):
    """The possible conclusions of a search."""

    ORDER = "order"
    NO_ORDER = "no order"
    GAVE_UP = "gave up"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearSearch:
    """A conclusion. `order`: the numbers in the found order.

    `stuck`: the first to end among the operations that no order could place. `ends`: the possible
    final states, if requested.
    """

    found: SearchConclusion
    order: tuple[int, ...]
    steps: int
    stuck: int | None = None
    ends: frozenset[int] = frozenset()


def search(
    operations: Sequence[Operation], model: Model, *, steps_max: int = STEPS_MAX
) -> LinearSearch:
    """Search for a legal order of all operations that ended; unknown ones are optional."""
    needless = model.needless(operations)
    needed = [each for each in operations if each.number not in needless]
    coding = Coding(needed, model)
    return explore(needed, coding, start=coding.start, steps_max=steps_max)


def explore(
    operations: Sequence[Operation],
    coding: Coding,
    *,
    start: int,
    steps_max: int = STEPS_MAX,
    all_ends: bool = False,
) -> LinearSearch:
    """Search from a given state; with `all_ends` every order is followed to its end."""
    return _Searcher(operations, coding, steps_max).run(start, all_ends=all_ends)


class _Sorted:
    """The operations in arrays, by their begin; unknown ones separate."""

    __slots__ = ("before", "begun", "codes", "ended", "maybe", "numbers", "size")

    def __init__(self, operations: Sequence[Operation], coding: Coding) -> None:
        known = sorted((e for e in operations if e.ended is not None), key=lambda e: e.begun)
        maybe = sorted((e for e in operations if e.ended is None), key=lambda e: e.begun)
        self.size = len(known)
        self.maybe = len(maybe)
        self.numbers = [each.number for each in known + maybe]
        self.begun = [each.begun for each in known + maybe]
        self.ended = [FOREVER if each.ended is None else each.ended for each in known]
        self.codes = [coding.code(each) for each in known + maybe]
        self.before = self._alike()
        assert all(b <= e for b, e in zip(self.begun, self.ended, strict=False)), "ends before"

    def _alike(self) -> list[int]:
        """For each unknown one the bit of the last one with the same effect, or 0."""
        last: dict[int, int] = {}
        before: list[int] = []
        for at in range(self.maybe):
            code = self.codes[self.size + at]
            before.append(last.get(code, 0))
            last[code] = 1 << at
        return before


class _Level(NamedTuple):
    """A step of the search: placed operations, state, and next candidates, best last.

    The first `low` known operations are placed, and after them those with a bit in `window`. `used`
    has the bits of the placed unknown ones.
    """

    low: int
    window: int
    used: int
    state: int
    came_by: int
    choices: list[tuple[int, int, int]]


class _Searcher:
    def __init__(self, operations: Sequence[Operation], coding: Coding, steps_max: int) -> None:
        self._all = _Sorted(operations, coding)
        self._coding = coding
        self._steps_max = steps_max
        size = self._all.size
        # Known operations that are not placed, as a linked list; `size` is its end and its head.
        self._next = [*range(1, size + 1), 0]
        self._previous = [size, *range(size)]
        self._levels: list[_Level] = []
        self._seen: dict[tuple[int, int, int], list[int]] = {}
        self._stuck = _NOBODY
        self._stuck_at = -FOREVER
        self._steps = 0

    def run(self, start: int, *, all_ends: bool) -> LinearSearch:
        size, levels = self._all.size, self._levels
        ends: set[int] = set()
        self._enter(0, 0, 0, start, _NOBODY)
        while levels:
            if self._next[size] == size:
                if not all_ends:
                    return self._conclude(SearchConclusion.ORDER)
                ends.add(levels[-1].state)
                self._leave()
            elif self._steps > self._steps_max:
                return self._conclude(SearchConclusion.GAVE_UP)
            elif not levels[-1].choices:
                self._leave()
            else:
                self._advance()
        return self._conclude(
            SearchConclusion.ORDER if ends else SearchConclusion.NO_ORDER, frozenset(ends)
        )

    def _advance(self) -> None:
        """Place the best remaining choice, unless its configuration was seen."""
        level = self._levels[-1]
        _, item, state = level.choices.pop()
        low, window, used = level.low, level.window, level.used
        unknown = item - self._all.size
        if unknown >= 0:
            used |= 1 << unknown
        elif item == low:
            low, window = low + 1, window >> 1
            if window & 1:
                ones = (~window & window + 1).bit_length() - 1
                low, window = low + ones, window >> ones
        else:
            window |= 1 << item - low
        if self._is_new(low, window, used, state):
            if unknown < 0:
                after, before = self._next[item], self._previous[item]
                self._next[before], self._previous[after] = after, before
            self._enter(low, window, used, state, item)

    def _is_new(self, low: int, window: int, used: int, state: int) -> bool:
        key = (low, window, state)
        seen = self._seen.get(key)
        if seen is None:
            self._seen[key] = [used]
            return True
        if any(one & ~used == 0 for one in seen):
            return False
        seen.append(used)
        return True

    def _enter(self, low: int, window: int, used: int, state: int, came_by: int) -> None:
        self._steps += 1
        parent = self._levels[-1].state if came_by >= self._all.size else _NOBODY
        choices = self._choices(state, used, parent)
        self._levels.append(_Level(low, window, used, state, came_by, choices))

    def _leave(self) -> None:
        item = self._levels.pop().came_by
        if 0 <= item < self._all.size:
            after, before = self._next[item], self._previous[item]
            self._next[before] = self._previous[after] = item

    def _choices(self, state: int, used: int, parent: int) -> list[tuple[int, int, int]]:
        """The next candidates: every operation that began before the first remaining end.

        `parent` is the state before, if an unknown operation was placed last.
        """
        begun, ended, codes = self._all.begun, self._all.ended, self._all.codes
        follow, row, step = self._next, self._coding.rows[state], self._coding.step
        looks, idle, unseen = self._coding.looks, self._coding.idle, state == self._coding.unseen
        found: list[tuple[int, int, int]] = []
        first_end, first = FOREVER + 1, _NOBODY
        size = self._all.size
        item = follow[size]
        while item != size and begun[item] <= first_end:
            if ended[item] < first_end:
                first_end, first = ended[item], item
            after = row.get(codes[item])
            if after is None:
                after = step(state, codes[item])
            if after == state and (looks[codes[item]] or (unseen and idle[codes[item]])):
                return [] if self._wasted(parent, item, after) else [(0, item, after)]
            if after != NEVER and not self._wasted(parent, item, after):
                found.append((-ended[item], item, after))
            item = follow[item]
        if first_end > self._stuck_at and first != _NOBODY:
            self._stuck, self._stuck_at = first, first_end
        if len(found) > 1:
            found = self._first_of_each(found)
        return self._unknown(state, used, parent, first_end) + found if self._all.maybe else found

    def _wasted(self, parent: int, item: int, after: int) -> bool:
        return parent != _NOBODY and self._coding.step(parent, self._all.codes[item]) == after

    def _first_of_each(self, found: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
        """Return candidates by end, the earliest last; of equal ones only the earliest."""
        found.sort()
        codes = self._all.codes
        best = {codes[choice[1]]: choice for choice in found}
        return found if len(best) == len(found) else sorted(best.values())

    def _unknown(
        self, state: int, used: int, parent: int, first_end: int
    ) -> list[tuple[int, int, int]]:
        found: list[tuple[int, int, int]] = []
        size, every = self._all.size, self._all
        for at in range(every.maybe):
            item = size + at
            if every.begun[item] > first_end:
                break
            needs = every.before[at]
            if used >> at & 1 or used & needs != needs:
                continue
            after = self._coding.step(state, every.codes[item])
            if after not in (NEVER, state) and not self._wasted(parent, item, after):
                found.append((0, item, after))
        return found

    def _conclude(
        self, found: SearchConclusion, ends: frozenset[int] = frozenset()
    ) -> LinearSearch:
        order: tuple[int, ...] = ()
        numbers = self._all.numbers
        if found is SearchConclusion.ORDER:
            order = tuple(numbers[level.came_by] for level in self._levels if level.came_by >= 0)
        stuck = None if found is SearchConclusion.ORDER or self._stuck < 0 else numbers[self._stuck]
        return LinearSearch(found=found, order=order, steps=self._steps, stuck=stuck, ends=ends)
