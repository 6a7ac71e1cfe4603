"""Lets time pass in a world."""

from qsync.sim.world import World


def pass_time(world: World, seconds: float) -> None:
    """Let this much time pass. Raises Violation."""
    end = world.clockwork.now + seconds
    world.clockwork.after(seconds, _nothing)
    while world.clockwork.now < end and world.step():
        pass


def _nothing() -> None:
    """Time passes."""
