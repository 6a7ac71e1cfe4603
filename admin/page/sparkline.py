"""A line of numbers as a small picture in SVG, with words for those who do not see it."""

from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT, EDGE = 240.0, 44.0, 3.0


def sparkline(values: Sequence[float | None], *, places: int, label: str) -> str:
    """The newest at the right; `places`: the maximum number of values. A missing value is a gap."""
    step = (WIDTH - 2 * EDGE) / max(places - 1, 1)
    begin = WIDTH - EDGE - step * (len(values) - 1)
    top = max((each for each in values if each is not None), default=0.0) or 1.0
    path, drawn = "", False
    for at, value in enumerate(values):
        if value is None:
            drawn = False
            continue
        x, y = begin + step * at, HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * value / top
        # A number that stands alone is a dot: a line of no length, with round ends.
        path += f"L{x:.1f} {y:.1f}" if drawn else f"M{x:.1f} {y:.1f}h0"
        drawn = True
    return (
        f'<svg class="spark" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" preserveAspectRatio="none" '
        f'role="img" aria-label="{escape(label)}"><path class="ground" '
        f'd="M{EDGE:g} {HEIGHT - EDGE:g}H{WIDTH - EDGE:g}"/>'
        f'<path class="line" d="{path}"/></svg>'
    )
