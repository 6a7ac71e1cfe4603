"""When something goes wrong in a run, and for how long: drawn from its seed."""

from qsync.sim.swarm import KINDS
from qsync.sim.troubles import TROUBLES, Scene


class Faults:
    """The nemesis. `heal` ends it and repairs everything."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        drift, rng = scene.swarm.nemesis.drift, scene.clockwork.rng
        for node in scene.nodes:
            node.clocks.dice = scene.swarm.timing.dice
            node.clocks.rate = 1.0 + drift * (2 * rng.random() - 1)

    @property
    def struck(self) -> dict[str, int]:
        """How often each kind of trouble happened."""
        return self._scene.struck

    def start(self) -> None:
        """From now on things break."""
        clockwork = self._scene.clockwork
        clockwork.after(clockwork.about(self._scene.swarm.nemesis.interval), self._strike)

    def heal(self) -> None:
        """Nothing breaks any more, and what is broken is repaired."""
        self._scene.over = True
        self._scene.network.heal()
        for node in self._scene.nodes:
            node.disk.heal()
            node.clocks.dice = "uniform"
            if not node.up:
                node.start()
            elif node.paused:
                node.resume()

    def _strike(self) -> None:
        scene = self._scene
        if scene.over:
            return
        clockwork, nemesis = scene.clockwork, scene.swarm.nemesis
        kind = clockwork.rng.choice(nemesis.kinds)
        undo = TROUBLES[kind](scene)
        if undo is not None:
            scene.struck[kind] = scene.struck.get(kind, 0) + 1
            clockwork.after(clockwork.about(nemesis.duration), scene.unless_over, undo)
        clockwork.after(clockwork.about(nemesis.interval), self._strike)


assert set(TROUBLES) == set(KINDS)
