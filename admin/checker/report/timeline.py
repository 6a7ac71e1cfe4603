"""The timeline of a run as two drawings: leaders and faults, and the confirmed indexes."""

from collections.abc import Callable, Iterable, Sequence
from html import escape

from admin.checker.report.places import PlacedViolation
from admin.checker.report.story import Band, Story
from admin.html.timeline import LEFT, RIGHT, ROW, WIDTH, TimeScale, axis, bar, svg, words

STYLE = """
.t0 { fill: #2f78b7; } .t1 { fill: #45a1a0; } .t2 { fill: #8a72b8; } .t3 { fill: #6d8a3a; }
.t4 { fill: #7b8794; } .fault { fill: #e0a030; } .shade { fill: #e0a030; opacity: .16; }
.ack { fill: var(--good); } .start { fill: var(--muted); } .onbar { fill: #fff !important; }
.rule { stroke: var(--soft); stroke-width: 1; } .hit { stroke: var(--bad); stroke-width: 1;
  stroke-dasharray: 3 3; } .mark { fill: var(--bad); } a .mark:hover { stroke: var(--ink); }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; } .axis { fill: var(--muted); }
.n0 { stroke: #2f78b7; } .n1 { stroke: #d08a1d; } .n2 { stroke: #3c9a6b; } .n3 { stroke: #b05fa0; }
.n4 { stroke: #6b7a89; } .n5 { stroke: #b8503a; } .n6 { stroke: #5f62c4; }
.key { stroke-width: 4; }
"""
TERMS, NODES = 5, 7
"""The number of colours; then they repeat."""
PIXELS = 600
CHART = 190.0
_LABEL_MIN = 26.0


def leaders(story: Story, marks: Sequence[PlacedViolation], *, anchor: str) -> str:
    """Rows: violations, faults, terms, each node with its reigns, acknowledged writes, seconds."""
    scale = TimeScale(max(story.length, 1e-3))
    nodes = sorted(story.nodes)
    rows = ["terms", *(story.nodes[each] for each in nodes)]
    rows = ["faults", *rows] if any(each.begun is not None for each in story.faults) else rows
    rows += ["answers"] if story.acks.stretches else []
    rows = ["violations", *rows] if any(each.at is not None for each in marks) else rows
    at = {name: place for place, name in enumerate(rows)}
    height = ROW * len(rows)
    parts = [words(0.0, place, name[:14]) for name, place in at.items()]
    if "faults" in at:
        parts += _faults(story, scale, at["faults"])
    parts += _terms(story, scale, at["terms"])
    for node in nodes:
        parts += _reigns(story, scale, node, at[story.nodes[node]])
    if "answers" in at:
        parts += _answers(story, scale, at["answers"])
    parts += axis(scale, len(rows))
    if "violations" in at:
        parts += _hits(marks, scale, height, anchor)
    return svg(height + ROW, "leaders and faults", parts)


def confirmed(story: Story, marks: Sequence[PlacedViolation]) -> str:
    """One line per node, with the faults in the background."""
    scale = TimeScale(max(story.length, 1e-3), left=LEFT, right=WIDTH - RIGHT)
    highest = max((y for each in story.curves.values() for _, y in each.points), default=0)
    if not highest:
        return ""

    def y(value: float) -> float:
        return ROW + CHART * (1 - value / highest)

    parts = [
        f'<rect x="{scale.x(e.begun):.1f}" y="{ROW:g}" height="{CHART:g}" class="shade" '
        f'width="{max(scale.x(e.ended) - scale.x(e.begun), 1.0):.1f}"/>'
        for e in story.faults
        if e.begun is not None and e.ended is not None
    ]
    for value in TimeScale(float(highest)).ticks()[::2]:
        parts.append(_rule(y(value)))
        parts.append(words(0.0, (y(value) - 11) / ROW, f"{value:,.0f}", mark="axis"))
    parts += _lines(story, scale, y)
    for each in marks:
        if each.at is not None:
            parts.append(_hit(scale.x(each.at), ROW, ROW + CHART))
    parts += axis(scale, (ROW + CHART) / ROW)
    parts += _keys(story)
    return svg(CHART + 2 * ROW + 4, "confirmed index of every node", parts)


def _faults(story: Story, scale: TimeScale, row: int) -> Iterable[str]:
    for each in story.faults:
        if each.begun is not None and each.ended is not None:
            title = f"{each.begun:.2f} s: {each.text}"
            ended = max(each.ended, each.begun + scale.length / 300)
            yield bar(scale, each.begun, ended, row, fill="", title=title, mark="fault")


