"""A check as one HTML file: the verdict, every invariant, the timeline, and the proofs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from admin.checker.quick import CheckedInvariant, HistoryReport
from admin.checker.report import timeline, witness
from admin.checker.report.places import PlacedViolation, placed
from admin.checker.report.sentence import sentence, summed
from admin.checker.report.story import Story, tell
from admin.checker.verdict import EXAMPLES_MAX, Result, overall
from admin.evidence.bundle import Bundle, is_bundle
from admin.html import page

RUNS_MAX = 20
"""How many runs are shown in full, those with violations first; all are in the list."""
WITNESSES_MAX = 60
"""How many violations of a run have a section; the table of violations has all kept ones."""
PROOFS_OPEN_MAX = 10
"""How many of them are expanded; the others are collapsed."""
_SIGNS = {
    Result.PASS: '<span class="good">&#10003;&nbsp;holds</span>',
    Result.FAIL: '<span class="bad">&#10007;&nbsp;broken</span>',
    Result.UNKNOWN: '<span class="doubt">?&nbsp;undecided</span>',
    Result.SKIPPED: '<span class="muted">&ndash;&nbsp;skipped</span>',
}
_BANNERS = {Result.PASS: " passed", Result.FAIL: "", Result.UNKNOWN: " doubtful"}
_BANNERS[Result.SKIPPED] = " doubtful"
_FROM_A_LOG = "by the clocks of the leaders, from a log; each leader is drawn until the next one"
_WORST = (Result.FAIL, Result.UNKNOWN, Result.PASS, Result.SKIPPED)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """How the check was made, as text."""

    engine: str
    seconds: float
    version: str


def render(reports: Sequence[HistoryReport], how: Circumstances) -> str:
    """The whole file."""
    ordered = sorted(reports, key=lambda each: _WORST.index(each.result))
    result = overall(each.result for each in reports)
    made = f"qsync {escape(how.version)}, {escape(how.engine)}, {how.seconds:.1f} s"
    body = [
        "<h1>Consistency check</h1>",
        f'<p class="verdict{_BANNERS[result]}">{escape(summed(reports))}</p>',
        f'<p class="muted small">{made}</p>',
    ]
    if len(reports) > 1:
        body.append(_runs(ordered))
    for place, report in enumerate(ordered[:RUNS_MAX], start=1):
        body += _run(report, anchor=f"run{place}", alone=len(reports) == 1)
    return page.whole("Consistency check", body, style=timeline.STYLE + witness.STYLE + _STYLE)


_STYLE = """
.facts { display: flex; flex-wrap: wrap; gap: .2rem 1.6rem; margin: .6rem 0; padding: 0; }
.facts li { list-style: none; } .facts b { font-weight: 500; color: var(--muted); }
summary { cursor: pointer; color: var(--muted); padding: .5rem 0; }
.invariants td:first-child { white-space: nowrap; }
td .says { color: var(--muted); font-size: .87rem; margin-left: .7rem; }
@media (max-width: 46rem) { td .says { display: block; margin: 0; }
  .invariants :is(td, th):nth-child(n+4) { display: none; } }
