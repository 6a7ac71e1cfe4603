"""The report of a drill as one self-contained HTML file, with a drawing of the run."""

from collections.abc import Mapping
from html import escape

from admin.drills import drawing, report_tables
from admin.drills.report_tables import MISSED, ReportTable, text
from admin.html import page

_ABOUT = (
    "Seconds since the clients began. One row per node: the bar is the time in which it led and "
    "accepted writes, coloured by term; the thin line below it shows its faults."
)


def render(report: Mapping[str, object]) -> str:
    """Return the whole file, from the content of `report.json`."""
    verdict = "passed" if report["passed"] else "failed"
    body = [
        f"<h1>{escape(text(report, 'title'))}</h1>",
        f'<p class="verdict {verdict}">{escape(text(report, "sentence"))}</p>',
        f"<p>Hypothesis: {escape(text(report, 'hypothesis'))}</p>",
        f"<p>{escape(report_tables.circumstances(report))}</p>",
        "<h2>Timeline</h2>",
        drawing.figure(report),
        f'<p class="muted small">{escape(_ABOUT)}</p>',
        *_table(report_tables.expectations(report)),
    ]
    for name, why in report_tables.proofs(report):
        lines = escape("\n".join(why))
        body.append(f"<h3>{escape(name)}</h3><pre>{lines}</pre>")
    for each in (*report_tables.tables(report), report_tables.events(report)):
        body += _table(each)
    return page.whole(text(report, "title"), body, style=drawing.STYLE)


def _table(found: ReportTable) -> tuple[str, str]:
    rows = [[_cell(each) for each in row] for row in found.rows]
    return f"<h2>{found.title}</h2>", page.table(found.heads, rows)


def _cell(found: str) -> str:
    return f'<span class="missed">{MISSED}</span>' if found == MISSED else escape(found)
