"""Series of any length, reduced to a bounded number of points while they are read."""

from dataclasses import dataclass, field

POINTS_MAX = 400
_FINEST_S = 1e-3


@dataclass(slots=True)
class ThinnedSeries:
    """The last value of each time interval; intervals double when there are too many."""

    points_max: int = POINTS_MAX
    width: float = _FINEST_S
    _kept: dict[int, tuple[float, int]] = field(default_factory=dict)

    def add(self, at: float, value: int) -> None:
        """Set the value from this time on."""
        self._keep(at, value)
        while len(self._kept) > self.points_max:
            self.width *= 2
            former, self._kept = self._kept, {}
            for when, known in former.values():
                self._keep(when, known)

    @property
    def points(self) -> tuple[tuple[float, int], ...]:
        """The points by time."""
        return tuple(sorted(self._kept.values()))

    def _keep(self, at: float, value: int) -> None:
        stretch = int(at / self.width)
        former = self._kept.get(stretch)
        if former is None or former[0] <= at:
            self._kept[stretch] = (at, value)


@dataclass(slots=True)
class CountSeries:
    """The count in each time interval."""

    points_max: int = POINTS_MAX
    width: float = _FINEST_S
    _counts: dict[int, int] = field(default_factory=dict)

    def add(self, at: float, count: int = 1) -> None:
        """Add to the count at a time."""
        self._keep(int(at / self.width), count)
        while len(self._counts) > self.points_max:
            self.width *= 2
            former, self._counts = self._counts, {}
            for stretch, known in former.items():
                self._keep(stretch // 2, known)

    @property
    def stretches(self) -> tuple[tuple[float, float, int], ...]:
        """Begin, end and count of every interval with a count above zero."""
        found = sorted(self._counts.items())
        return tuple((at * self.width, (at + 1) * self.width, count) for at, count in found)

    def _keep(self, stretch: int, count: int) -> None:
        self._counts[stretch] = self._counts.get(stretch, 0) + count
