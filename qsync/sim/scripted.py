"""What simulated clients have in common: a script, what they draw, a last look at everything."""

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
    """One thing after another. `counts`: its operations by name, begun and how they ended.

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
        """Nothing is open, and nothing more is planned."""
        return self._now is None and self.stopping and not self.script

    @property
    def busy_with(self) -> str:
        """For people."""
        operation = self._now
        return f"client {self._mind.number}: {operation.name} {operation.key}" if operation else ""

    def start(self) -> None:
        """From now on."""
        if not self.stopping:
            self._go_on()

    def finish(self) -> None:
        """The last thing: look at everything once more, shared among all clients, then rest."""
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
        """One more write, by a client that rests; then `done`."""
        assert self.stopping
        self.script.append(partial(repertoire.write, self._mind))
        self.done = done
        self._go_on()

    def perform(self, script: Sequence[Callable[[], Begun]]) -> None:
        """All that, one after the other until each has been done, and nothing else."""
        self.stopping = True
        self.script += script
        self._go_on()

    def repeat(self) -> None:
        """All that anybody wrote once more, and then a write of its own."""
        self.perform([partial(repertoire.repeated, self._mind)])

    @property
    def scripted(self) -> bool:
        """There is something left of what it was told to do."""
        return bool(self.script) or self._now is not None

    def begin(self) -> None:
        """It has done what it was told, and from now on does what it draws."""
        assert not self.scripted
        self.stopping = False
        self._go_on()

    def asks(self, name: str) -> Callable[[], Begun]:
        """What it does when that is drawn."""
        return partial(repertoire.QUESTIONS[name], self._mind)

    def _noted(self, ask: Ask, told: OperationResult) -> None:
        """Where something is, and whose it was: it may be asked for later."""
        self._mind.floors.told(told)
        self._mind.tokens.told(ask, told)

    def _go_on(self) -> None:
        """There is something to do."""
        raise NotImplementedError
