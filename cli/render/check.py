"""What `qsync check` shows: verdicts as lines of text, or as members of the JSON document."""

from admin.checker.operation import FOREVER, Operation
from admin.checker.quick import Checked, Report
from admin.checker.verdict import Result, Violation

_MARKS = {Result.PASS: "ok  ", Result.FAIL: "FAIL", Result.UNKNOWN: "?   ", Result.SKIPPED: "-   "}


def report_lines(report: Report) -> list[str]:
    """A history: its invariants, and the proof of what does not hold."""
    kinds = ", ".join(report.kinds) or "nothing known"
    size = f"{len(report.operations)} operations, {report.seconds:.3f} s"
    lines = [f"{report.file}: {report.result}  ({report.format}, {kinds}, {size})"]
    for each in report.checked:
        verdict = each.verdict
        note = f"  ({verdict.note})" if verdict.note else ""
        lines.append(f"  {_MARKS[verdict.result]}  {verdict.invariant}: {each.title}{note}")
        for violation in verdict.violations:
            lines += [f"          {line}" for line in violation.describe()]
        hidden = verdict.count - len(verdict.violations)
        if hidden > 0:
            lines.append(f"          and {hidden} more")
    return lines


def report_members(report: Report) -> dict[str, object]:
    """A history as a member of the document."""
    return {
        "file": report.file,
        "format": report.format.value,
        "models": [kind.value for kind in report.kinds],
        "verdict": report.result.value,
        "operations": len(report.operations),
        "seconds": round(report.seconds, 6),
        "invariants": [
            members(each) | {"examples": [_violation(one) for one in each.verdict.violations]}
            for each in report.checked
        ],
    }


def members(checked: Checked) -> dict[str, object]:
    """An invariant as a member of the document."""
    return {
        "id": checked.verdict.invariant,
        "title": checked.title,
        "status": checked.verdict.result.value,
        "facts": checked.verdict.facts,
        "violations": checked.verdict.count,
        "seconds": round(checked.seconds, 6),
        "note": checked.verdict.note,
    }


def _violation(violation: Violation) -> dict[str, object]:
    return {
        "key": violation.key,
        "message": violation.message,
        "opening": violation.opening,
        "stuck": violation.stuck,
        "names": list(violation.names),
        "operations": [_operation(each) for each in violation.witness],
        "rows": [{"table": each.table, "row": dict(each.row)} for each in violation.rows],
    }


def _operation(operation: Operation) -> dict[str, object]:
    known = operation.ended is not None and operation.ended < FOREVER
    return {
        "number": operation.number,
        "process": operation.process,
        "type": operation.kind.value,
        "f": operation.f,
        "value": operation.value,
        "begun": operation.begun,
        "ended": operation.ended if known else None,
    }
