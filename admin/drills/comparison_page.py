"""Two runs of a drill in one HTML file: the differences, and both drawings on one axis."""

from collections.abc import Mapping, Sequence
from html import escape

from admin.drills import drawing, report_tables
from admin.drills.comparison import MeasureComparison, RunSeries
from admin.drills.expectations import scale_of, show
from admin.drills.report_tables import maps, table, text
from admin.html import page

STYLE = """
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(26rem, 1fr)); gap: 2rem; }
.pair svg { min-width: 34rem; } body { max-width: 100rem; }
@media print { .pair { grid-template-columns: 1fr; } }
"""
_NUMBERS = frozenset({1, 2, 3})


def render(
    before: RunSeries, after: RunSeries, rows: Sequence[MeasureComparison], threshold: float
) -> str:
    """Return the whole file. A series is drawn by its run with the median RTO."""
    one, two = before.middle, after.middle
    axes = drawing.axes_of([one, two])
    worse = [each.name for each in rows if each.worse]
    said = f"worse than before: {', '.join(worse)}" if worse else "nothing is worse than before"
    title = f"{text(one, 'drill')}: before and after"
    about = (
        f"A measure may grow by {threshold:.0%} of itself; lower is better for all of them. Both "
        "drawings have the same axes."
    )
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="verdict {"failed" if worse else "passed"}">{escape(said)}</p>',
        f'<p class="muted small">{escape(about)}</p>',
        '<div class="pair">',
        *_side("before", before, axes),
        *_side("after", after, axes),
        "</div>",
        "<h2>Measures</h2>",
        page.table(
            ("measure", "before", "after", "difference", ""), map(_row, rows), numbers=_NUMBERS
        ),
    ]
    changed = list(_expectations(one, two))
    body.append("<h2>Expectations</h2>")
    heads = ("expectation", "wanted", "before", "after")
    body.append(page.table(heads, changed))
    body.append("<h2>Latency of writes</h2>")
    body.append(page.table(("", "", "writes", "p50", "p90", "p99", "max"), _latency(one, two)))
    return page.whole(title, body, style=drawing.STYLE + STYLE)


def _side(name: str, series: RunSeries, axes: drawing.DrawingAxes) -> list[str]:
    report = series.middle
    runs = len(series.reports)
    many = "" if runs == 1 else f"; {runs} runs, the one with the median RTO is drawn"
    return [
        f"<section><h2>{name}</h2>",
        f"<p>{escape(text(report, 'sentence'))}</p>",
        f'<p class="muted small">{escape(report_tables.circumstances(report) + many)}</p>',
        drawing.figure(report, axes),
        "</section>",
    ]


def _row(found: MeasureComparison) -> Sequence[str]:
    scale = scale_of(found.name)
    difference = found.after - found.before
    sign = "+" if difference > 0 else "-" if difference < 0 else ""
    return (
        escape(found.name),
        escape(show(found.before, scale)),
        escape(show(found.after, scale)),
        f"{sign}{escape(show(abs(difference), scale))}",
        '<span class="missed">worse</span>' if found.worse else "",
    )


def _expectations(one: Mapping[str, object], two: Mapping[str, object]) -> list[tuple[str, ...]]:
    """Return the expectations of either run, with a dash where a run does not have one."""
    sides = [{text(each, "name"): each for each in maps(run, "expectations")} for run in (one, two)]
    found: list[tuple[str, ...]] = []
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        limit = text(sides[1].get(name, sides[0].get(name, {})), "limit")
        found.append((escape(name), escape(limit), *(_met(side.get(name)) for side in sides)))
    return found


def _met(found: Mapping[str, object] | None) -> str:
    if found is None:
        return "-"
    measured = escape(text(found, "measured"))
    return measured if found["met"] else f'<span class="missed">{measured}, missed</span>'


def _latency(one: Mapping[str, object], two: Mapping[str, object]) -> list[tuple[str, ...]]:
    return [
        (escape(phase), name, *map(escape, cells))
        for phase in table(one, "latency")
        for name, run in (("before", one), ("after", two))
        for first, *cells in report_tables.latency_rows(run)
        if first == phase
    ]
