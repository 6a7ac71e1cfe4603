"""Periodic activities of nodes in a run, at random times, until everything is healed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from qsync.sim.kernel.entrusting import Visitors
from qsync.sim.kernel.machine import MemberMachine
from qsync.sim.troubles import NemesisContext

OFTEN: Final = 0.5


class Chore:
    """It has its own random generator, so runs without it are unchanged."""

    def __init__(
        self,
        scene: NemesisContext,
        machines: Sequence[MemberMachine],
        *,
        name: str,
        do: Callable[[MemberMachine], None],
        pace: float = 4,
    ) -> None:
        """`name` is the name of its generator; it happens this many times as often as faults."""
        self._scene = scene
        self._machines = machines
        self._do = do
        self._pace = pace
        self._dice = scene.clockwork.dice(name)

    @property
    def counts(self) -> Mapping[str, int]:
        """The requests to nodes, and their results; some chores are not counted."""
        return self._do.counts if isinstance(self._do, Visitors) else {}

    def start(self) -> None:
        """Start it."""
        pause = self._dice.about(self._scene.swarm.nemesis.interval / self._pace)
        self._scene.later(pause, self._again)

    def _again(self) -> None:
        self.start()
        for machine in self._machines:
            if machine.reachable and self._dice.chance(OFTEN):
                self._do(machine)
