"""Make a failing run small: fewer events, nodes, clients, keys, troubles; the same failure."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from admin.soak.judge import Judge, JudgedSeed
from qsync.sim.plan import Plan
from qsync.sim.swarm import NAMES, OPERATIONS

TRIES_MAX = 300
"""So many smaller runs are tried, then the smallest failing one so far has to do."""
EVENTS_MIN = 20

Told = Callable[[JudgedSeed, int], None]
"""Takes a smaller failing run, and how many were tried so far."""


def shrink(
    broken: JudgedSeed, judge: Judge, *, tries_max: int = TRIES_MAX, told: Told
) -> JudgedSeed:
    """The smallest run found that breaks the same property."""
    return _Shrinker(broken, judge, tries_max, told).run()


class _Shrinker:
    """Takes a smaller plan as soon as one fails in the same way, and goes on from there."""

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
        """The smallest one so far."""
        return self.best.report.plan

    def run(self) -> JudgedSeed:
        """Until nothing makes it smaller, or the tries are used up."""
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
        """Say the number of nodes, which a person wants to see; the run stays what it was."""
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
        """Not longer than until it broke; then by halves, quarters, tenths, as long as it goes."""
        self._fails(replace(self.plan, events=min(self.plan.events, self.best.report.events)))
        while self._first(
            replace(self.plan, events=events)
            for part in (0.5, 0.75, 0.9)
            if (events := int(self.plan.events * part)) >= EVENTS_MIN
        ):
            pass

    def _sizes(self) -> None:
        """The fewest that still fail."""
        report = self.best.report
        self._first(replace(self.plan, nodes=few) for few in range(1, report.nodes))
        self._first(replace(self.plan, clients=few) for few in range(1, report.clients))
        self._first(replace(self.plan, keys=few) for few in range(1, report.keys))

    def _kinds(self) -> None:
        """Whole kinds of trouble."""
        for kind in sorted(set(self.best.report.strikes.values())):
            self._without(kind)

    def _strikes(self) -> None:
        """Single troubles, large handfuls first."""
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
        """Kinds need not be left out by name where the few strikes left are counted."""
        plan = self.plan
        if plan.strikes is not None:
            kept = tuple(name for name in plan.without if name not in NAMES)
            self._fails(replace(plan, without=kept))

    def _flaws(self) -> None:
        """What is wrong all the time, and what clients need not do."""
        report = self.best.report
        done = [name for name in OPERATIONS if f"{name} asked" in report.counts]
        for name in (*report.flaws, *done):
            self._without(name)

    def _without(self, name: str) -> bool:
        plan = self.plan
        if name in plan.without:
            return False
        return self._fails(replace(plan, without=tuple(sorted({*plan.without, name}))))
