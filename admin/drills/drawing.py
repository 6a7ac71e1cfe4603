"""A drawing of a drill's run: faults, leaders, writes and latency on one time axis."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from admin.drills.fault_bands import FaultBand, fault_bands, lanes
from admin.drills.report_tables import maps, number, table, text
from admin.html.timeline import ROW, TimeScale, bar, words

STYLE = """
.t0 { fill: #2f78b7; } .t1 { fill: #45a1a0; } .t2 { fill: #8a72b8; } .t3 { fill: #6d8a3a; }
.t4 { fill: #7b8794; } .fault { fill: #e0a030; } .shade { fill: #e0a030; opacity: .16; }
.acked { fill: #3c9a6b; } .silent { fill: #c9480c; } .axis { fill: var(--muted); }
.rule { stroke: var(--soft); stroke-width: 1; } .onbar { fill: #17191c; }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round; }
.p50 { stroke: #2f78b7; } .p99 { stroke: #b05fa0; } .max { fill: none; stroke: #7b8794;
  stroke-width: 3; stroke-linecap: round; }
@media print { .figure { break-inside: avoid; } .wide { overflow: visible; } }
"""
TERMS = 5
"""The number of colours; then they repeat."""
PLOT, LEGEND = 170.0, 26.0
TOP = 1.4 * ROW
"""The plot of latency, below its heading."""
LOWEST_S = 0.001
LABEL_CHARS_MAX = 34
_CHAR = 6.2
"""The approximate width of a letter."""


@dataclass(frozen=True, slots=True)
class DrawingAxes:
    """`length`: the duration in seconds; `low` and `high`: seconds of latency, powers of ten."""

    length: float
    low: float
    high: float


def axes_of(reports: Sequence[Mapping[str, object]]) -> DrawingAxes:
    """Return axes on which all these runs can be drawn."""
    times = [each for report in reports for name in ("p50", "max") for each in _times(report, name)]
    found = [each for each in times if each is not None and each > 0]
    low = 10.0 ** math.floor(math.log10(max(min(found, default=0.01), LOWEST_S)))
    high = 10.0 ** math.ceil(math.log10(max(max(found, default=0.1), low * 1.01)))
    length = max((number(each, "seconds") for each in reports), default=0.0)
    return DrawingAxes(max(length, 0.001), low, high)


def drawing(report: Mapping[str, object], axes: DrawingAxes | None = None) -> str:
    """Draw one SVG without a script, with its legend; the axes may be given, for a comparison."""
    axes = axes or axes_of([report])
    scale = TimeScale(axes.length)
    bands = fault_bands(report)
    rows = lanes(bands, axes.length * LABEL_CHARS_MAX * _CHAR / (scale.right - scale.left) * 0.7)
    nodes = _nodes(report)
    first = max(rows, default=0) + 1
    parts = [words(0.0, 0, "faults")]
    for band, row in zip(bands, rows, strict=True):
        parts += _fault(band, scale, row)
    for row, node in enumerate(nodes, start=first):
        parts.append(words(0.0, row, node))
        parts += _reigns(report, scale, node, row)
        parts += _marks([each for each in bands if node in each.nodes], scale, row)
    last = first + len(nodes)
    parts += [words(0.0, last, "writes"), *_writes(report, scale, last)]
    parts += _seconds(scale, last + 1)
    height = (last + 2) * ROW
    if _has_latency(report):
        parts.append(f'<g transform="translate(0 {height:g})">{_plot(report, axes, bands)}</g>')
        height += TOP + PLOT + 1.6 * ROW
    parts.append(f'<g transform="translate(0 {height:g})">{_legend(report)}</g>')
    label = f"faults, leaders, writes and their latency: {text(report, 'sentence')}"
    return (
        f'<svg viewBox="0 0 1000 {height + LEGEND * 2:g}" '
        f'role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def figure(report: Mapping[str, object], axes: DrawingAxes | None = None) -> str:
    """Return the drawing for a page; on a narrow screen it is scrolled, not shrunk."""
    return f'<div class="wide figure">{drawing(report, axes)}</div>'


def standalone(report: Mapping[str, object]) -> str:
    """Return the drawing as a complete file, which follows the reader's light or dark theme."""
    style = (
        ":root { --paper: #fff; --ink: #1b1f24; --muted: #5b6570; --soft: #d9dee4; "
        "background: var(--paper); color: var(--ink); } "
        "@media (prefers-color-scheme: dark) { :root { --paper: #14181d; "
        "--ink: #e4e8ec; --muted: #98a3ae; "
        "--soft: #343c45; } } text { font: 11px system-ui, sans-serif; fill: currentColor; }"
    )
    head, rest = drawing(report).removeprefix("<svg").split(">", 1)
    named = f'<svg xmlns="http://www.w3.org/2000/svg"{head}>'
    return f"{named}<style>{style}{STYLE}</style>{rest}\n"


def _fault(band: FaultBand, scale: TimeScale, row: int) -> Iterator[str]:
    title = f"{band.label}: {band.begun:.2f} to {band.ended:.2f} s"
    ended = max(band.ended, band.begun + scale.length / 300)
    yield bar(scale, band.begun, ended, row, fill="", title=title, mark="fault")
    label = band.label
    if len(label) > LABEL_CHARS_MAX:
        label = label[: LABEL_CHARS_MAX - 3] + "..."
    room, needed = scale.x(ended) - scale.x(band.begun), len(label) * _CHAR + 8
    if room >= needed:
        yield words(scale.x(band.begun) + 5, row, label, mark="onbar")
    elif scale.x(ended) + needed < scale.right:
        yield words(scale.x(ended) + 4, row, label)
    else:
        yield words(scale.x(band.begun) - needed + 4, row, label)


def _reigns(report: Mapping[str, object], scale: TimeScale, node: str, row: int) -> Iterator[str]:
    middle = row * ROW + ROW / 2
    yield (f'<path class="rule" d="M{scale.left:.1f} {middle:.1f} H{scale.x(scale.length):.1f}"/>')
    for band in maps(report, "leaders"):
        if text(band, "node") != node:
            continue
        term = int(number(band, "term"))
        begun, ended = number(band, "from"), number(band, "to")
        title = f"{node} leads term {term}: {begun:.2f} to {ended:.2f} s"
        yield bar(scale, begun, ended, row, fill="", title=title, mark=f"t{term % TERMS}")


def _marks(bands: Iterable[FaultBand], scale: TimeScale, row: int) -> Iterator[str]:
    """Draw a thin bar at a node for each fault of the node."""
    for each in bands:
        left, right = scale.x(each.begun), scale.x(each.ended)
        yield (
            f'<rect x="{left:.1f}" y="{row * ROW + ROW - 5:.1f}" class="fault" height="3" '
            f'width="{max(right - left, 2.0):.1f}"><title>{escape(each.label)}</title></rect>'
        )


def _writes(report: Mapping[str, object], scale: TimeScale, row: int) -> Iterator[str]:
    """Draw a bar for each period in which writes were acknowledged all the time, or never."""
    found = table(report, "writes")
    counts, bucket = found["counts"], number(found, "bucket")
    assert isinstance(counts, list)
    length = number(report, "seconds")
    begun = 0
    for at in range(1, len(counts) + 1):
        if at == len(counts) or bool(counts[at]) != bool(counts[begun]):
            acked = sum(counts[begun:at])
            since, until = begun * bucket, min(at * bucket, length)
            title = f"{since:.1f} to {until:.1f} s: {acked} acknowledged"
            mark = "acked" if acked else "silent"
            yield bar(scale, since, until, row, fill="", title=title, mark=mark)
            begun = at


def _seconds(scale: TimeScale, row: float) -> Iterator[str]:
    """Draw the axis of time, with its unit at the end."""
    ticks = scale.ticks()
    digits = 0 if len(ticks) < 2 or ticks[1] >= 1 else max(0, -math.floor(math.log10(ticks[1])))  # noqa: PLR2004 - one has no distance
    for at in ticks:
        yield words(scale.x(at) - 8, row, f"{at:.{digits}f} s", mark="axis")


def _plot(report: Mapping[str, object], axes: DrawingAxes, bands: Sequence[FaultBand]) -> str:
    """Plot latency over time, logarithmic: median and 99th percentile of each period."""
    scale = TimeScale(axes.length)
    decades = math.log10(axes.high / axes.low)

    def y(seconds: float) -> float:
        share = math.log10(min(max(seconds, axes.low), axes.high) / axes.low) / decades
        return TOP + PLOT * (1 - share)

    parts = [words(0.0, 0, "latency of acknowledged writes, logarithmic")]
    for each in bands:
        left = scale.x(each.begun)
        parts.append(
            f'<rect x="{left:.1f}" y="{TOP:g}" height="{PLOT:g}" class="shade" '
            f'width="{max(scale.x(each.ended) - left, 2.0):.1f}">'
            f"<title>{escape(each.label)}</title></rect>"
        )
    for power in range(round(decades) + 1):
        value = axes.low * 10.0**power
        at = y(value)
        end = scale.x(scale.length)
        parts.append(f'<path class="rule" d="M{scale.left:.1f} {at:.1f} H{end:.1f}"/>')
        parts.append(words(0.0, (at - 11) / ROW, duration_text(value), mark="axis"))
    width = number(table(report, "latency_by_time"), "width")
    for name in ("p50", "p99"):
        parts += _line(_times(report, name), width, scale, y, mark=name)
    dots = (
        f"M{scale.x((at + 0.5) * width):.1f} {y(most):.1f}h0.1"
        for at, most in enumerate(_times(report, "max"))
        if most is not None
    )
    parts.append(f'<path class="max" d="{"".join(dots)}"/>')
    parts += _seconds(scale, (TOP + PLOT) / ROW)
    return "".join(parts)


def _line(
    times: Sequence[float | None],
    width: float,
    scale: TimeScale,
    y: Callable[[float], float],
    *,
    mark: str,
) -> Iterator[str]:
    """Draw a line, with gaps where no write was acknowledged."""
    path: list[str] = []
    for at, value in enumerate(times):
        if value is not None:
            step = "L" if at and times[at - 1] is not None else "M"
            path.append(f"{step}{scale.x((at + 0.5) * width):.1f} {y(value):.1f}")
            if step == "M":
                path.append("h0.1")  # a single period is a dot
    yield f'<path class="line {mark}" d="{" ".join(path)}"/>'


def duration_text(seconds: float) -> str:
    """Return a duration with a fitting unit: `10 ms`, `1 s`."""
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:.3g} s"


def _legend(report: Mapping[str, object]) -> str:
    """Return the meaning of every colour."""
    terms = sorted({int(number(each, "term")) for each in maps(report, "leaders")})
    entries = [(f"t{term % TERMS}", f"leads term {term}") for term in terms[:TERMS]]
    entries += [
        ("fault", "fault of the drill"),
        ("acked", "writes acknowledged"),
        ("silent", "none for 0.1 s or more"),
    ]
    if _has_latency(report):
        entries += [("p50", "median"), ("p99", "99th percentile"), ("max", "slowest")]
    parts: list[str] = []
    left, row = 0.0, 0.0
    for mark, said in entries:
        needed = 26 + len(said) * _CHAR + 12
        if left + needed > TimeScale(1.0).right:
            left, row = 0.0, row + 1
        top = row * ROW
        match mark:
            case "p50" | "p99":
                key = f'<path class="line {mark}" d="M{left:.1f} {top + 11:.1f} h16"/>'
            case "max":
                key = f'<path class="max" d="M{left + 8:.1f} {top + 11:.1f}h0.1"/>'
            case _:
                key = (
                    f'<rect class="{mark}" x="{left:.1f}" y="{top + 5:.1f}" width="16" '
                    'height="12" rx="2"/>'
                )
        parts += [key, words(left + 22, row, said)]
        left += needed
    return "".join(parts)


def _times(report: Mapping[str, object], name: str) -> list[float | None]:
    """Return the latencies of each period; none for reports of earlier versions."""
    found = report.get("latency_by_time")
    times = found.get(name) if isinstance(found, Mapping) else None
    return list(times) if isinstance(times, list | tuple) else []


def _nodes(report: Mapping[str, object]) -> list[str]:
    found = report["nodes"]
    return [str(each) for each in found] if isinstance(found, list) else []


def _has_latency(report: Mapping[str, object]) -> bool:
    return any(each is not None for each in _times(report, "p50"))
