"""The shortest part of a failing history that still fails, for a person to follow by hand."""

from collections.abc import Sequence
from dataclasses import dataclass

from admin.checker.linear.coding import Coding
from admin.checker.linear.models import Atom, Model
from admin.checker.linear.search import LinearSearch, SearchConclusion, explore, search
from admin.checker.operation import FOREVER, LOOKS, Operation, until

SHRINK_STEPS_MAX = 300_000
"""The limit of search configurations for a short explanation."""

SHORT = 8
"""An explanation of at most this many operations is not shortened by cutting its beginning."""

RECENT = 8
"""How many operations at the end are tried first; then twice as many, and so on."""

OPENING_STATES_MAX = 4
"""The limit of possible states before an explanation that starts later in the history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Operations without a legal order, by time.

    `opening`: the possible states before them, as text, if they do not start with the history.
    """

    witness: tuple[Operation, ...]
    stuck: int | None
    opening: str = ""


def explain(operations: Sequence[Operation], model: Model, found: LinearSearch) -> Explanation:
    """Cut the history after the fault, remove irrelevant operations, then the beginning."""
    purse = _Purse(SHRINK_STEPS_MAX)
    failing = _prefix(operations, model, found.stuck, purse)
    small = _shrink(failing, model, purse)
    answer = _explanation(small, model, purse)
    if len(small) > SHORT:
        late = _late(failing, model, purse)
        if late is not None and len(late.witness) < len(small):
            return late
    return answer


