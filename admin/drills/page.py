"""The report of a drill as one HTML file without outside assets."""

from collections.abc import Mapping
from html import escape

from admin.drills import picture, report_tables
from admin.drills.report_fields import text
from admin.drills.report_tables import MISSED, ReportTable
from admin.html import page


def render(report: Mapping[str, object]) -> str:
    """The whole file, from what stands in `report.json`."""
    verdict = "passed" if report["passed"] else "failed"
    body = [
        f"<h1>{escape(text(report, 'title'))}</h1>",
        f'<p class="verdict {verdict}">{escape(text(report, "sentence"))}</p>',
        f"<p>Hypothesis: {escape(text(report, 'hypothesis'))}</p>",
        f"<p>{escape(report_tables.circumstances(report))}</p>",
        "<h2>Timeline</h2>",
        picture.timeline(report),
        *_table(report_tables.expectations(report)),
    ]
    for name, why in report_tables.proofs(report):
        lines = escape("\n".join(why))
        body.append(f"<h3>{escape(name)}</h3><pre>{lines}</pre>")
    for each in (*report_tables.tables(report), report_tables.events(report)):
        body += _table(each)
    return page.whole(text(report, "title"), body)


def _table(found: ReportTable) -> tuple[str, str]:
    rows = [[_cell(each) for each in row] for row in found.rows]
    return f"<h2>{found.title}</h2>", page.table(found.heads, rows)


def _cell(found: str) -> str:
    return f'<span class="missed">{MISSED}</span>' if found == MISSED else escape(found)
