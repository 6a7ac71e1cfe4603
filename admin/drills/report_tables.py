"""The sentences and tables of a drill's report, for Markdown and HTML alike."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from admin.drills.expectations import scale_of, show
from admin.drills.measure import MEASURES
from qsync.errors import ConfigError


def text(found: Mapping[str, object], name: str) -> str:
    """Return a value as text."""
    return str(found.get(name, ""))


def number(found: Mapping[str, object], name: str) -> float:
    """Return a number. Raises ConfigError."""
    value = found.get(name)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise ConfigError(f"a report without a number {name!r}")


def table(found: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Return named members. Raises ConfigError."""
    value = found.get(name)
    if isinstance(value, Mapping):
        return value
    raise ConfigError(f"a report without {name!r}")


def maps(found: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    """Return a list of named members. Raises ConfigError."""
    value = found.get(name)
    if isinstance(value, list | tuple) and all(isinstance(each, Mapping) for each in value):
        return list(value)
    raise ConfigError(f"a report without a list {name!r}")


Cells = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table with a heading. All cells are plain text."""

    title: str
    heads: Cells
    rows: Sequence[Cells]


MISSED = "MISSED"


def expectations(report: Mapping[str, object]) -> ReportTable:
    """Return the expectations, and whether they were met."""
    rows = [
        (*(text(each, name) for name in ("name", "measured", "limit")), _met(each["met"]))
        for each in maps(report, "expectations")
    ]
    return ReportTable("Expectations", ("expectation", "measured", "wanted", ""), rows)


def tables(report: Mapping[str, object]) -> list[ReportTable]:
    """Return all other tables, in order."""
    outcomes = [(name, str(value)) for name, value in table(report, "outcomes").items()]
    return [
        ReportTable("Measures", ("measure", "value", "what it is"), list(_measures(report))),
        ReportTable(
            "Latency of writes",
            ("", "writes", "p50", "p90", "p99", "max"),
            list(latency_rows(report)),
        ),
        ReportTable("Outcomes of writes", ("outcome", "writes"), outcomes),
        ReportTable("Steps", ("from", "to", "step", "nodes", ""), list(_steps(report))),
        *_commands(report),
    ]


def events(report: Mapping[str, object]) -> ReportTable:
    """Return the events in the nodes' timelines."""
    rows = [
        (
            f"{number(each, 'at'):.3f}",
            text(each, "node"),
            text(each, "event"),
            ", ".join(f"{name} {value}" for name, value in table(each, "fields").items()),
        )
        for each in maps(report, "events")
    ]
    return ReportTable("Events of the nodes", ("at", "node", "event", ""), rows)


def proofs(report: Mapping[str, object]) -> Iterator[tuple[str, list[str]]]:
    """Return the proofs of each violation, as lines."""
    for each in maps(report, "expectations"):
        if why := _list(each["why"]):
            yield text(each, "name"), why
    if lost := _list(report["lost"]):
        yield "Lost writes", [", ".join(lost)]


def circumstances(report: Mapping[str, object]) -> str:
    """Return the time, duration and place of the run."""
    return (
        f"{report['began_at']}, {report['seconds']} s, qsync {report['version']}, "
        f"seed {report['seed']}, nodes {', '.join(_list(report['nodes']))}"
    )


def _met(found: object) -> str:
    return "met" if found else MISSED


def _measures(report: Mapping[str, object]) -> Iterable[Cells]:
    for name, value in table(report, "measures").items():
        about = MEASURES[name].about if name in MEASURES else "until the end of this step"
        measured = value if isinstance(value, int | float) else None
        yield name, show(measured, scale_of(name)), about


def latency_rows(report: Mapping[str, object]) -> Iterable[Cells]:
    """Return the latencies of writes before, during and after the faults."""
    for name, found in table(report, "latency").items():
        assert isinstance(found, Mapping)
        times = [found[key] for key in ("p50", "p90", "p99", "max")]
        shown = [f"{time * 1000:.1f} ms" if isinstance(time, float) else "-" for time in times]
        yield name, str(found["writes"]), *shown


def _commands(report: Mapping[str, object]) -> Iterable[ReportTable]:
    """Return the commands of hooks; none in a lab, nor in reports of earlier versions."""
    if not report.get("commands"):
        return
    rows = [
        (
            f"{number(each, 'from'):.2f}",
            f"{number(each, 'seconds'):.2f}",
            text(each, "action"),
            text(each, "command"),
            str(each["error"] or "ended with 0"),
            " ".join(text(each, "output").split()),
        )
        for each in maps(report, "commands")
    ]
    heads = ("at", "seconds", "action", "command", "", "output")
    yield ReportTable("Commands of the hooks", heads, rows)


def _steps(report: Mapping[str, object]) -> Iterable[Cells]:
    for each in maps(report, "steps"):
        yield (
            f"{number(each, 'from'):.2f}",
            f"{number(each, 'to'):.2f}",
            text(each, "text"),
            ", ".join(_list(each["nodes"])),
            str(each["error"] or ""),
        )


def _list(found: object) -> list[str]:
    assert isinstance(found, list | tuple), found
    return [str(each) for each in found]
