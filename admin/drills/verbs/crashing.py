"""A node dies in the middle of what a step does, and is started again, as a supervisor would."""

import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from admin.drills.live import LiveCluster
from admin.drills.model import Step
from admin.drills.undo_log import UndoStep
from admin.drills.values import TARGET, Options

if TYPE_CHECKING:
    from admin.drills.simulated import SimulatedCluster
    from qsync.sim.kernel.machine import MemberMachine

CRASH: Final = "crash"
"""The option that names who dies."""
OPTION: Final[Options] = {CRASH: TARGET}
WITHIN_S = 0.3
"""It dies so soon after the step began at the latest; the seed draws the moment."""
DOWN_S = 0.2
"""In the simulator, so much later it is started again."""
BACK_S_MAX = 5.0


@contextmanager
def crashing(cluster: LiveCluster, step: Step) -> Iterator[None]:
    """Kill the node of the step during the block; its process comes back, its vote not yet.

    Raises NotRunning when it did not run.
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
        "who died meanwhile is back",
    )


def _crash(node: "MemberMachine", after: Callable[..., object]) -> None:
    if node.up:
        node.stop(power=False)
    after(DOWN_S, node.start_again)
