"""How long things took: counts in buckets of growing width, which can be added and subtracted."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

PER_DECADE = 6
FIRST_S, DECADES = 1e-5, 7
BOUNDS: tuple[float, ...] = tuple(
    float(f"{FIRST_S * 10 ** (step / PER_DECADE):.3g}") for step in range(DECADES * PER_DECADE + 1)
)
"""Upper ends of the buckets in seconds, 10 us to 100 s; one more bucket takes what is longer."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The content of a histogram at one moment, or its growth between two."""

    counts: tuple[int, ...] = ()
    seconds: float = 0.0
    longest: float = 0.0

    def __post_init__(self) -> None:
        """Leave out empty buckets at the end, and more buckets than there are."""
        used = min(len(self.counts), len(BOUNDS) + 1)
        while used and not self.counts[used - 1]:
            used -= 1
        object.__setattr__(self, "counts", self.counts[:used])

    @property
    def count(self) -> int:
        """The number of durations."""
        return sum(self.counts)

    def quantile(self, share: float) -> float | None:
        """Seconds that this share did not exceed, within a bucket's width; None without any."""
        wanted = share * self.count
        if not wanted:
            return None
        seen = 0
        for at, count in enumerate(self.counts):
            if count and seen + count >= wanted:
                low = BOUNDS[at - 1] if at else 0.0
                high = BOUNDS[at] if at < len(BOUNDS) else max(self.longest, low)
                found = low + (high - low) * (wanted - seen) / count
                return min(found, self.longest) if self.longest else found
            seen += count
        return self.longest

    def since(self, former: "Spread") -> "Spread":
        """Return what came after `former`; everything, if this does not continue it."""
        pairs = list(zip(self.counts, former.counts, strict=False))
        fell = any(now < then for now, then in pairs) or any(former.counts[len(pairs) :])
        if fell or self.seconds < former.seconds:
            return self
        rest = self.counts[len(pairs) :]
        gained = tuple(now - then for now, then in pairs) + rest
        return Spread(gained, self.seconds - former.seconds, self.longest)

    @classmethod
    def total(cls, parts: "Iterable[Spread]") -> "Spread":
        """Return the sum of several."""
        counts = [0] * (len(BOUNDS) + 1)
        seconds = longest = 0.0
        for part in parts:
            for at, count in enumerate(part.counts):
                counts[at] += count
            seconds += part.seconds
            longest = max(longest, part.longest)
        return cls(tuple(counts), seconds, longest)


class Histogram:
    """Counts for as long as the process lives."""

    __slots__ = ("_counts", "_longest", "_seconds")

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS) + 1)
        self._seconds = 0.0
        self._longest = 0.0

    def add(self, seconds: float, count: int = 1) -> None:
        """Add this many durations of that length."""
        self._counts[bisect_left(BOUNDS, seconds)] += count
        self._seconds += seconds * count
        self._longest = max(self._longest, seconds)

    def spread(self) -> Spread:
        """Return the present content."""
        return Spread(tuple(self._counts), self._seconds, self._longest)
