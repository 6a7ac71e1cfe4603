"""Runs many seeds, remembers the results, and shrinks failures."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from admin.soak.corpus import Corpus
from admin.soak.judge import Judge, JudgedSeed, SeedConclusion
from admin.soak.ledger import RegisterFile
from admin.soak.pool import judged
from admin.soak.progress import SoakProgress
from admin.soak.shrink import TRIES_MAX, shrink
from qsync.sim.plan import Plan

SAVE_S = 5.0
"""How often the results are written to the file, about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failing run, and the smallest run that was found to fail in the same way."""

    found: JudgedSeed
    small: JudgedSeed


@dataclass(slots=True, kw_only=True)
class Soak:
    """What to run and how. `keep_going`: past failures; the first of each kind is shrunk."""

    plans: Iterable[Plan]
    judge: Judge
    book: RegisterFile
    progress: SoakProgress
    jobs: int = 1
    keep_going: bool = False
    tries_max: int = TRIES_MAX
    corpus: Corpus | None = None
    told: Callable[[str], None] = lambda _line: None
    """Called with the progress from time to time."""
    failures: list[Failure] = field(default_factory=list)
    _saved: float = 0.0

    def run(self) -> list[Failure]:
        """Run until all is done or a run failed. Results are saved however it ends.

        Raises OSError, before anything runs, where they could not be.
        """
        self.book.check_place()
        if self.corpus is not None:
            self.corpus.check_place()
        ledger = self.book.ledger
        plans = (plan for plan in self.plans if not ledger.known(plan.seed))
        try:
            for each in self._judged(plans):
                ledger.add(each)
                self.progress.add(each)
                if self.corpus is not None:
                    self.corpus.add(each)
                self._now_and_then()
                if each.conclusion is SeedConclusion.BROKEN:
                    self._broke(each)
                    if not self.keep_going:
                        break
        finally:
            self.book.save()
            if self.corpus is not None:
                self.corpus.save()
        return self.failures

    def _judged(self, plans: Iterable[Plan]) -> Iterator[JudgedSeed]:
        return judged(plans, self.judge, jobs=self.jobs)

    def _now_and_then(self) -> None:
        self.told(self.progress.describe())
        now = time.monotonic()
        if now - self._saved > SAVE_S:
            self._saved = now
            self.book.save()

    def _broke(self, broken: JudgedSeed) -> None:
        assert broken.finding is not None
        known = {each.found.finding.check for each in self.failures if each.found.finding}
        small = broken
        if self.tries_max and broken.finding.check not in known:
            small = shrink(broken, self.judge, tries_max=self.tries_max, told=self._smaller)
        self.failures.append(Failure(found=broken, small=small))

    def _smaller(self, smaller: JudgedSeed, tries: int) -> None:
        report = smaller.report
        self.told(
            f"seed {report.seed} broke; making it small, try {tries}: {report.nodes} nodes, "
            f"{report.events} events, {len(report.strikes)} strikes"
        )
