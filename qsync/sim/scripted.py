"""The common part of simulated clients: a script, random operations, a final read of everything."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from qsync.sim import repertoire
from qsync.sim.operations import Ask, OperationRecord, OperationResult
from qsync.sim.repertoire import Begun, OperationGenerator
from qsync.sim.spaces import COUNTERS, LISTS, NOTES, REGISTERS

LAST_LOOKS: Final = (REGISTERS, LISTS, COUNTERS, NOTES)


class ScriptedClient:
    """One operation after another. `counts`: operations by name, started and by result.

    `done` is called once when the script is at its end.
    """

    def __init__(self, mind: OperationGenerator) -> None:
        self.counts = Counter[str]()
        self.stopping = False
        self.script: list[Callable[[], Begun]] = []
        self.done: Callable[[], None] | None = None
        self._mind = mind
        self._now: OperationRecord | None = None

    @property
    def idle(self) -> bool:
        """Whether no operation is pending or planned."""
        return self._now is None and self.stopping and not self.script

    @property
    def busy_with(self) -> str:
        """For people."""
        operation = self._now
        return f"client {self._mind.number}: {operation.name} {operation.key}" if operation else ""

    def start(self) -> None:
        """Start it."""
        if not self.stopping:
            self._go_on()

    def finish(self) -> None:
        """The final step: read everything again, shared among all clients, then rest."""
        if self.stopping:
            return
        self.stopping, self.done = True, None
        load = self._mind.load
        looks = [partial(repertoire.last_audit, load.keys)]
        for space in LAST_LOOKS:
            looks += [partial(repertoire.last_look, space, key) for key in range(load.keys)]
        self.script += looks[self._mind.number - 1 :: load.clients]
        self._go_on()

    def write_once(self, done: Callable[[], None]) -> None:
        """One more write, by a resting client; then `done`."""
        assert self.stopping
        self.script.append(partial(repertoire.write, self._mind))
        self.done = done
        self._go_on()

    def perform(self, script: Sequence[Callable[[], Begun]]) -> None:
        """Run these operations one after the other, and nothing else."""
        self.stopping = True
        self.script += script
        self._go_on()

    def repeat(self) -> None:
        """All that anybody wrote once more, and then a write of its own."""
        self.perform([partial(repertoire.repeated, self._mind)])

    @property
    def scripted(self) -> bool:
        """Whether its script has operations left."""
        return bool(self.script) or self._now is not None

    def begin(self) -> None:
        """Its script is done; from now on it draws operations."""
        assert not self.scripted
        self.stopping = False
        self._go_on()

    def asks(self, name: str) -> Callable[[], Begun]:
        """The operation for that draw."""
        return partial(repertoire.QUESTIONS[name], self._mind)

    def _noted(self, ask: Ask, told: OperationResult) -> None:
        """A position and its client: later reads may require it."""
        self._mind.floors.told(told)
        self._mind.tokens.told(ask, told)

    def _go_on(self) -> None:
        """Whether there is work."""
        raise NotImplementedError
