"""Durations in few characters."""

import pytest

from admin.cluster import short

HOUR_S, DAY_S = 3600.0, 86_400.0


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (12.9 * DAY_S, "12 days"),
        (3 * DAY_S, "3 days"),
        (2.5 * DAY_S, "2d12h"),
        (DAY_S + HOUR_S, "1d1h"),
        (11.25 * HOUR_S, "11h15m"),
        (7.0, "7s"),
    ],
)
def test_what_ends_soon_is_told_in_more_than_days(seconds: float, said: str) -> None:
    assert short.days(seconds) == said
