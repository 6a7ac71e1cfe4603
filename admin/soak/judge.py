"""One run, judged: by the properties that the simulator asserts, then by what its clients saw."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from admin.checker.verdict import Result, Verdict
from admin.soak.claims import claims
from qsync.sim.canon import PROPERTIES
from qsync.sim.plan import Plan
from qsync.sim.run import Run, SeedReport, run


class SeedConclusion(StrEnum):
    """`inconclusive`: nothing broke or nothing was acknowledged, so nothing is proven."""

    HELD = "held"
    BROKEN = "broken"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedFinding:
    """What broke. `number`: the property of protocol.md; None when only clients noticed.

    `check`: the property's name, or the invariant of the checker.
    """

    check: str
    number: int | None
    text: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSeed:
    """A run and what is to be said of it.

    `facts`: how much of what clients saw was examined. `undecided`: checks that came to their
    limit. `reached`: see `coverage`; empty unless somebody keeps a corpus.
    """

    report: SeedReport
    finding: SeedFinding | None
    facts: int
    undecided: tuple[str, ...]
    reached: frozenset[str] = frozenset()

    @property
    def conclusion(self) -> SeedConclusion:
        """Something broke, or nothing did, or it was no test."""
        if self.finding is not None:
            return SeedConclusion.BROKEN
        return SeedConclusion.INCONCLUSIVE if self.report.idle else SeedConclusion.HELD

    def describe(self) -> str:
        """One line."""
        report = self.report
        verdict = self.conclusion.value
        if self.finding is not None:
            verdict = self.finding.text
        elif report.idle:
            verdict += f": {report.idle}"
        return (
            f"seed {report.seed}: {report.nodes} nodes, {report.events} events, "
            f"{report.virtual_seconds:.1f} virtual s, {self.facts} facts, "
            f"trace {report.digest}: {verdict}"
        )


Judge = Callable[[Plan], JudgedSeed]


def judge(plan: Plan) -> JudgedSeed:
    """Run it and look at everything."""
    return look(run(plan))


def glance(plan: Plan) -> JudgedSeed:
    """Run it and trust the simulator's own properties: what clients saw is not looked at."""
    return asserted(run(plan))


def asserted(done: Run) -> JudgedSeed:
    """What the simulator says of itself."""
    return JudgedSeed(report=done.report, finding=_asserted(done.report), facts=0, undecided=())


def look(done: Run) -> JudgedSeed:
    """Judge a run that is over."""
    report = done.report
    finding = _asserted(report)
    verdicts = claims(done) if finding is None else []
    return JudgedSeed(
        report=report,
        finding=finding or _noticed(verdicts),
        facts=sum(each.facts for each in verdicts),
        undecided=tuple(each.invariant for each in verdicts if each.result is Result.UNKNOWN),
    )


def _asserted(report: SeedReport) -> SeedFinding | None:
    broken = report.broken
    if broken is None:
        return None
    return SeedFinding(
        check=PROPERTIES[broken.number],
        number=broken.number,
        text=broken.text,
        evidence=broken.evidence,
    )


def _noticed(verdicts: list[Verdict]) -> SeedFinding | None:
    for each in verdicts:
        if each.result is Result.FAIL:
            message = each.violations[0].message
            return SeedFinding(
                check=each.invariant,
                number=None,
                text=f"clients notice, {each.invariant}: {message}",
                evidence=tuple(each.describe()),
            )
    return None
