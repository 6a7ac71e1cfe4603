"""The report of a drill as Markdown."""

from collections.abc import Mapping

from admin.drills import report_tables
from admin.drills.report_tables import ReportTable, text


def render(report: Mapping[str, object]) -> str:
    """The whole page, from the content of `report.json`."""
    parts = [
        f"# {text(report, 'title')}",
        f"**{text(report, 'sentence')}**",
        f"Hypothesis: {text(report, 'hypothesis')}",
        f"{report_tables.circumstances(report)}.",
        *_table(report_tables.expectations(report)),
    ]
    for name, why in report_tables.proofs(report):
        parts.append(f"{name}:\n\n```\n" + "\n".join(why) + "\n```")
    for each in report_tables.tables(report):
        parts += _table(each)
    return "\n\n".join(parts) + "\n"


def _table(found: ReportTable) -> tuple[str, str]:
    lines = [found.heads, ("---",) * len(found.heads), *found.rows]
    rows = ["| " + " | ".join(each.replace("|", "\\|") for each in row) + " |" for row in lines]
    return f"## {found.title}", "\n".join(rows)