def _terms(story: Story, scale: TimeScale, row: int) -> Iterable[str]:
    spans: dict[int, Band] = {}
    for each in story.bands:
        span = spans.setdefault(each.term, Band(0, each.term, each.begun, each.ended))
        span.begun, span.ended = min(span.begun, each.begun), max(span.ended, each.ended)
    for each in _visible(sorted(spans.values(), key=lambda span: span.begun), scale):
        title = f"term {each.term}: led from {each.begun:.2f} s to {each.ended:.2f} s"
        yield bar(scale, each.begun, each.ended, row, fill="", title=title, mark=_of(each.term))
        if scale.x(each.ended) - scale.x(each.begun) > _LABEL_MIN:
            yield words(scale.x(each.begun) + 5, row, f"{each.term}", mark="onbar")


def _reigns(story: Story, scale: TimeScale, node: int, row: int) -> Iterable[str]:
    yield _rule(row * ROW + ROW / 2)
    mine = [each for each in story.bands if each.node == node]
    for each in _visible(mine, scale):
        title = f"{story.nodes[node]} leads term {each.term}, {each.begun:.2f} to {each.ended:.2f}"
        yield bar(
            scale, each.begun, each.ended, row, fill="", title=f"{title} s", mark=_of(each.term)
        )
    for whose, at in story.starts:
        if whose == node:
            x, y = scale.x(at), row * ROW + ROW / 2
            yield (
                f'<path d="M{x:.1f} {y - 5:.1f} l5 5 -5 5z" class="start">'
                f"<title>{at:.2f} s: {escape(story.nodes[node])} is back after a restart</title>"
                "</path>"
            )


def _visible(bands: Sequence[Band], scale: TimeScale) -> Iterable[Band]:
    """Without those that would overlap."""
    pixel = -1
    for each in bands:
        begun = int(each.begun / scale.length * PIXELS)
        ended = int(each.ended / scale.length * PIXELS)
        if ended > pixel or begun > pixel:
            yield each
            pixel = ended


def _answers(story: Story, scale: TimeScale, row: int) -> Iterable[str]:
    """The more acknowledged writes an interval has, the higher its bar."""
    found = story.acks.stretches
    most = max(count for _, _, count in found)
    for begun, ended, count in found:
        height = max(1.5, (ROW - 6) * count / most)
        left = scale.x(begun)
        yield (
            f'<rect x="{left:.1f}" y="{(row + 1) * ROW - 3 - height:.1f}" class="ack" '
            f'width="{max(scale.x(ended) - left, 1.0):.1f}" height="{height:.1f}">'
            f"<title>{begun:.2f} s: {count} writes acknowledged</title></rect>"
        )


def _hits(
    marks: Sequence[PlacedViolation], scale: TimeScale, height: float, anchor: str
) -> Iterable[str]:
    for number, each in enumerate(marks, start=1):
        if each.at is None:
            continue
        x, y = scale.x(each.at), ROW / 2
        yield _hit(x, ROW, height)
        yield (
            f'<a href="#{anchor}-{number}"><path class="mark" d="M{x:.1f} {y - 7:.1f} '
            f'l7 7 -7 7 -7 -7z"><title>{escape(each.violation.invariant)}, {each.at:.2f} s</title>'
            "</path></a>"
        )


def _lines(story: Story, scale: TimeScale, y: Callable[[float], float]) -> Iterable[str]:
    for place, node in enumerate(sorted(story.curves)):
        points = story.curves[node].points
        path = f"M{scale.x(points[0][0]):.1f} {y(points[0][1]):.1f}"
        path += "".join(f"H{scale.x(at):.1f}V{y(value):.1f}" for at, value in points[1:])
        name = escape(story.nodes.get(node, str(node)))
        title = f"<title>{name}: {points[-1][1]:,} at the end</title>"
        yield f'<path class="line n{place % NODES}" d="{path}">{title}</path>'


def _keys(story: Story) -> Iterable[str]:
    left = LEFT
    for place, node in enumerate(sorted(story.curves)):
        name = story.nodes.get(node, str(node))
        yield (
            f'<line x1="{left:.1f}" x2="{left + 14:.1f}" y1="11" y2="11" '
            f'class="key n{place % NODES}"/>'
        )
        yield words(left + 19, 0, name)
        left += 34 + 7 * len(name)


def _of(term: int) -> str:
    return f"t{term % TERMS}"


def _rule(y: float) -> str:
    return f'<line x1="{LEFT:g}" x2="{WIDTH - RIGHT:g}" y1="{y:.1f}" y2="{y:.1f}" class="rule"/>'


def _hit(x: float, top: float, bottom: float) -> str:
    return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}" class="hit"/>'
