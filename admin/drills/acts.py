"""The faults of a drill, done to the real processes and links of a lab."""

import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from admin.drills import damage, mending, targets
from admin.drills.journal import UndoLog, UndoStep
from admin.drills.model import Step, Value
from admin.drills.targets import Names
from admin.drills.words import Undo
from admin.lab import processes
from admin.lab.lab import GRACE_S, Lab, LabNode
from qsync.errors import NotLeader

LEAD_S_MAX = 15.0
"""How long a promote or demote may take."""
ON_S, OFF_S = 0.05, 0.2
"""How long a starved process runs and stands still in turn, unless told otherwise."""
FLAP_S = 0.3
FILE_BYTES = 4096
"""What is left of every file on a disk that is full: less than any of ours has."""


Act = Callable[["Acts", Step, list[str]], None]


@dataclass(slots=True)
class Acts:
    """`leader` says who leads now. Every fault is in the journal before it happens."""

    lab: Lab
    journal: UndoLog
    names: Names
    leader: Callable[[], str | None]
    verbs: Mapping[str, Act]
    _starved: dict[str, "_Starving"] = field(default_factory=dict)

    def do(self, step: Step) -> tuple[str, ...]:
        """Do it; the nodes that it was done to. Raises QsyncError when it cannot be done."""
        nodes = [name for word in step.on for name in targets.now(self.names, word, self.leader())]
        if step.on and not nodes:
            raise NotLeader(f"{step.describe()}: nobody leads")
        self.verbs[step.verb](self, step, nodes)
        return tuple(nodes)

    def undo_all(self) -> list[str]:
        """The end of every fault. Raises DrillNotHealed."""
        for name in list(self._starved):
            self._feed(name)
        return mending.undo_all(self.lab, self.journal)

    # -- processes

    def kill(self, step: Step, nodes: list[str]) -> None:
        """SIGKILL, or a signal that it may obey; back when the process is gone."""
        number = signal.Signals[f"SIG{step.options.get('signal', 'KILL')}"]
        for node in self._each(nodes, Undo.START):
            process = node.process
            self.lab.send(node, number)
            if process is not None:
                process.wait_gone(GRACE_S)

    def pause(self, _: Step, nodes: list[str]) -> None:
        """SIGSTOP."""
        for node in self._each(nodes, Undo.RESUME):
            self.lab.pause(node)

    def resume(self, _: Step, nodes: list[str]) -> None:
        """SIGCONT."""
        for name in nodes:
            self.lab.resume(self.lab.node(name))
            self.journal.settle(UndoStep(undo=Undo.RESUME, node=name))

    def start(self, _: Step, nodes: list[str]) -> None:
        """Start them again, without waiting for them."""
        for name in nodes:
            self.lab.start(self.lab.node(name))
            self.journal.settle(UndoStep(undo=Undo.START, node=name))

    def wipe(self, _: Step, nodes: list[str]) -> None:
        """As if the disk were new."""
        for name in nodes:
            self.lab.wipe(self.lab.node(name))

    def tear(self, _: Step, nodes: list[str]) -> None:
        """The last batch of the log loses its end."""
        for name in nodes:
            damage.tear(self.lab.node(name))

    def flip(self, _: Step, nodes: list[str]) -> None:
        """One bit of the last batch of the log is another."""
        for name in nodes:
            damage.flip(self.lab.node(name))

    def fill(self, _: Step, nodes: list[str]) -> None:
        """Nothing can be written any more."""
        for node in self._each(nodes, Undo.ROOM):
            mending.limit_files(node, FILE_BYTES)

    def free(self, _: Step, nodes: list[str]) -> None:
        """There is room again."""
        for name in nodes:
            debt = UndoStep(undo=Undo.ROOM, node=name)
            mending.undo(self.lab, debt)
            self.journal.settle(debt)

    def starve(self, step: Step, nodes: list[str]) -> None:
        """It gets the processor only now and then."""
        on, off = seconds(step.options, "on", ON_S), seconds(step.options, "off", OFF_S)
        for node in self._each(nodes, Undo.RESUME):
            if node.process is not None:
                self._starved[node.name] = _Starving(node.process, on=on, off=off)

    def feed(self, _: Step, nodes: list[str]) -> None:
        """It runs as it likes again."""
        for name in nodes:
            self._feed(name)
            self.journal.settle(UndoStep(undo=Undo.RESUME, node=name))

    def _feed(self, name: str) -> None:
        starving = self._starved.pop(name, None)
        if starving is not None:
            starving.end()

    def heal(self, _: Step, __: list[str]) -> None:
        """Everything at once."""
        self.undo_all()

    @property
    def all(self) -> list[str]:
        """Every node."""
        return [node.name for node in self.lab.nodes]

    def _each(self, nodes: list[str], undo: Undo) -> list[LabNode]:
        """The nodes, once it is written down what undoes what is about to happen to them."""
        for name in nodes:
            self.owe(UndoStep(undo=undo, node=name))
        return [self.lab.node(name) for name in nodes]

    def owe(self, debt: UndoStep) -> None:
        """Write down what undoes what is about to happen, once."""
        if debt not in self.journal.debts:
            self.journal.owe(debt)


class _Starving:
    """Stops and continues a process in turn, in a thread."""

    def __init__(self, process: processes.OsProcess, *, on: float, off: float) -> None:
        self._process = process
        self._on, self._off = on, off
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="starving", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Back when it runs as it likes."""
        self._over.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._over.is_set() and self._process.send(signal.SIGSTOP):
            self._over.wait(self._off)
            self._process.send(signal.SIGCONT)
            self._over.wait(self._on)


def seconds(options: Mapping[str, Value], name: str, usual: float) -> float:
    """An option that is a number."""
    found = options.get(name, usual)
    assert isinstance(found, float), (name, found)
    return found
