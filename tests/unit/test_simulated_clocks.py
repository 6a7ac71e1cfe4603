"""Clocks of a simulated machine: they stand still while it sleeps, and never go back."""

import pytest

from qsync.sim.dice import RandomStream
from qsync.sim.kernel.clock import MachineClocks


@pytest.fixture
def clocks() -> MachineClocks:
    return MachineClocks(RandomStream("clocks"))


def test_a_sleep_in_a_call_is_not_in_the_time_of_waiting(clocks: MachineClocks) -> None:
    clocks.sleep_in_call(1.0, 4.0, clocks.slept)
    assert clocks.monotonic(5.0) == 2.0
    assert clocks.elapsed(5.0, asleep_since=None) == 5.0


def test_what_was_counted_as_a_suspension_is_not_counted_again(clocks: MachineClocks) -> None:
    before, clocks.slept = clocks.slept, clocks.slept_by(3.0, asleep_since=1.0)
    clocks.sleep_in_call(1.0, 2.0, before)
    assert clocks.slept == 2.0


@pytest.mark.parametrize(("killed", "slept"), [(1.5, 0.5), (4.0, 3.0), (6.0, 3.0)])
def test_who_is_killed_in_its_sleep_has_slept_until_then(
    clocks: MachineClocks, killed: float, slept: float
) -> None:
    """The process may be ahead of the room: the next one begins where the room is."""
    clocks.sleep_in_call(1.0, 4.0, clocks.slept)
    clocks.end_sleep(killed)
    assert clocks.slept == slept
    assert clocks.monotonic(killed) >= 1.0
    clocks.end_sleep(killed)
    assert clocks.slept == slept
