"""Quantiles of measured times: one rule for benchmarks, drills and their probes."""

from collections.abc import Sequence


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """The value behind the first `share` (0..1) of all of them; 1: the greatest. None of none."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else None
