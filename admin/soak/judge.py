"""Checks one run: the properties that the simulator asserts, then what its clients saw."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from admin.checker.verdict import Result, Verdict
from admin.soak.claims import claims
from qsync.sim.canon import PROPERTIES
from qsync.sim.plan import Plan
from qsync.sim.run import Run, SeedReport, run


class SeedConclusion(StrEnum):
    """The result of a run. `inconclusive`: no fault or no acknowledged write, so no proof."""

    HELD = "held"
    BROKEN = "broken"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedFinding:
    """A violation. `number`: the number of the property; None if the simulator did not notice.

    `check`: the property's name, or the invariant of the checker. `again`: the command that shows
    it, if running the seed again does not.
    """

    check: str
    number: int | None
    text: str
    evidence: tuple[str, ...]
    again: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSeed:
    """A run and its result.

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
        """Return whether there was a violation, or none, or the run proves nothing."""
        if self.finding is not None:
            return SeedConclusion.BROKEN
        return SeedConclusion.INCONCLUSIVE if self.report.idle else SeedConclusion.HELD

    @property
    def command(self) -> str:
        """Return the command that shows the violation, or only runs the seed again."""
        again = "" if self.finding is None else self.finding.again
        return again or self.report.plan.command()

    def describe(self) -> str:
        """Describe the run in one line."""
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
    """Run a plan and check everything."""
    return look(run(plan))


def glance(plan: Plan) -> JudgedSeed:
    """Run a plan and check only the properties of the simulator, not what clients saw."""
    return asserted(run(plan))


def asserted(done: Run) -> JudgedSeed:
    """Return the violations that the simulator found."""
    return JudgedSeed(report=done.report, finding=_asserted(done.report), facts=0, undecided=())


def look(done: Run) -> JudgedSeed:
    """Check a run that is over."""
    report = done.report
    finding = _asserted(report)
    verdicts = claims(done) if finding is None else []
    return JudgedSeed(
        report=report,
        finding=finding or failed(verdicts, by="clients notice"),
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


def failed(verdicts: Iterable[Verdict], *, by: str, again: str = "") -> SeedFinding | None:
    """Return the first failed verdict as a finding. `by`: the words before its name."""
    for each in verdicts:
        if each.result is Result.FAIL:
            message = each.violations[0].message
            return SeedFinding(
                check=each.invariant,
                number=None,
                text=f"{by}, {each.invariant}: {message}",
                evidence=tuple(each.describe()),
                again=again,
            )
    return None
