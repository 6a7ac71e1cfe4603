"""The report of a drill as Markdown."""

from collections.abc import Iterable, Mapping, Sequence

from admin.drills.expectations import scale_of, show
from admin.drills.measure import MEASURES
from admin.drills.report_fields import maps, number, table, text


def render(report: Mapping[str, object]) -> str:
    """The whole page, from what stands in `report.json`."""
    parts = [
        f"# {text(report, 'title')}",
        f"**{text(report, 'sentence')}**",
        f"Hypothesis: {text(report, 'hypothesis')}",
        _circumstances(report),
        "## Expectations",
        _table(("expectation", "measured", "wanted", ""), _findings(report)),
        *_proofs(report),
        "## Measures",
        _table(("measure", "value", "what it is"), _measures(report)),
        "## Latency of writes",
        _table(("", "writes", "p50", "p90", "p99", "max"), _latency(report)),
        "## Outcomes",
        _table(("outcome", "writes"), [(n, str(v)) for n, v in table(report, "outcomes").items()]),
        "## Steps",
        _table(("from", "to", "step", "nodes", ""), _steps(report)),
    ]
    return "\n\n".join(parts) + "\n"


def _circumstances(report: Mapping[str, object]) -> str:
    return (
        f"{report['began_at']}, {report['seconds']} s, qsync {report['version']}, "
        f"seed {report['seed']}, nodes {', '.join(map(str, _list(report['nodes'])))}."
    )


def _findings(report: Mapping[str, object]) -> Iterable[Sequence[str]]:
    for each in maps(report, "expectations"):
        yield (
            text(each, "name"),
            text(each, "measured"),
            text(each, "limit"),
            "met" if each["met"] else "MISSED",
        )


def _proofs(report: Mapping[str, object]) -> list[str]:
    said = [
        f"{text(each, 'name')}:\n\n```\n" + "\n".join(map(str, _list(each["why"]))) + "\n```"
        for each in maps(report, "expectations")
        if each["why"]
    ]
    lost = _list(report["lost"])
    return [*said, f"Lost writes: {', '.join(map(str, lost))}"] if lost else said


def _measures(report: Mapping[str, object]) -> Iterable[Sequence[str]]:
    for name, value in table(report, "measures").items():
        about = MEASURES[name].about if name in MEASURES else "until the end of this step"
        measured = value if isinstance(value, int | float) else None
        yield name, show(measured, scale_of(name)), about


def _latency(report: Mapping[str, object]) -> Iterable[Sequence[str]]:
    for name, found in table(report, "latency").items():
        assert isinstance(found, Mapping)
        times = [_milliseconds(found[key]) for key in ("p50", "p90", "p99", "max")]
        yield name, str(found["writes"]), *times


def _steps(report: Mapping[str, object]) -> Iterable[Sequence[str]]:
    for each in maps(report, "steps"):
        yield (
            f"{number(each, 'from'):.2f}",
            f"{number(each, 'to'):.2f}",
            text(each, "text"),
            ", ".join(map(str, _list(each["nodes"]))),
            str(each["error"] or ""),
        )


def _milliseconds(value: object) -> str:
    return f"{value * 1000:.1f} ms" if isinstance(value, float) else "-"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(
        "| " + " | ".join(each.replace("|", "\\|") for each in row) + " |" for row in lines
    )


def _list(found: object) -> list[object]:
    assert isinstance(found, list | tuple), found
    return list(found)
