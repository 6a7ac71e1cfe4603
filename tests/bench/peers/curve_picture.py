"""Scale curves as a picture: a panel for each, operations a second, both scales of doublings."""

import math
from collections.abc import Iterator
from html import escape

from tests.bench.peers.picture import colour_of
from tests.bench.peers.scaling import Axis, ScaleCurves, rate_of

_WIDTH, _PANEL_WIDTH, _PANEL_HEIGHT, _TOP = 760, 380, 250, 34
_LEFT, _RIGHT, _ABOVE, _BELOW = 56, 14, 26, 32
"""Inside of a panel, for what is written around it."""
_TICKS_MAX = 8


def svg(curves: ScaleCurves) -> str:
    """All panels, two in a row."""
    return "\n".join(_lines(curves)) + "\n"


def _lines(curves: ScaleCurves) -> Iterator[str]:
    height = _TOP + -(-len(curves.axes) // 2) * _PANEL_HEIGHT
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'font-family="sans-serif" font-size="11" role="img">'
    )
    yield "<title>Puts a second by clients, nodes, size of values and keys</title>"
    yield f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>'
    for number, who in enumerate(curves.names):
        x = _LEFT + number * 170
        yield f'<rect x="{x}" y="10" width="12" height="12" fill="{colour_of(number)}"/>'
        yield f'<text x="{x + 16}" y="20">{escape(who)}</text>'
    for number, axis in enumerate(curves.axes):
        across, down = number % 2 * _PANEL_WIDTH, _TOP + number // 2 * _PANEL_HEIGHT
        yield f'<g transform="translate({across} {down})">'
        yield from _panel(curves, axis)
        yield "</g>"
    yield "</svg>"


def _panel(curves: ScaleCurves, axis: Axis) -> Iterator[str]:
    found = [curves.curve(axis, who, rate_of) for who in curves.names]
    every = [point for curve in found for point in curve if point[1] > 0]
    if not every:
        return
    xs = sorted({at for at, _ in every})
    low = math.floor(math.log2(min(rate for _, rate in every)))
    high = max(low + 1, math.ceil(math.log2(max(rate for _, rate in every))))
    first, last = math.log2(xs[0]), max(math.log2(xs[-1]), math.log2(xs[0]) + 1)

    def place(at: float, rate: float) -> tuple[float, float]:
        wide, tall = _PANEL_WIDTH - _LEFT - _RIGHT, _PANEL_HEIGHT - _ABOVE - _BELOW
        x = _LEFT + (math.log2(at) - first) / (last - first) * wide
        return x, _ABOVE + (high - math.log2(rate)) / (high - low) * tall

    yield f'<text x="{_LEFT}" y="16" font-weight="bold">puts a second by {axis.caption}</text>'
    for power in range(low, high + 1, max(1, (high - low) // _TICKS_MAX)):
        _, y = place(xs[0], 2.0**power)
        yield f'<path d="M{_LEFT} {y:.1f}H{_PANEL_WIDTH - _RIGHT}" stroke="#d0d7de"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{2**power:,.4g}</text>'
    for at in xs:
        x, _ = place(at, 2.0**high)
        yield f'<text x="{x:.1f}" y="{_PANEL_HEIGHT - 14}" text-anchor="middle">{_short(at)}</text>'
    for number, curve in enumerate(found):
        dots = [place(at, rate) for at, rate in curve if rate > 0]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
        colour = colour_of(number)
        yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for x, y in dots:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'


def _short(number: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:g}{letter}"
    return str(number)
