"""Nodes that write snapshots and trim their logs by themselves look often whether it is time."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from qsync.node.node import Node
from qsync.sim.kernel.machine import MemberMachine
from qsync.sim.troubles import NemesisContext

OFTEN: Final = 0.5


class Sweeps:
    """Runs are short, and a node looks once in a second. The dice are their own."""

    def __init__(self, scene: NemesisContext, machines: Sequence[MemberMachine]) -> None:
        self._scene = scene
        self._machines = machines
        self._dice = scene.clockwork.dice("sweeps")

    def start(self) -> None:
        """From now on, now and then, until everything is healed."""
        pause = self._dice.about(self._scene.swarm.nemesis.interval / 4)
        self._scene.clockwork.after(pause, self._scene.unless_over, self._again)

    def _again(self) -> None:
        self.start()
        for machine in self._machines:
            if machine.reachable and self._dice.chance(OFTEN):
                sweep_soon(machine)


def sweep_soon(machine: MemberMachine) -> None:
    """In its next turn the node sees who needs its log."""
    machine.process.soon(partial(_sweep, machine.node))


def _sweep(node: Node) -> None:
    node.loop.start_batch()
    node.queries.retention.sweep(node.reactor.effects.now())
    node.loop.turn()
