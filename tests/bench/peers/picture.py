"""The ratios as a picture: a row of bars for each workload, on a scale of doublings."""

import math
from collections.abc import Iterator
from html import escape

from tests.bench.peers.comparison import Comparison
from tests.bench.peers.workloads import WORKLOADS

_COLOURS = ("#1f6feb", "#2da44e", "#bf8700", "#8250df", "#cf222e", "#57606a")
_LEFT, _RIGHT, _BAR, _GAP, _TOP = 110, 60, 14, 14, 56
_WIDTH = 760
_LOWEST, _HIGHEST = -7.0, 4.0
"""The scale's ends, as powers of two; what lies beyond ends there."""


def svg(comparison: Comparison, *, to: str) -> str:
    """How many times the operations of `to`; a single client: how many times shorter its p50."""
    return "\n".join(_lines(comparison, to)) + "\n"


def _lines(comparison: Comparison, to: str) -> Iterator[str]:
    shown = [each for each in comparison.contestants if each.name != to]
    rows = [[comparison.ratio(who, to, workload) for who in shown] for workload in WORKLOADS]
    known = [math.log2(ratio) for row in rows for ratio in row if ratio]
    low = max(_LOWEST, math.floor(min([*known, -1.0])))
    high = min(_HIGHEST, math.ceil(max([*known, 1.0])))
    step = (_WIDTH - _LEFT - _RIGHT) / (high - low)
    group = len(shown) * _BAR + _GAP
    height = _TOP + len(WORKLOADS) * group + 10
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'font-family="sans-serif" font-size="12" role="img">'
    )
    yield f"<title>Operations a second, times {escape(to)}</title>"
    yield f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>'
    for number, who in enumerate(shown):
        x = _LEFT + number * (_WIDTH - _LEFT) / max(4, len(shown))
        yield f'<rect x="{x:.0f}" y="8" width="12" height="12" fill="{colour_of(number)}"/>'
        yield f'<text x="{x + 16:.0f}" y="18">{escape(who.name)}</text>'
    for power in range(int(low), int(high) + 1):
        x = _LEFT + (power - low) * step
        colour = "#24292f" if power == 0 else "#d0d7de"
        yield f'<path d="M{x:.1f} {_TOP - 8}V{height - 6}" stroke="{colour}"/>'
        label = f"{2**power}x" if power >= 0 else f"1/{2**-power}"
        place = f'x="{x:.1f}" y="{_TOP - 14}" text-anchor="middle"'
        yield f'<text {place} fill="#57606a">{label}</text>'
    for at, (workload, row) in enumerate(zip(WORKLOADS, rows, strict=True)):
        y = _TOP + at * group
        middle = y + len(shown) * _BAR / 2 + 4
        yield f'<text x="{_LEFT - 8}" y="{middle:.0f}" text-anchor="end">{workload.name}</text>'
        for number, ratio in enumerate(row):
            if ratio:
                bar = _bar(ratio, y + number * _BAR, low=low, high=high, step=step)
                yield bar.replace("COLOUR", colour_of(number))
    yield "</svg>"


def _bar(ratio: float, y: float, *, low: float, high: float, step: float) -> str:
    one = _LEFT - low * step
    end = _LEFT + (min(max(math.log2(ratio), low), high) - low) * step
    x, width = min(one, end), max(1.0, abs(end - one))
    label = f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
    return (
        f'<rect x="{x:.1f}" y="{y + 1:.0f}" width="{width:.1f}" height="{_BAR - 2}" fill="COLOUR"/>'
        f'<text x="{max(one, end) + 4:.1f}" y="{y + _BAR - 3:.0f}" font-size="10">{label}</text>'
    )


def colour_of(number: int) -> str:
    """Of the contestant in that place."""
    return _COLOURS[number % len(_COLOURS)]
