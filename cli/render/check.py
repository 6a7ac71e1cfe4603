"""The output of `qsync check`: verdicts as lines of text, or as members of the JSON document."""

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from admin.checker.operation import FOREVER, Operation
from admin.checker.quick import CheckedInvariant, HistoryReport
from admin.checker.verdict import EXAMPLES_MAX, Result, Violation
from qsync.units import how_many

WIDE = 100
"""From this width on, a row also has the statement of its invariant."""
NARROW = 50
"""Below this width a row lacks the time that it took."""
_MARKS = {
    Result.PASS: ("ok", ""),
    Result.FAIL: ("FAIL", "bold red"),
    Result.UNKNOWN: ("?", "yellow"),
    Result.SKIPPED: ("-", "dim"),
}


def heading(report: HistoryReport) -> str:
    """Which history or bundle it is, and its verdict."""
    kinds = ", ".join(report.kinds) or "nothing known"
    history = f"{report.format}, {kinds}, {how_many(len(report.operations), 'operation')}"
    known = history if report.operations else "no operations of clients"
    return f"{report.file}: {report.result}  ({known}, {report.seconds:.3f} s)"


def table(checked: Sequence[CheckedInvariant], *, width: int, plain: bool) -> Table:
    """A row an invariant."""
    made = Table(box=None if plain else box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    marks = [_MARKS[each.verdict.result][0] for each in checked]
    made.add_column("", no_wrap=True, min_width=max(map(len, marks), default=0))
    made.add_column("invariant", no_wrap=True)
    made.add_column("facts", justify="right", no_wrap=True)
    if width >= NARROW:
        made.add_column("seconds", justify="right", no_wrap=True)
    if width >= WIDE:
        made.add_column("says")
    for each in checked:
        mark, colour = _MARKS[each.verdict.result]
        row = [mark, each.verdict.invariant, f"{each.verdict.facts:,}"]
        if width >= NARROW:
            row.append(f"{each.seconds:.3f}")
        if width >= WIDE:
            row.append(f"{each.title} ({each.verdict.note})" if each.verdict.note else each.title)
        made.add_row(*(Text(cell) for cell in row), style=colour)
    return made


def proofs(report: HistoryReport) -> list[str]:
    """The first violations of everything that does not hold, with what proves them."""
    lines = []
    for each in report.checked:
        verdict = each.verdict
        shown = verdict.violations[:EXAMPLES_MAX]
        if verdict.result is Result.FAIL:
            lines.append(f"{verdict.invariant}: {each.title}")
        if verdict.result is Result.UNKNOWN:
            lines.append(f"{verdict.invariant} is undecided: {verdict.note}")
        for violation in shown:
            lines += [f"  {line}" for line in violation.describe()]
        if verdict.count > len(shown):
            lines.append(f"  and {verdict.count - len(shown)} more")
    return lines


def report_members(report: HistoryReport) -> dict[str, object]:
    """A history as a member of the document."""
    return {
        "file": report.file,
        "format": report.format.value,
        "models": [kind.value for kind in report.kinds],
        "verdict": report.result.value,
        "operations": len(report.operations),
        "seconds": round(report.seconds, 6),
        "invariants": [
            members(each) | {"examples": [_violation(one) for one in _shown(each)]}
            for each in report.checked
        ],
    }


def members(checked: CheckedInvariant) -> dict[str, object]:
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


def _shown(checked: CheckedInvariant) -> Sequence[Violation]:
    return checked.verdict.violations[:EXAMPLES_MAX]


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
