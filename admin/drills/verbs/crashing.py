"""A node dies during a step, and is started again, as by a supervisor."""

import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from admin.drills.live import LiveCluster
from admin.drills.model import CRASH, Step
from admin.drills.undo_log import UndoStep
from admin.drills.values import TARGET, Options

if TYPE_CHECKING:
    from admin.drills.simulated import SimulatedCluster
    from qsync.sim.kernel.machine import MemberMachine

OPTION: Final[Options] = {CRASH: TARGET}
WITHIN_S = 0.3
"""The latest time of its death after the start of the step; the seed draws the moment."""
DOWN_S = 0.2
"""In the simulator, the time until it is started again."""
BACK_S_MAX = 5.0


@contextmanager
def crashing(cluster: LiveCluster, step: Step) -> Iterator[None]:
    """Kill the node of the step during the block, and restart it; it may not vote yet.

    Raises NotRunning if it did not run.
    """
    names = cluster.beside(step, CRASH)
    cluster.owe("start", *names)
    delay = cluster.dice.uniform(0.0, WITHIN_S)

    def die() -> None:
        time.sleep(delay)
        for name in names:
            node = cluster.lab.node(name)
            cluster.lab.send(node, signal.SIGKILL)
            cluster.lab.start(node)

    with ThreadPoolExecutor(1) as pool:
        died = pool.submit(die)
        yield
        died.result()
    for name in names:
        cluster.undo_log.settle(UndoStep(undo="start", node=name))


@contextmanager
def simulated_crashing(cluster: "SimulatedCluster", step: Step) -> Iterator[None]:
    """The same in virtual time."""
    clockwork = cluster.world.clockwork
    dice = clockwork.dice("crash")
    nodes = [cluster.node(name) for name in cluster.beside(step, CRASH)]
    for node in nodes:
        clockwork.after(dice.uniform(0.0, WITHIN_S), _crash, node, clockwork.after)
    lives = {node.me: node.life for node in nodes}
    yield
    cluster.until(
        lambda: all(node.up and node.life != lives[node.me] for node in nodes),
        BACK_S_MAX,
        "the killed node is back",
    )


def _crash(node: "MemberMachine", after: Callable[..., object]) -> None:
    if node.up:
        node.stop(power=False)
    after(DOWN_S, node.start_again)
