"""Time passes in a world, whatever happens there meanwhile."""

from qsync.sim.world import World


def pass_time(world: World, seconds: float) -> None:
    """So much of it. Raises what breaks a property."""
    end = world.clockwork.now + seconds
    world.clockwork.after(seconds, _nothing)
    while world.clockwork.now < end and world.step():
        pass


def _nothing() -> None:
    """Time passes."""
