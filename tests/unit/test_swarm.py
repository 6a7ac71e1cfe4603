"""What a simulated run draws: an operator's settings that its network can serve."""

from qsync.sim.plan import Plan
from qsync.sim.swarm import Swarm
from qsync.sim.world import World

SEEDS = range(1, 101)


def _milliseconds(swarm: Swarm) -> int:
    """The `replication.timeout` that an operator sets in a run."""
    text = dict(swarm.tunings())["replication.timeout"]
    assert text is not None
    return int(text.removesuffix("ms"))


def test_an_operator_sets_no_replication_timeout_that_the_network_is_too_slow_for() -> None:
    halved = set()
    for seed in SEEDS:
        swarm = World(Plan(seed=seed)).swarm
        timeout = _milliseconds(swarm) / 1000
        # There and back, within half of what a strict leader waits beside a heartbeat.
        assert timeout == swarm.timing.replication_timeout or (
            4 * swarm.weather.delay_mean <= timeout
        )
        halved.add(timeout < swarm.timing.replication_timeout)
    assert halved == {False, True}
