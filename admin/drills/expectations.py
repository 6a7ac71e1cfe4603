"""Compares the measures of a run with the expectations of its drill."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from admin.checker.verdict import Result
from admin.drills import measure
from admin.drills.measure import MEASURES
from admin.drills.model import CHECKS, Drill
from admin.drills.probes import MeasureUnit
from admin.drills.record import RunEnd, RunRecord
from admin.workload.catalogue import LOADS

NOT_PASSED = "not_passed"
"""In a comparison: the share of the runs that did not pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectationResult:
    """One expectation. `measured` and `limit` are texts for people; `why` explains a failure."""

    name: str
    met: bool
    measured: str
    limit: str
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """A run with its numbers and its verdict."""

    run: RunRecord
    end: RunEnd
    measures: Mapping[str, float | None]
    findings: tuple[ExpectationResult, ...]

    @property
    def sentence(self) -> str:
        """The verdict as a sentence."""
        name = self.run.drill.name
        missed = [each for each in self.findings if not each.met]
        match self.end:
            case RunEnd.PASSED:
                return f"{name} passed: {self._writes}, all guarantees held{self._left}."
            case RunEnd.FAILED:
                said = "; ".join(f"{e.name} is {e.measured}, not {e.limit}" for e in missed)
                return f"{name} failed: {_clause(self.run.stopped) or said}."
            case RunEnd.STOPPED:
                return f"{name} was stopped and healed: {_clause(self.run.stopped)}."
            case RunEnd.NOT_HEALED:
                return f"{name}: the cluster could not be healed: {_clause(self.run.stopped)}."
            case RunEnd.INTERRUPTED:
                return f"{name} was interrupted and healed."

    @property
    def _left(self) -> str:
        """The loss of a restore, as text."""
        count, seconds = self.measures.get("left_behind"), self.measures.get("rpo")
        if not self.run.restored or count is None:
            return ""
        ago = show(seconds, MeasureUnit.SECONDS)
        return f"; {count:g} acknowledged writes after the backup are lost, the first {ago} old"

    @property
    def _writes(self) -> str:
        """The interruption for clients, as text."""
        rto = self.measures.get("rto")
        if rto == 0.0:
            return f"writes never stopped for more than {measure.GAP_S:g} s"
        return f"writes were back after {show(rto, MeasureUnit.SECONDS)}"


def judge(run: RunRecord) -> JudgedRun:
    """Return the verdict on a run."""
    measured = measure.measures(run)
    findings = (*_limits(run, measured), *_checks(run))
    end = run.end
    if end is None:
        end = RunEnd.PASSED if all(each.met for each in findings) else RunEnd.FAILED
    return JudgedRun(run=run, end=end, measures=measured, findings=findings)


def checks(drill: Drill) -> list[str]:
    """Return the checks of a run: money and restores only if the run has them."""
    pointless: set[str] = set()
    if not LOADS[drill.load.kind].has_bank:
        pointless.add("total_conserved")
    if not any(step.verb == "restore" for step in drill.method):
        pointless.add("restored_exactly")
    return [name for name in drill.expect.checks if name not in pointless]


def show(value: float | None, scale: MeasureUnit) -> str:
    """Return a measure as a text for people."""
    if value is None:
        return "-"
    return f"{value:.3f} s" if scale is MeasureUnit.SECONDS else f"{value:g}"


def scale_of(name: str) -> MeasureUnit:
    """Return the unit of a measure; labels of steps are times."""
    if name == NOT_PASSED:
        return MeasureUnit.COUNT
    return MEASURES[name].scale if name in MEASURES else MeasureUnit.SECONDS


def _limits(run: RunRecord, measured: Mapping[str, float | None]) -> list[ExpectationResult]:
    return [
        ExpectationResult(
            name=name,
            met=(value := measured.get(name)) is not None and value <= limit,
            measured="not measured" if value is None else show(value, scale_of(name)),
            limit=f"at most {show(limit, scale_of(name))}",
        )
        for name, limit in run.drill.expect.limits.items()
    ]


def _checks(run: RunRecord) -> list[ExpectationResult]:
    return [_check(run, name) for name in checks(run.drill)]


def _check(run: RunRecord, name: str) -> ExpectationResult:
    if name == "one_leader_per_term":
        double = {term: nodes for term, nodes in run.terms.items() if len(nodes) > 1}
        why = tuple(f"term {term}: {', '.join(nodes)}" for term, nodes in double.items())
        return _finding(name, not double and bool(run.terms), why)
    proof = run.proof
    if proof is None:
        wanted, because = CHECKS[name], ("the run ended before",)
        return ExpectationResult(
            name=name, met=False, measured="not checked", limit=wanted, why=because
        )
    match name:
        case "linearizable":
            met, why = proof.linearity.result is Result.PASS, tuple(proof.linearity.describe())
        case "replicas_identical":
            met, why = proof.replicas_identical, (f"digests: {proof.digests}",)
        case "total_conserved":
            wrong = f"{proof.balances}, not {proof.balances_expected}"
            met, why = proof.total_conserved, (f"the bank holds {wrong}",)
        case "rolled_back_invisible":
            seen = proof.rolled_back_visible
            met, why = not seen, (f"rolled back and visible: {_some(seen)}",)
        case "restored_exactly":
            missing, more = _some(proof.lost), _some(proof.not_left_behind)
            met = bool(run.restored) and not proof.lost and not proof.not_left_behind
            why = (f"missing: {missing or 'none'}; behind the point and there: {more or 'none'}",)
        case _:
            raise AssertionError(name)
    return _finding(name, met, why)


def _finding(name: str, met: bool, why: Sequence[str]) -> ExpectationResult:  # noqa: FBT001 - reads as a pair
    return ExpectationResult(
        name=name,
        met=met,
        measured="holds" if met else "broken",
        limit=CHECKS[name],
        why=() if met else tuple(why),
    )


def _clause(text: str | None) -> str:
    return (text or "").rstrip(".")


def _some(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:10])) + (" ..." if len(numbers) > 10 else "")  # noqa: PLR2004 - examples