"""


def _runs(ordered: Sequence[HistoryReport]) -> str:
    """Runs that are not shown in full are collapsed."""
    rows = []
    for place, each in enumerate(ordered, start=1):
        name = escape(each.file)
        linked = f'<a href="#run{place}">{name}</a>' if place <= RUNS_MAX else name
        rows.append((_SIGNS[each.result], linked, escape(sentence(each))))
    shown = page.table(("", "run", ""), rows[:RUNS_MAX])
    if len(rows) <= RUNS_MAX:
        return shown
    more = page.table(("", "run", ""), rows[RUNS_MAX:])
    return shown + page.folded(f"{len(rows) - RUNS_MAX:,} more runs", more)


def _run(report: HistoryReport, *, anchor: str, alone: bool) -> Iterable[str]:
    yield f'<h2 id="{anchor}">{escape(report.file)}</h2>'
    if not alone:
        banner = _BANNERS[report.result]
        yield f'<p class="verdict{banner}">{escape(sentence(report))}</p>'
    path = Path(report.file)
    bundle = Bundle.open(path) if is_bundle(path) else None
    if bundle is not None:
        yield _facts(bundle, report)
    yield "<h3>Invariants</h3>"
    yield _invariants(report.checked)
    kept = [each.verdict.violations[:EXAMPLES_MAX] for each in report.checked]
    found = [PlacedViolation(violation) for some in kept for violation in some]
    if bundle is not None:
        story = tell(bundle)
        found = placed(bundle, story, report, each_max=EXAMPLES_MAX)
        yield from _timeline(story, found, anchor)
    if found:
        yield "<h3>Proofs</h3>"
    titles = {each.verdict.invariant: each.title for each in report.checked}
    proofs = [
        "".join(witness.section(place, e, anchor=anchor, title=titles[e.violation.invariant]))
        for place, e in enumerate(found[:WITNESSES_MAX], start=1)
    ]
    yield from proofs[:PROOFS_OPEN_MAX]
    if len(proofs) > PROOFS_OPEN_MAX:
        words = f"{len(proofs) - PROOFS_OPEN_MAX} more proofs"
        yield page.folded(words, "".join(proofs[PROOFS_OPEN_MAX:]))
    count = sum(each.verdict.count for each in report.checked)
    if count > min(len(found), WITNESSES_MAX):
        hidden = count - min(len(found), WITNESSES_MAX)
        yield f'<p class="muted">and {hidden:,} more</p>'


def _facts(bundle: Bundle, report: HistoryReport) -> str:
    known = bundle.manifest
    nodes = ", ".join(each.name or f"node {each.node}" for each in known.nodes)
    told = {
        "run": known.run_id,
        "from": known.source,
        "cluster": known.cluster,
        "nodes": nodes,
        "quorum": f"{known.quorum} of {known.voters}" if known.quorum else "",
        "operations": f"{len(report.operations):,}" if report.operations else "",
        "again with": known.command,
    }
    items = "".join(
        f"<li><b>{name}</b> {escape(value)}</li>" for name, value in told.items() if value
    )
    return f'<ul class="facts small">{items}</ul>'


def _invariants(checked: Sequence[CheckedInvariant]) -> str:
    """Skipped invariants are collapsed; if one fails, those that hold are collapsed too."""
    by_result = {one: [each for each in checked if each.verdict.result is one] for one in _WORST}
    odd = by_result[Result.FAIL] + by_result[Result.UNKNOWN]
    skipped, holds = by_result[Result.SKIPPED], by_result[Result.PASS]
    parts = [_rows(odd or holds)]
    if odd and holds:
        parts.append(page.folded(f"{len(holds)} hold", _rows(holds)))
    if skipped:
        words = f"{len(skipped)} skipped: the evidence does not have what they need"
        parts.append(page.folded(words, _rows(skipped)))
    return "".join(parts)


def _rows(checked: Sequence[CheckedInvariant]) -> str:
    rows = []
    for each in checked:
        verdict = each.verdict
        note = f"{each.title} ({verdict.note})" if verdict.note else each.title
        name = f'{escape(verdict.invariant)}<span class="says">{escape(note)}</span>'
        facts = f"{verdict.facts:,}" if verdict.facts else ""
        violations = f"{verdict.count:,}" if verdict.count else ""
        rows.append((_SIGNS[verdict.result], name, facts, violations, f"{each.seconds:.3f}"))
    heads = ("verdict", "invariant", "facts", "violations", "seconds")
    shown = page.table(heads, rows, numbers=frozenset({2, 3, 4}))
    return f'<div class="invariants">{shown}</div>'


def _timeline(story: Story, found: Sequence[PlacedViolation], anchor: str) -> Iterable[str]:
    yield "<h3>Timeline</h3>"
    if story.length:
        marks = found[:WITNESSES_MAX]
        yield timeline.leaders(story, marks, anchor=anchor)
        yield timeline.confirmed(story, marks)
        clock = _FROM_A_LOG if story.walls else "since it began"
        yield f'<p class="muted small">Seconds, {clock}.{_cut(story)}</p>'
    else:
        yield '<p class="muted">The evidence has no times.</p>'
    untimed = ", ".join(each.text for each in story.faults if each.begun is None)
    if untimed:
        yield f'<p class="small">Faults without a recorded time: {escape(untimed)}.</p>'


def _cut(story: Story) -> str:
    return " Some of it is not drawn." if story.cut else ""
