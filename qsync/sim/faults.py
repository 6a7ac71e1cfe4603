"""The times and durations of faults in a run, drawn from its seed."""

from collections.abc import Callable, Mapping
from functools import partial

from qsync.faults import Fault
from qsync.sim.swarm import Swarm
from qsync.sim.troubles import ChosenVictim, NemesisContext, Undo

SOON = 0.25
"""The first fault comes after this fraction of the usual pause."""


class Faults:
    """The nemesis. `heal` ends it and repairs everything."""

    def __init__(
        self,
        scene: NemesisContext,
        troubles: Mapping[Fault, Callable[[NemesisContext], Undo | None]],
    ) -> None:
        self._scene = scene
        self._troubles = troubles
        self._dice = scene.clockwork.dice("nemesis")
        self._strikes = 0
        drift = scene.swarm.nemesis.drift
        for node in scene.nodes:
            node.clocks.in_a_hurry = scene.swarm.timing.when == "earliest"
            node.clocks.rate = 1.0 + drift * (2 * node.clocks.dice.random() - 1)

    @property
    def struck(self) -> dict[int, Fault]:
        """The kind of every strike that happened, by its number."""
        return self._scene.struck

    def start(self) -> None:
        """Start faults; the first one comes soon, or some runs would have none."""
        self._later(SOON)

    def begin_period(self, swarm: Swarm) -> None:
        """After healing: the faults that may happen from the next `start` on."""
        self._scene.begin_period(swarm)

    def heal(self) -> None:
        """Stop faults, and repair everything."""
        self._scene.over = True
        self._scene.network.heal()
        for node in self._scene.nodes:
            node.disk.heal()
            node.clocks.in_a_hurry = False
            if not node.up:
                node.start()
            elif node.paused:
                node.resume()

    def strike(self, kind: Fault, chosen: ChosenVictim) -> None:
        """Inject the fault at that node now, by choice, not at random."""
        self._strikes += 1
        self._scene.chosen = chosen
        self._do(self._strikes, kind, chosen.lasts)
        self._scene.chosen = None

    def _later(self, share: float = 1.0) -> None:
        if not self._scene.swarm.nemesis.kinds:
            return  # this run has none of the requested faults
        self._strikes += 1
        pause = self._dice.about(self._scene.swarm.nemesis.interval) * share
        kind = self._dice.choice(self._scene.swarm.nemesis.kinds)
        self._scene.later(pause, partial(self._strike, self._strikes, kind))

    def _strike(self, number: int, kind: Fault) -> None:
        self._later()
        nemesis = self._scene.swarm.nemesis
        if kind in nemesis.active and (nemesis.strikes is None or number in nemesis.strikes):
            self._do(number, kind)

    def _do(self, number: int, kind: Fault, chosen: float | None = None) -> None:
        scene = self._scene
        scene.dice = dice = scene.clockwork.dice(f"strike {number}")
        lasts = dice.about(scene.swarm.nemesis.duration) if chosen is None else chosen
        scene.note(f"strike {number}: {kind}")
        undo = self._troubles[kind](scene)
        if undo is not None:
            scene.struck[number] = kind
            scene.later(lasts, undo)
