"""The timeline of a run as a drawing: faults, who led, and when writes were taken."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from admin.drills.read import maps, number, table, text

WIDTH, LEFT, ROW = 1000.0, 90.0, 22.0
TICKS = 10
_QUIET = {"wait", "until"}
_COLOURS = ("#1f6fb2", "#56a3d9", "#2a9d8f", "#7a6fb0", "#4c6a78")
_FAULT, _WRITES, _SILENT = "#d9730d", "#1f6fb2", "#d9730d"


def timeline(report: Mapping[str, object]) -> str:
    """An SVG: a row of faults, a row for each node, a strip of acknowledged writes, an axis."""
    length = max(number(report, "seconds"), 0.001)
    nodes = _nodes(report)
    rows = [*_faults(report, length, 0), *_leaders(report, length, nodes)]
    rows += _writes(report, length, len(nodes) + 1)
    rows += _axis(length, len(nodes) + 2)
    names = ["faults", *nodes, "writes"]
    labels = [_words(0.0, at, name) for at, name in enumerate(names)]
    height = ROW * (len(nodes) + 3.2)
    return (
        f'<svg viewBox="0 0 {WIDTH:g} {height:g}" role="img" '
        f'aria-label="timeline of the run">{"".join([*labels, *rows])}</svg>'
    )


def _faults(report: Mapping[str, object], length: float, row: int) -> Iterable[str]:
    """A mark where something was done; a band while a node was down because of it."""
    for each in maps(report, "steps"):
        if text(each, "verb") not in _QUIET:
            begun, ended = number(each, "from"), number(each, "to")
            yield _bar(
                begun,
                max(ended, begun + length / 300),
                length,
                row,
                colour=_FAULT,
                title=f"{begun:.2f} s: {text(each, 'text')}",
            )


def _leaders(report: Mapping[str, object], length: float, nodes: Sequence[str]) -> Iterable[str]:
    for band in maps(report, "leaders"):
        row = nodes.index(text(band, "node")) + 1
        term = int(number(band, "term"))
        yield _bar(
            number(band, "from"),
            number(band, "to"),
            length,
            row,
            colour=_COLOURS[term % len(_COLOURS)],
            title=f"{text(band, 'node')} leads term {term}",
        )


def _writes(report: Mapping[str, object], length: float, row: int) -> Iterable[str]:
    """One piece for each stretch in which writes were acknowledged all the time, or not at all."""
    found = table(report, "writes")
    counts, bucket = found["counts"], number(found, "bucket")
    assert isinstance(counts, list)
    begun = 0
    for at in range(1, len(counts) + 1):
        if at == len(counts) or bool(counts[at]) != bool(counts[begun]):
            acked = sum(counts[begun:at])
            since, until = begun * bucket, min(at * bucket, length)
            title = f"{since:.1f} to {until:.1f} s: {acked} acknowledged"
            colour = _WRITES if acked else _SILENT
            yield _bar(since, until, length, row, colour=colour, title=title)
            begun = at


def _axis(length: float, row: int) -> Iterable[str]:
    for tick in range(TICKS + 1):
        seconds = length * tick / TICKS
        yield _words(_x(seconds, length) - 8, row, f"{seconds:.1f}")


def _nodes(report: Mapping[str, object]) -> list[str]:
    found = report["nodes"]
    return [str(each) for each in found] if isinstance(found, list) else []


def _x(seconds: float, length: float) -> float:
    return LEFT + (WIDTH - LEFT - 20) * min(max(seconds / length, 0.0), 1.0)


def _bar(begun: float, ended: float, length: float, row: int, *, colour: str, title: str) -> str:
    left, right = _x(begun, length), _x(ended, length)
    return (
        f'<rect x="{left:.1f}" y="{row * ROW + 4:.1f}" width="{max(right - left, 1.5):.1f}" '
        f'height="{ROW - 8:.1f}" rx="2" fill="{colour}"><title>{escape(title)}</title></rect>'
    )


def _words(left: float, row: int, words: str) -> str:
    return f'<text x="{left:.1f}" y="{row * ROW + 15:.1f}">{escape(words)}</text>'
