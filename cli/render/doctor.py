"""The problems that the doctor found, the worst first, each with its fix."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from admin.doctor.checks import CheckResult
from admin.doctor.facts import Finding, Severity

MARKS = {
    Severity.CRITICAL: ("x", "bold red"),
    Severity.WARNING: ("!", "bold yellow"),
    Severity.NOTE: ("i", "bold blue"),
}
"""Readable without colour: the sign says it too."""


def report(results: Sequence[CheckResult]) -> RenderableType:
    """All findings and one line that sums up."""
    found = [each for result in results for each in result.findings]
    found.sort(key=lambda each: list(Severity).index(each.severity))
    parts: list[RenderableType] = []
    for each in found:
        parts += _finding(each)
    return Group(*parts, _summary(results, found))


def _finding(found: Finding) -> list[RenderableType]:
    mark, style = MARKS[found.severity]
    head = Text(f"{mark} ", style=style)
    head.append(f"{found.severity} ", style=style)
    head.append(found.subject, style="bold")
    head.append(f": {found.text}")
    return [head, Padding(Text(f"-> {found.fix}"), (0, 0, 0, 2), expand=False)]


def _summary(results: Sequence[CheckResult], found: Sequence[Finding]) -> Text:
    fine = sum(not result.findings for result in results)
    counts = [(kind, sum(each.severity is kind for each in found)) for kind in Severity]
    said = [
        f"{count} {kind}" + ("s" if count > 1 and kind is not Severity.CRITICAL else "")
        for kind, count in counts
        if count
    ]
    line = f"{len(results)} checks: {fine} fine" + "".join(f", {each}" for each in said)
    return Text(line, style="bold")
