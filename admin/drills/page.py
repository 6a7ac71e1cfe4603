"""The report of a drill as one HTML file without outside assets, with a drawing of the run."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from admin.drills import report_tables
from admin.drills.report_tables import MISSED, ReportTable, maps, number, table, text
from admin.drills.verbs.catalogue import WAITING
from admin.html import page
from admin.html.timeline import ROW, TimeScale, axis, bar, svg, words

_COLOURS = ("#1f6fb2", "#56a3d9", "#2a9d8f", "#7a6fb0", "#4c6a78")
_FAULT, _WRITES, _SILENT = "#d9730d", "#1f6fb2", "#d9730d"


def timeline(report: Mapping[str, object]) -> str:
    """An SVG: a row of faults, a row for each node, a strip of acknowledged writes, an axis."""
    scale = TimeScale(max(number(report, "seconds"), 0.001))
    nodes = _nodes(report)
    rows = [*_faults(report, scale, 0), *_leaders(report, scale, nodes)]
    rows += _writes(report, scale, len(nodes) + 1)
    rows += axis(scale, len(nodes) + 2)
    names = ["faults", *nodes, "writes"]
    labels = [words(0.0, at, name) for at, name in enumerate(names)]
    return svg(ROW * (len(nodes) + 3.2), "timeline of the run", [*labels, *rows])


def _faults(report: Mapping[str, object], scale: TimeScale, row: int) -> Iterable[str]:
    """A mark where something was done; a band while a node was down because of it."""
    for each in maps(report, "steps"):
        if text(each, "verb") not in WAITING:
            begun, ended = number(each, "from"), number(each, "to")
            yield bar(
                scale,
                begun,
                max(ended, begun + scale.length / 300),
                row,
                fill=_FAULT,
                title=f"{begun:.2f} s: {text(each, 'text')}",
            )


def _leaders(report: Mapping[str, object], scale: TimeScale, nodes: Sequence[str]) -> Iterable[str]:
    for band in maps(report, "leaders"):
        row = nodes.index(text(band, "node")) + 1
        term = int(number(band, "term"))
        yield bar(
            scale,
            number(band, "from"),
            number(band, "to"),
            row,
            fill=_COLOURS[term % len(_COLOURS)],
            title=f"{text(band, 'node')} leads term {term}",
        )


def _writes(report: Mapping[str, object], scale: TimeScale, row: int) -> Iterable[str]:
    """One piece for each stretch in which writes were acknowledged all the time, or not at all."""
    found = table(report, "writes")
    counts, bucket = found["counts"], number(found, "bucket")
    assert isinstance(counts, list)
    begun = 0
    for at in range(1, len(counts) + 1):
        if at == len(counts) or bool(counts[at]) != bool(counts[begun]):
            acked = sum(counts[begun:at])
            since, until = begun * bucket, min(at * bucket, scale.length)
            title = f"{since:.1f} to {until:.1f} s: {acked} acknowledged"
            colour = _WRITES if acked else _SILENT
            yield bar(scale, since, until, row, fill=colour, title=title)
            begun = at


def _nodes(report: Mapping[str, object]) -> list[str]:
    found = report["nodes"]
    return [str(each) for each in found] if isinstance(found, list) else []


def render(report: Mapping[str, object]) -> str:
    """The whole file, from what stands in `report.json`."""
    verdict = "passed" if report["passed"] else "failed"
    body = [
        f"<h1>{escape(text(report, 'title'))}</h1>",
        f'<p class="verdict {verdict}">{escape(text(report, "sentence"))}</p>',
        f"<p>Hypothesis: {escape(text(report, 'hypothesis'))}</p>",
        f"<p>{escape(report_tables.circumstances(report))}</p>",
        "<h2>Timeline</h2>",
        timeline(report),
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
