"""Search for an order of the operations in which a sequential object could have answered so.

Depth-first search of Wing and Gong with Lowe's memory of configurations already seen: an operation
may come next if no other one that is not placed yet ended before it began.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from admin.checker.linear.models import Model, Operation, State

STEPS_MAX = 2_000_000
"""How far a search goes before it says that it does not know."""


class Found(Enum):
    """What a search may conclude."""

    ORDER = "order"
    NO_ORDER = "no order"
    GAVE_UP = "gave up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A conclusion. `order`: numbers as placed, when there is an order.

    `stuck`: the operation that ended first among those whose answers have no explanation: the
    history up to its end has no order, the history before it has.
    """

    found: Found
    order: tuple[int, ...]
    steps: int
    stuck: int | None = None


def search(operations: Sequence[Operation], model: Model, *, steps_max: int = STEPS_MAX) -> Search:
    """Look for a legal order of all operations that ended; unknown ones may be left out."""
    return _Searcher(operations, model).run(steps_max)


@dataclass(slots=True, eq=False)
class _Event:
    """The beginning or the end of an operation, in a list from which placed ones are lifted."""

    operation: Operation
    bit: int
    is_end: bool
    partner: "_Event | None" = None
    before: "_Event | None" = None
    after: "_Event | None" = None


class _Placed(NamedTuple):
    """Which operations are in the order: those that ended as a window, the others as a set."""

    low: int = 0
    window: int = 0
    unknown: int = 0

    def and_also(self, begin: _Event) -> "_Placed":
        if begin.partner is None:
            return _Placed(self.low, self.window, self.unknown | 1 << begin.bit)
        low, window = self.low, self.window | 1 << (begin.bit - self.low)
        while window & 1:
            low, window = low + 1, window >> 1
        return _Placed(low, window, self.unknown)


@dataclass(slots=True)
class _Level:
    """Where the search stands: what was placed last, and what may come next, best last."""

    placed: _Placed
    state: State
    came_by: _Event | None
    choices: list[tuple[_Event, State]]


class _Searcher:
    def __init__(self, operations: Sequence[Operation], model: Model) -> None:
        self._model = model
        self._head = _link([each for each in operations if each.ended is not None])
        dropped = model.unseen(operations)
        self._unknown = [
            _Event(each, bit, is_end=False)
            for bit, each in enumerate(sorted(operations, key=lambda each: each.begun))
            if each.ended is None and each.number not in dropped
        ]
        self._seen: set[tuple[_Placed, State]] = set()
        self._levels: list[_Level] = []
        self._stuck: int | None = None
        self._stuck_at = -1
        self._steps = 0

    def run(self, steps_max: int) -> Search:
        self._descend(None, _Placed(), self._model.initial)
        while self._head.after is not None:
            if self._steps > steps_max:
                return self._conclude(Found.GAVE_UP)
            level = self._levels[-1]
            if level.choices:
                event, state = level.choices.pop()
                placed = level.placed.and_also(event)
                if (placed, state) not in self._seen:
                    self._seen.add((placed, state))
                    self._descend(event, placed, state)
            elif level.came_by is not None:
                self._levels.pop()
                if level.came_by.partner is not None:
                    _unlift(level.came_by)
            else:
                return self._conclude(Found.NO_ORDER)
        self._stuck = None
        return self._conclude(Found.ORDER)

    def _descend(self, event: _Event | None, placed: _Placed, state: State) -> None:
        if event is not None and event.partner is not None:
            _lift(event)
        self._levels.append(_Level(placed, state, event, self._choices(placed, state)))

    def _choices(self, placed: _Placed, state: State) -> list[tuple[_Event, State]]:
        """What may come next: everything that began before the first end that is left."""
        known: list[tuple[_Event, State]] = []
        event = self._head.after
        while event is not None and not event.is_end:
            self._steps += 1
            legal, after = self._model.step(state, event.operation)
            if legal and after == state:
                # It changes nothing, so it may as well come at once: no need to try the others.
                return [(event, after)]
            if legal:
                known.append((event, after))
            event = event.after
        if event is None:
            return []
        self._note_stuck(event)
        known.sort(key=lambda each: each[0].operation.ended or 0, reverse=True)
        return self._unknown_choices(event, placed, state) + known

    def _unknown_choices(
        self, first_end: _Event, placed: _Placed, state: State
    ) -> list[tuple[_Event, State]]:
        found: list[tuple[_Event, State]] = []
        assert first_end.operation.ended is not None
        for event in self._unknown:
            if event.operation.begun >= first_end.operation.ended:
                break
            if placed.unknown >> event.bit & 1:
                continue
            self._steps += 1
            legal, after = self._model.step(state, event.operation)
            if legal and after != state:
                found.append((event, after))
        return found

    def _conclude(self, found: Found) -> Search:
        order = self._order() if found is Found.ORDER else ()
        return Search(found=found, order=order, steps=self._steps, stuck=self._stuck)

    def _order(self) -> tuple[int, ...]:
        return tuple(
            level.came_by.operation.number for level in self._levels if level.came_by is not None
        )

    def _note_stuck(self, event: _Event) -> None:
        """Whoever comes to an end that is not placed has explained everything before it."""
        assert event.operation.ended is not None
        if event.operation.ended > self._stuck_at:
            self._stuck, self._stuck_at = event.operation.number, event.operation.ended


def _link(operations: Sequence[Operation]) -> _Event:
    """The events in order of time behind a head that is none."""
    events: list[tuple[int, int, _Event]] = []
    for bit, operation in enumerate(sorted(operations, key=lambda each: each.begun)):
        assert operation.ended is not None
        assert operation.ended > operation.begun, operation
        begin = _Event(operation, bit, is_end=False)
        end = _Event(operation, bit, is_end=True)
        begin.partner, end.partner = end, begin
        events += [(operation.begun, 0, begin), (operation.ended, 1, end)]
    # Where two events share a place, beginnings come first: they overlap, which accuses less.
    events.sort(key=lambda each: each[:2])
    nobody = Operation(number=-1, process=-1, f="", value=None, begun=0, ended=None)
    head = last = _Event(nobody, -1, is_end=False)
    for _, _, event in events:
        last.after, event.before = event, last
        last = event
    return head


def _lift(begin: _Event) -> None:
    assert begin.partner is not None
    for event in (begin, begin.partner):
        assert event.before is not None
        event.before.after = event.after
        if event.after is not None:
            event.after.before = event.before


def _unlift(begin: _Event) -> None:
    assert begin.partner is not None
    for event in (begin.partner, begin):
        assert event.before is not None
        event.before.after = event
        if event.after is not None:
            event.after.before = event
