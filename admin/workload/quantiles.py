"""Quantiles of measured times: one rule for benchmarks, drills and their probes."""

from collections.abc import Sequence


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """Return the quantile at `share` (0..1); 1 is the greatest. None without values."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else None
