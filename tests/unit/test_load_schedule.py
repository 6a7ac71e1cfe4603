"""When a load begins its requests: at any answer, or at a rate, together each millisecond."""

import pytest

from qsync.client.load import PASS_S, LoadSchedule


def _taken(schedule: LoadSchedule, now: float) -> list[float]:
    """The intended starts that a pass over connections with room takes."""
    starts = []
    while (start := schedule.next_start(now)) is not None:
        starts.append(start)
    return starts


def test_what_is_due_within_a_millisecond_is_sent_in_one_pass() -> None:
    schedule = LoadSchedule(0.0, 1.0, None, 8_192)
    assert schedule.begins_pass(0.0)
    assert _taken(schedule, 0.0) == [0.0]

    assert not schedule.begins_pass(PASS_S * 0.6)
    assert schedule.wait(PASS_S * 0.6) == pytest.approx(PASS_S * 0.4)

    assert schedule.begins_pass(PASS_S)
    assert _taken(schedule, PASS_S) == pytest.approx([n / 8_192 for n in range(1, 9)])


def test_a_slow_rate_begins_each_request_when_it_is_due() -> None:
    schedule = LoadSchedule(0.0, 1.0, None, 100)
    assert schedule.begins_pass(0.0)
    assert _taken(schedule, 0.0) == [0.0]

    # An answer comes just before the next one is due: it does not put that one off.
    assert schedule.begins_pass(0.0099)
    assert _taken(schedule, 0.0099) == []
    assert schedule.wait(0.0099) == pytest.approx(0.0001)
    assert schedule.begins_pass(0.01)
    assert _taken(schedule, 0.01) == [0.01]


def test_connections_without_room_are_looked_at_once_a_pass() -> None:
    schedule = LoadSchedule(0.0, 1.0, None, 8_192)
    assert schedule.begins_pass(0.5)  # thousands are due, and no connection takes one
    assert schedule.wait(0.5) == pytest.approx(PASS_S)


def test_a_closed_loop_begins_at_every_answer_until_its_end() -> None:
    schedule = LoadSchedule(0.0, 1.0, 2, None)
    assert schedule.begins_pass(0.25)
    assert schedule.next_start(0.25) == 0.25
    assert schedule.begins_pass(0.25)
    assert schedule.next_start(0.5) == 0.5
    assert schedule.next_start(0.5) is None
    assert schedule.over(0.5)
