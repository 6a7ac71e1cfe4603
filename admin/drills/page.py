"""The report of a drill as one HTML file without outside assets."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from admin.drills import picture
from admin.drills.expectations import scale_of, show
from admin.drills.measure import MEASURES
from admin.drills.report_fields import maps, number, table, text
from admin.html import page


def render(report: Mapping[str, object]) -> str:
    """The whole file, from what stands in `report.json`."""
    verdict = "passed" if report["passed"] else "failed"
    body = [
        f"<h1>{escape(text(report, 'title'))}</h1>",
        f'<p class="verdict {verdict}">{escape(text(report, "sentence"))}</p>',
        f"<p>Hypothesis: {escape(text(report, 'hypothesis'))}</p>",
        f"<p>{escape(_circumstances(report))}</p>",
        "<h2>Timeline</h2>",
        picture.timeline(report),
        "<h2>Expectations</h2>",
        page.table(("expectation", "measured", "wanted", ""), _findings(report)),
        *_proofs(report),
        "<h2>Measures</h2>",
        page.table(("measure", "value", "what it is"), _measures(report)),
        "<h2>Latency of writes</h2>",
        page.table(("", "writes", "p50", "p90", "p99", "max"), _latency(report)),
        "<h2>Outcomes of writes</h2>",
        page.table(
            ("outcome", "writes"),
            [(escape(name), f"{value}") for name, value in table(report, "outcomes").items()],
        ),
        "<h2>Steps</h2>",
        page.table(("from", "to", "step", "nodes", ""), _steps(report)),
        "<h2>Events of the nodes</h2>",
        page.table(("at", "node", "event", ""), _events(report)),
    ]
    return page.whole(text(report, "title"), body)


def _circumstances(report: Mapping[str, object]) -> str:
    nodes = report["nodes"]
    count = len(nodes) if isinstance(nodes, list) else 0
    return (
        f"{report['began_at']}, {report['seconds']} s, {count} nodes, qsync {report['version']}, "
        f"seed {report['seed']}"
    )


def _findings(report: Mapping[str, object]) -> Iterable[Sequence[str]]:
    for each in maps(report, "expectations"):
        met = "met" if each["met"] else '<span class="missed">MISSED</span>'
        yield *(escape(text(each, name)) for name in ("name", "measured", "limit")), met


def _proofs(report: Mapping[str, object]) -> Iterable[str]:
    for each in maps(report, "expectations"):
        why = each["why"]
        if isinstance(why, list | tuple) and why:
            lines = escape("\n".join(map(str, why)))
            yield f"<h3>{escape(text(each, 'name'))}</h3><pre>{lines}</pre>"
    lost = report["lost"]
    if isinstance(lost, list) and lost:
        yield f"<h3>Lost writes</h3><pre>{escape(', '.join(map(str, lost)))}</pre>"


def _measures(report: Mapping[str, object]) -> Iterable[Sequence[str]]:
    for name, value in table(report, "measures").items():
        about = MEASURES[name].about if name in MEASURES else "until the end of this step"
        measured = value if isinstance(value, int | float) else None
        yield escape(name), show(measured, scale_of(name)), escape(about)


def _latency(report: Mapping[str, object]) -> Iterable[Sequence[str]]:
    for name, found in table(report, "latency").items():
        assert isinstance(found, Mapping)
        times = [found[key] for key in ("p50", "p90", "p99", "max")]
        shown = [f"{time * 1000:.1f} ms" if isinstance(time, float) else "-" for time in times]
        yield escape(name), f"{found['writes']}", *shown


def _steps(report: Mapping[str, object]) -> Iterable[Sequence[str]]:
    for each in maps(report, "steps"):
        nodes = each["nodes"]
        yield (
            f"{number(each, 'from'):.2f}",
            f"{number(each, 'to'):.2f}",
            escape(text(each, "text")),
            escape(", ".join(map(str, nodes if isinstance(nodes, list) else []))),
            escape(str(each["error"] or "")),
        )


def _events(report: Mapping[str, object]) -> Iterable[Sequence[str]]:
    for each in maps(report, "events"):
        fields = ", ".join(f"{name} {value}" for name, value in table(each, "fields").items())
        yield (
            f"{number(each, 'at'):.3f}",
            escape(text(each, "node")),
            escape(text(each, "event")),
            escape(fields),
        )
