"""What nodes of a run do now and then, each when its dice say so, until everything is healed."""

from collections.abc import Callable, Sequence
from typing import Final

from qsync.sim.kernel.machine import MemberMachine
from qsync.sim.troubles import NemesisContext

OFTEN: Final = 0.5


class Chore:
    """Its dice are its own, so runs without it are as they would be."""

    def __init__(
        self,
        scene: NemesisContext,
        machines: Sequence[MemberMachine],
        *,
        name: str,
        do: Callable[[MemberMachine], None],
    ) -> None:
        """`name` is that of its dice."""
        self._scene = scene
        self._machines = machines
        self._do = do
        self._dice = scene.clockwork.dice(name)

    def start(self) -> None:
        """From now on, now and then."""
        pause = self._dice.about(self._scene.swarm.nemesis.interval / 4)
        self._scene.clockwork.after(pause, self._scene.unless_over, self._again)

    def _again(self) -> None:
        self.start()
        for machine in self._machines:
            if machine.reachable and self._dice.chance(OFTEN):
                self._do(machine)
