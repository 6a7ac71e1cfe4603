"""The pieces of a timeline in SVG: a scale of seconds, bars, words, an axis."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

WIDTH, LEFT, RIGHT, ROW = 1000.0, 90.0, 20.0, 22.0
TICKS_MAX = 10
_STEPS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class TimeScale:
    """From seconds `0..length` to places across the picture."""

    length: float
    left: float = LEFT
    right: float = WIDTH - RIGHT

    def x(self, seconds: float) -> float:
        """Points outside are drawn at the edge."""
        share = min(max(seconds / self.length, 0.0), 1.0) if self.length > 0 else 0.0
        return self.left + (self.right - self.left) * share

    def ticks(self) -> list[float]:
        """Round numbers of seconds, at most this many."""
        if self.length <= 0:
            return [0.0]
        rough = self.length / TICKS_MAX
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(each * power for each in _STEPS if each * power >= rough * 0.999)
        return [step * at for at in range(int(self.length / step + 1e-9) + 1)]


def bar(
    scale: TimeScale,
    begun: float,
    ended: float,
    row: float,
    *,
    fill: str,
    title: str,
    mark: str = "",
) -> str:
    """A bar in a row; it is never too narrow to be seen. `fill` is a colour, `mark` a class."""
    left, right = scale.x(begun), scale.x(ended)
    paint = f'class="{mark}"' if mark else f'fill="{fill}"'
    return (
        f'<rect x="{left:.1f}" y="{row * ROW + 4:.1f}" width="{max(right - left, 1.5):.1f}" '
        f'height="{ROW - 8:.1f}" rx="2" {paint}><title>{escape(title)}</title></rect>'
    )


def words(left: float, row: float, said: str, *, mark: str = "") -> str:
    """Text that begins at a place of a row."""
    kind = f' class="{mark}"' if mark else ""
    return f'<text x="{left:.1f}" y="{row * ROW + 15:.1f}"{kind}>{escape(said)}</text>'


def axis(scale: TimeScale, row: float) -> Iterable[str]:
    """Seconds below it all."""
    ticks = scale.ticks()
    digits = 0 if len(ticks) < 2 or ticks[1] >= 1 else max(0, -math.floor(math.log10(ticks[1])))  # noqa: PLR2004 - one has no distance
    for seconds in ticks:
        yield words(scale.x(seconds) - 8, row, f"{seconds:.{digits}f}", mark="axis")


def svg(height: float, label: str, parts: Iterable[str], *, width: float = WIDTH) -> str:
    """The picture; on a narrow screen it is scrolled, not shrunk."""
    return (
        f'<div class="wide"><svg viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg></div>'
    )
