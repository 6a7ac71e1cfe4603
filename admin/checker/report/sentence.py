"""The verdict on a report, or on several, as a sentence."""

from collections.abc import Sequence

from admin.checker.quick import HistoryReport
from admin.checker.verdict import Result, overall


def sentence(report: HistoryReport) -> str:
    """Return the verdict on one run in a sentence."""
    by = {
        result: [each.verdict for each in report.checked if each.verdict.result is result]
        for result in Result
    }
    facts = sum(each.verdict.facts for each in report.checked)
    if by[Result.FAIL]:
        names = ", ".join(each.invariant for each in by[Result.FAIL])
        broken = len(by[Result.FAIL])
        verb = "does" if broken == 1 else "do"
        return f"{broken} of {_examined(report)} invariants {verb} not hold: {names}."
    if by[Result.UNKNOWN]:
        first = by[Result.UNKNOWN][0]
        return f"Nothing is known to be broken, but {first.invariant} is undecided: {first.note}."
    if not by[Result.PASS]:
        return "There was nothing to examine."
    held = len(by[Result.PASS])
    what = "The one invariant that could be examined holds"
    what = what if held == 1 else f"All {held} invariants that could be examined hold"
    return f"{what}, on {facts:,} fact{'s' if facts != 1 else ''}."


def _examined(report: HistoryReport) -> int:
    return sum(each.verdict.result is not Result.SKIPPED for each in report.checked)


def summed(reports: Sequence[HistoryReport]) -> str:
    """Return the verdict on all runs in a sentence."""
    if len(reports) == 1:
        return sentence(reports[0])
    failed = [each for each in reports if each.result is Result.FAIL]
    doubtful = [each for each in reports if each.result is Result.UNKNOWN]
    said = f"{len(failed)} of {len(reports)} runs break an invariant"
    if overall(each.result for each in reports) is Result.PASS:
        return f"All {len(reports)} runs hold everything that could be examined."
    more = f"; of {len(doubtful)} the outcome is unknown" if doubtful else ""
    return f"{said if failed else 'No run is known to break an invariant'}{more}."
