"""Shrinks a failing run: fewer events, nodes, clients, keys and faults, the same failure."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from admin.soak.judge import Judge, JudgedSeed
from qsync.sim.plan import Plan
from qsync.sim.swarm import NAMES, OPERATIONS

TRIES_MAX = 300
"""How many smaller runs are tried at most."""
EVENTS_MIN = 20

Told = Callable[[JudgedSeed, int], None]
"""Called with each smaller failing run, and the number of tries so far."""


def shrink(
    broken: JudgedSeed, judge: Judge, *, tries_max: int = TRIES_MAX, told: Told
) -> JudgedSeed:
    """Return the smallest run found that breaks the same property."""
    return _Shrinker(broken, judge, tries_max, told).run()


class _Shrinker:
    """Takes a smaller plan whenever one fails in the same way, and continues from it."""

    def __init__(self, broken: JudgedSeed, judge: Judge, tries_max: int, told: Told) -> None:
        assert broken.finding is not None
        self.check = broken.finding.check
        self.best = broken
        self.tries = 0
        self._judge = judge
        self._tries_max = tries_max
        self._told = told

    @property
    def plan(self) -> Plan:
        """The smallest failing plan so far."""
        return self.best.report.plan

    def run(self) -> JudgedSeed:
        """Shrink until nothing gets smaller, or the tries are used up."""
        self._pin()
        while True:
            before = self.plan
            for shorten in (
                self._events,
                self._sizes,
                self._kinds,
                self._strikes,
                self._flaws,
            ):
                shorten()
            if self.plan == before or self.tries >= self._tries_max:
                self._shorten_line()
                return self.best

    def _pin(self) -> None:
        """Set the number of nodes explicitly, for the reader; the run does not change."""
        report = self.best.report
        plan = replace(report.plan, nodes=report.nodes)
        self.best = replace(self.best, report=replace(report, plan=plan))

    def _fails(self, plan: Plan) -> bool:
        """Try a plan; take it if it fails in the same way."""
        if plan == self.plan or self.tries >= self._tries_max:
            return False
        self.tries += 1
        judged = self._judge(plan)
        if judged.finding is None or judged.finding.check != self.check:
            return False
        self.best = judged
        self._told(judged, self.tries)
        return True

    def _first(self, plans: Iterator[Plan]) -> bool:
        return any(self._fails(plan) for plan in plans)

    # -- what is made smaller

    def _events(self) -> None:
        """End at the failure; then try halves, quarters and tenths of the events."""
        self._fails(replace(self.plan, events=min(self.plan.events, self.best.report.events)))
        while self._first(
            replace(self.plan, events=events)
            for part in (0.5, 0.75, 0.9)
            if (events := int(self.plan.events * part)) >= EVENTS_MIN
        ):
            pass

    def _sizes(self) -> None:
        """Find the smallest sizes that still fail."""
        report = self.best.report
        self._first(replace(self.plan, nodes=few) for few in range(1, report.nodes))
        self._first(replace(self.plan, clients=few) for few in range(1, report.clients))
        self._first(replace(self.plan, keys=few) for few in range(1, report.keys))

    def _kinds(self) -> None:
        """Leave out whole kinds of faults."""
        for kind in sorted(set(self.best.report.strikes.values())):
            self._without(kind)

    def _strikes(self) -> None:
        """Leave out single faults, many at a time first."""
        left = sorted(self.best.report.strikes)
        handful = len(left)
        while handful:
            at = 0
            while at < len(left):
                fewer = (*left[:at], *left[at + handful :])
                if self._fails(replace(self.plan, strikes=fewer)):
                    left = [number for number in fewer if number in self.best.report.strikes]
                else:
                    at += handful
            handful //= 2

    def _shorten_line(self) -> None:
        """Remove the names of left-out kinds if the remaining faults are listed anyway."""
        plan = self.plan
        if plan.strikes is not None:
            kept = tuple(name for name in plan.without if name not in NAMES)
            self._fails(replace(plan, without=kept))

    def _flaws(self) -> None:
        """Leave out permanent faults, and habits of clients."""
        report = self.best.report
        done = [name for name in OPERATIONS if f"{name} asked" in report.counts]
        for name in (*report.flaws, *done):
            self._without(name)

    def _without(self, name: str) -> bool:
        plan = self.plan
        if name in plan.without:
            return False
        return self._fails(replace(plan, without=tuple(sorted({*plan.without, name}))))
