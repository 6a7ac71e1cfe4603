"""Fault points: an armed one fires the given number of times, and none fires by itself."""

import errno
from pathlib import Path

import pytest

from qsync.errors import AccessDenied, ConfigError, StoreError
from qsync.faultpoints import (
    DELAY_S_MAX,
    JUMP_S_MAX,
    LASTS_S_MAX,
    TIMES_MAX,
    FaultPoints,
)
from qsync.faults import Fault
from tests.unit.logs import recovered, some, write


def points(*, allowed: bool = True) -> tuple[FaultPoints, list[int]]:
    """With a note of every change."""
    changes: list[int] = []
    return FaultPoints(allowed=allowed, changed=lambda: changes.append(1), now=lambda: 0.0), changes


def test_a_node_that_may_not_be_broken_arms_nothing() -> None:
    found, changes = points(allowed=False)
    with pytest.raises(AccessDenied, match="may not be broken"):
        found.arm(Fault.FAIL_FSYNC)
    assert found.describe() == []
    assert changes == []


def test_a_point_strikes_as_often_as_it_was_told_and_stays_visible_until_it_is_disarmed() -> None:
    found, changes = points()
    found.arm(Fault.FAIL_FSYNC, times=2)
    assert [found.strike(Fault.FAIL_FSYNC) for _ in range(3)] == [0.0, 0.0, None]
    assert found.seconds(Fault.FAIL_FSYNC) is None
    assert found.describe() == [{"point": "fail_fsync", "seconds": 0.0, "left": 0, "struck": 2}]
    found.disarm(Fault.FAIL_FSYNC)
    assert found.describe() == []
    assert len(changes) == 2


def test_without_a_number_of_times_a_point_strikes_until_all_are_disarmed() -> None:
    found, _ = points()
    found.arm(Fault.SLOW_FSYNC, seconds=0.25)
    found.arm(Fault.CLOCK_JUMP, seconds=-300.0)
    assert [found.strike(Fault.SLOW_FSYNC) for _ in range(3)] == [0.25] * 3
    assert found.seconds(Fault.CLOCK_JUMP) == -300.0
    assert found.strike(Fault.LOSE_CONFIRM) is None
    found.disarm()
    assert found.strike(Fault.SLOW_FSYNC) is None


def test_what_nobody_disarms_is_disarmed_when_its_time_is_over() -> None:
    now, changes = [100.0], [0]

    def changed() -> None:
        changes[0] += 1

    found = FaultPoints(allowed=True, changed=changed, now=lambda: now[0])
    found.arm(Fault.SLOW_FSYNC, seconds=1.0, lasts=60.0)
    found.arm(Fault.CLOCK_JUMP, seconds=1.0, lasts=LASTS_S_MAX)
    now[0] = 159.0
    found.expire()
    assert changes == [2]
    now[0] = 160.0
    found.expire()
    assert [each["point"] for each in found.describe()] == ["clock_jump"]
    assert changes == [3]
    for lasts in (0.0, LASTS_S_MAX + 1):
        with pytest.raises(ConfigError, match="lasting"):
            found.arm(Fault.SLOW_FSYNC, lasts=lasts)


@pytest.mark.parametrize(
    ("name", "seconds", "times", "why"),
    [
        ("slow_disk", 1.0, 0, "there is no fault point 'slow_disk'"),
        ("slow_fsync", DELAY_S_MAX + 1, 0, "not between 0 and 60"),
        ("slow_fsync", -1.0, 0, "not between 0 and 60"),
        ("slow_fsync", float("nan"), 0, "not between"),
        ("clock_jump", -JUMP_S_MAX - 1, 0, "not between"),
        ("fail_fsync", 0.0, TIMES_MAX + 1, f"at most {TIMES_MAX}"),
    ],
)
def test_what_cannot_be_is_refused(name: str, seconds: float, times: int, why: str) -> None:
    found, changes = points()
    with pytest.raises(ConfigError, match=why):
        found.arm(name, seconds=seconds, times=times)
    assert changes == []


def test_a_failing_fsync_keeps_nothing_and_the_log_goes_on_when_it_is_over(tmp_path: Path) -> None:
    first, second = some(2)

    def broken() -> None:
        raise OSError(errno.EIO, "input/output error")

    with recovered(tmp_path) as (log, _):
        log.write(write([first]))
        log.before_commit = broken
        with pytest.raises(StoreError, match="input/output error"):
            log.write(write([second]))
        assert log.last == 1
        log.before_commit = None
        log.write(write([second]))
    with recovered(tmp_path) as (log, found):
        assert (found.last, found.quarantined) == (2, None)
