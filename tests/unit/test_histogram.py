"""Counting how long things took: percentiles within a bucket, sums, and what came since."""

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qsync.histogram import BOUNDS, PER_DECADE, Histogram, Spread

times = st.lists(st.floats(1e-6, 200.0), min_size=1, max_size=200)
WIDTH = 10 ** (1 / PER_DECADE) * 1.01
"""How much wider a bucket's end is than its beginning."""


def filled(values: list[float]) -> Spread:
    made = Histogram()
    for value in values:
        made.add(value)
    return made.spread()


def test_buckets_grow_by_the_same_factor_and_meet_every_power_of_ten() -> None:
    assert all(
        b / a == pytest.approx(10 ** (1 / PER_DECADE), rel=0.01) for a, b in pairwise(BOUNDS)
    )
    assert {1e-05, 0.001, 1.0, 100.0} <= set(BOUNDS)


@given(times, st.sampled_from([0.5, 0.9, 0.99, 1.0]))
def test_a_quantile_is_within_its_bucket_of_the_true_one(values: list[float], share: float) -> None:
    ordered = sorted(values)
    true = ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))]
    found = filled(values).quantile(share)
    assert found is not None
    assert found <= max(values)
    if BOUNDS[0] < true <= BOUNDS[-1]:
        assert true / WIDTH <= found <= true * WIDTH


@given(times, times)
def test_what_came_since_is_what_was_added(before: list[float], after: list[float]) -> None:
    made = Histogram()
    for value in before:
        made.add(value)
    former = made.spread()
    for value in after:
        made.add(value)
    gained = made.spread().since(former)
    assert gained.counts == filled(after).counts
    assert gained.seconds == pytest.approx(sum(after), abs=1e-6)


@given(times, times)
def test_the_total_is_one_histogram_of_everything(left: list[float], right: list[float]) -> None:
    total = Spread.total([filled(left), filled(right), Spread()])
    assert total.counts == filled(left + right).counts
    assert total.longest == max(left + right)


@given(times)
def test_it_survives_being_told_in_plain_numbers(values: list[float]) -> None:
    told = filled(values)
    assert msgspec.convert(msgspec.to_builtins(told), Spread) == told


def test_more_buckets_than_there_are_are_left_out() -> None:
    assert Spread((1,) * 999).count == len(BOUNDS) + 1


def test_after_a_restart_the_new_counts_are_not_taken_for_growth() -> None:
    assert filled([0.001]).since(filled([0.001, 1.0])) == filled([0.001])
    assert filled([5.0]).since(filled([0.001])) == filled([5.0])


def test_nothing_has_no_quantile_and_several_at_once_count_each() -> None:
    assert Spread().quantile(0.5) is None
    made = Histogram()
    made.add(0.01, 3)
    assert made.spread().count == 3
    assert made.spread().seconds == pytest.approx(0.03)