class _Purse:
    """The remaining steps. A search that exceeds them proves nothing."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def fails(self, operations: Sequence[Operation], model: Model) -> bool:
        if self.left <= 0:
            return False
        found = search(operations, model, steps_max=self.left)
        self.left -= found.steps
        return found.found is SearchConclusion.NO_ORDER


def _prefix(
    operations: Sequence[Operation], model: Model, stuck: int | None, purse: _Purse
) -> list[Operation]:
    """The shortest prefix of the history without an order. Longer ones have none either."""
    ends = sorted(each.ended for each in operations if each.ended is not None)
    at = next((e.ended for e in operations if e.number == stuck and e.ended is not None), ends[-1])
    cut = until(operations, at)
    if purse.fails(cut, model):
        return cut
    # A model that knows later answers may get stuck in a prefix that is still legal by itself.
    low, high = ends.index(at), len(ends) - 1
    cut = list(operations)
    while high - low > 1:
        middle = (low + high) // 2
        part = until(operations, ends[middle])
        if purse.fails(part, model):
            high, cut = middle, part
        else:
            low = middle
    return cut


def _shrink(failing: list[Operation], model: Model, purse: _Purse) -> list[Operation]:
    """Remove atoms, large groups first, as long as the rest still has no order."""
    failing = _recent(failing, model, purse)
    handful = max(1, len(model.atoms(failing)) // 2)
    while purse.left > 0:
        before = len(model.atoms(failing))
        failing = _pass(failing, model, purse, handful)
        if handful > 1:
            handful //= 2
        elif len(model.atoms(failing)) == before:
            break
    return failing


def _pass(failing: list[Operation], model: Model, purse: _Purse, handful: int) -> list[Operation]:
    """Try once to remove each group."""
    atoms, at = model.atoms(failing), 0
    while at < len(atoms) and purse.left > 0:
        rest = _rest(failing, model, atoms[at : at + handful])
        if rest is not None and purse.fails(rest, model):
            failing, atoms = rest, model.atoms(rest)
        else:
            at += handful
    return failing


def _rest(
    operations: Sequence[Operation], model: Model, gone: Sequence[Atom]
) -> list[Operation] | None:
    rest = model.without(operations, frozenset(gone))
    return rest or None


def _recent(failing: list[Operation], model: Model, purse: _Purse) -> list[Operation]:
    """Most faults are near the end: try to keep only the atoms of the last few operations."""
    atoms = model.atoms(failing)
    ordered = sorted(failing, key=lambda each: each.begun)
    width = RECENT
    while width < len(ordered) // 2 and purse.left > 0:
        kept = frozenset(model.atoms(ordered[-width:]))
        rest = model.without(failing, frozenset(atoms) - kept)
        if rest and len(rest) < len(failing) and purse.fails(rest, model):
            return rest
        width *= 2
    return failing


def _explanation(small: list[Operation], model: Model, purse: _Purse) -> Explanation:
    found = search(small, model, steps_max=max(purse.left, SHRINK_STEPS_MAX))
    return Explanation(witness=_by_time(small), stuck=found.stuck)


def _late(failing: list[Operation], model: Model, purse: _Purse) -> Explanation | None:
    """Start at the last moment without running operations after which there is no order."""
    needless = model.needless(failing)
    needed = [each for each in failing if each.number not in needless]
    coding = Coding(needed, model)
    maybe = [each for each in needed if each.ended is None]
    runs = _runs(needed)
    openings = _openings(runs, maybe, coding, purse)
    for at in range(len(openings) - 1, 0, -1):
        states = openings[at]
        if not 0 < len(states) <= OPENING_STATES_MAX:
            continue
        rest = [each for run in runs[at:] for each in run] + maybe
        if _stuck_from(rest, coding, states, purse) is not None:
            return _opened(rest, coding, states, purse)
    return None


def _openings(
    runs: Sequence[list[Operation]], maybe: list[Operation], coding: Coding, purse: _Purse
) -> list[frozenset[int]]:
    """The possible states before each run, as far as the steps allow."""
    openings = [frozenset({coding.start})]
    for run in runs[:-1]:
        states = _ends(run + maybe, coding, openings[-1], purse)
        if not states:
            break
        openings.append(states)
    return openings


def _opened(
    rest: list[Operation], coding: Coding, states: frozenset[int], purse: _Purse
) -> Explanation:
    """Remove reads that are not needed, and describe the states before as text."""
    for look in [each for each in rest if each.f in LOOKS]:
        fewer = [each for each in rest if each is not look]
        if _stuck_from(fewer, coding, states, purse) is not None:
            rest = fewer
    words = " or ".join(sorted(coding.name(state) for state in states))
    stuck = _stuck_from(rest, coding, states, _Purse(SHRINK_STEPS_MAX))
    return Explanation(witness=_by_time(rest), stuck=stuck, opening=f"the state was {words}")


def _runs(operations: Sequence[Operation]) -> list[list[Operation]]:
    """Known operations in runs: each ends before the next begins."""
    parts: list[list[Operation]] = []
    end = -FOREVER
    for each in sorted(operations, key=lambda each: each.begun):
        if each.ended is None:
            continue
        if not parts or each.begun > end:
            parts.append([])
        parts[-1].append(each)
        end = max(end, each.ended)
    return parts


def _ends(
    run: Sequence[Operation], coding: Coding, starts: frozenset[int], purse: _Purse
) -> frozenset[int]:
    """Every possible state after a run; empty if unknown."""
    ends: set[int] = set()
    for start in starts:
        found = explore(run, coding, start=start, steps_max=max(0, purse.left), all_ends=True)
        purse.left -= found.steps
        if found.found is SearchConclusion.GAVE_UP:
            return frozenset()
        ends |= found.ends
    return frozenset(ends)


def _stuck_from(
    rest: Sequence[Operation], coding: Coding, states: frozenset[int], purse: _Purse
) -> int | None:
    """Return where the rest gets stuck from each of these states, or None if it has an order."""
    stuck: int | None = None
    for state in states:
        found = explore(rest, coding, start=state, steps_max=max(0, purse.left))
        purse.left -= found.steps
        if found.found is not SearchConclusion.NO_ORDER:
            return None
        stuck = found.stuck
    return stuck


def _by_time(operations: Sequence[Operation]) -> tuple[Operation, ...]:
    return tuple(sorted(operations, key=lambda each: each.begun))
