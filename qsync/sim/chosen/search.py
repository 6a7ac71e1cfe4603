"""All runs of a scope, those with fewer faults first, so that the first violation is shortest."""

import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Final

from qsync.sim.chosen.play import BrokenRun, PlayedRun, play
from qsync.sim.chosen.scope import ChosenScope

RUNS_MAX: Final = 1_000_000
"""The default limit of runs of a search."""
REPORT_EVERY: Final = 20
"""Runs between two reports of progress."""

Taken = tuple[tuple[int, int], ...]
"""Questions by their number, with the chosen option of each, in their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenProgress:
    """The progress. `waiting`: known runs that were not played yet."""

    scope: str
    runs: int
    waiting: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenResult:
    """The result. `exhausted`: there is no run left, and no run violates a property.

    `states`: the number of different states. `alike`: the number of answers skipped because another
    one has the same result. `depth`: the maximum number of faults in a run.
    """

    scope: str
    mutant: str | None
    runs: int
    events: int
    states: int
    questions: int
    alike: int
    depth: int
    seconds: float
    exhausted: bool
    broken: BrokenRun | None
    happened: dict[str, int]
    """The number of runs in which it happened."""


class ChosenSearch:
    """One scope, from the run without faults on. Call `run` once."""

    def __init__(self, scope: ChosenScope, mutant: str | None = None) -> None:
        self.scope = scope
        self.mutant = mutant
        self._waiting: list[deque[Taken]] = [deque([()])]
        """By the number of faults in it."""
        self._runs = self._events = self._questions = self._alike = self._depth = 0
        self._pictures: set[bytes] = set()
        self._happened = Counter[str]()

    def run(
        self,
        *,
        runs_max: int = RUNS_MAX,
        progress: Callable[[ChosenProgress], None] | None = None,
    ) -> ChosenResult:
        """Run until no run is left, a property is violated, or there were `runs_max`."""
        began, broken = time.perf_counter(), None
        while broken is None and self._runs < runs_max:
            faults = next((at for at, runs in enumerate(self._waiting) if runs), None)
            if faults is None:
                break
            taken = self._waiting[faults].popleft()
            played = play(self.scope, dict(taken), self.mutant)
            self._count(played, faults)
            broken = played.broken
            for more in self._next(taken, played):
                self._await(more, played, faults)
            if progress is not None and self._runs % REPORT_EVERY == 0:
                progress(self._progress(time.perf_counter() - began))
        left = any(self._waiting)
        return ChosenResult(
            scope=self.scope.name,
            mutant=self.mutant,
            runs=self._runs,
            events=self._events,
            states=len(self._pictures),
            questions=self._questions,
            alike=self._alike,
            depth=self._depth,
            seconds=time.perf_counter() - began,
            exhausted=broken is None and not left,
            broken=broken,
            happened=dict(self._happened),
        )

    def _count(self, played: PlayedRun, faults: int) -> None:
        self._runs += 1
        self._events += played.events
        self._depth = max(self._depth, faults)
        self._pictures |= played.pictures
        self._happened.update([name for name, often in played.happened.items() if often])

    def _next(self, taken: Taken, played: PlayedRun) -> Iterator[Taken]:
        """The same run up to a later question, with another answer there."""
        first = taken[-1][0] + 1 if taken else 0
        seen: set[Hashable] = set()
        for number in range(first, len(played.questions)):
            question = played.questions[number]
            self._questions += 1
            known = question.place is not None and question.place in seen
            seen.add(question.place)
            for option in range(1, len(question.costs)):
                if known and option not in question.inside:
                    self._alike += 1
                else:
                    yield (*taken, (number, option))

    def _await(self, more: Taken, played: PlayedRun, faults: int) -> None:
        number, option = more[-1]
        costly = played.questions[number].costs[option] is not None
        while len(self._waiting) <= faults + costly:
            self._waiting.append(deque())
        self._waiting[faults + costly].append(more)

    def _progress(self, seconds: float) -> ChosenProgress:
        return ChosenProgress(
            scope=self.scope.name,
            runs=self._runs,
            waiting=sum(map(len, self._waiting)),
            seconds=seconds,
        )
