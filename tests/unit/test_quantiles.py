"""Quantiles of measured times, compared with a count of what lies below."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admin.workload.quantiles import quantile


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 1))
def test_so_large_a_share_is_not_above_a_quantile(values: list[float], share: float) -> None:
    found = quantile(sorted(values), share)
    assert found is not None
    assert sum(each < found for each in values) <= share * len(values)
    assert share == 1 or sum(each <= found for each in values) > share * len(values)


@pytest.mark.parametrize(("share", "found"), [(0, 1), (0.5, 51), (0.99, 100), (1, 100)])
def test_quantiles_of_a_hundred_values(share: float, found: float) -> None:
    assert quantile(range(1, 101), share) == found


def test_of_nothing_there_is_no_quantile() -> None:
    assert quantile([], 0.5) is None
