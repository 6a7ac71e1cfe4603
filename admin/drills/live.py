"""The cluster of real nodes that a drill breaks, and the log of faults to undo."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from admin.drills import targets
from admin.drills.failures import DrillStopped
from admin.drills.model import CRASH, Condition, Step
from admin.drills.place import DrillPlace
from admin.drills.targets import Names
from admin.drills.undo_log import UndoLog, UndoStep
from admin.lab.failures import NotRunning
from admin.lab.lab import Lab, LabNode
from admin.lab.processes import OsProcess
from admin.workload.clients import Workload
from qsync.errors import ConfigError, NotLeader


@dataclass(slots=True, kw_only=True)
class LiveCluster:
    """The interface for verbs. `leader` returns the current leader.

    `wait` and `until` let time pass while the runner observes the cluster; `until` raises
    Unavailable if the condition is not met in time. `background`: running activities of a node, and
    how to end each. `load`: the clients; `begin_anew` makes all clients forget the lost cluster.
    """

    place: DrillPlace
    undo_log: UndoLog
    names: Names
    leader: Callable[[], str | None]
    wait: Callable[[float], None]
    until: Callable[[Condition, float], None]
    load: Workload
    begin_anew: Callable[[], None]
    dice: Random
    never_touch: tuple[str, ...] = ()
    background: dict[str, Callable[[], None]] = field(default_factory=dict)

    @property
    def lab(self) -> Lab:
        """The lab, for verbs that need one. Raises ConfigError on other clusters."""
        if isinstance(self.place, Lab):
            return self.place
        raise ConfigError(f"{self.place.name} is no lab, and no hook does this")

    @property
    def all(self) -> list[str]:
        """Every node."""
        return [node.name for node in self.place.nodes]

    def nodes_of(self, step: Step) -> list[str]:
        """Return the nodes that a step is for.

        Raises NotLeader if it needs a leader and none exists, DrillStopped if the leader is a node
        that is never touched.
        """
        nodes = targets.of_step(self.names, step, self.leader())
        if step.on and not nodes:
            raise NotLeader(f"{step.describe()}: no leader")
        self._check_touched(step, nodes)
        return nodes

    def beside(self, step: Step, option: str = "with") -> tuple[str, ...]:
        """Return the nodes that a step names with `with`, or another option."""
        nodes = targets.beside(self.names, step, self.leader(), option)
        if option == CRASH:
            self._check_touched(step, nodes)
        return nodes

    def _check_touched(self, step: Step, nodes: Sequence[str]) -> None:
        if forbidden := set(nodes) & set(self.never_touch):
            raise DrillStopped(
                f"{step.describe()}: never_touch names {', '.join(sorted(forbidden))}"
            )

    def owe(self, remedy: str | None, *nodes: str) -> list[LabNode]:
        """Return the nodes, after the undo log on disk has their coming fault."""
        self.write_down(remedy, *nodes)
        return [self.lab.node(node) for node in nodes if node]

    def write_down(self, remedy: str | None, *nodes: str) -> None:
        """Write the undo of the coming fault of these nodes to disk."""
        assert remedy is not None
        for node in nodes:
            step = UndoStep(undo=remedy, node=node)
            if step not in self.undo_log.pending:
                self.undo_log.owe(step)

    def running(self, name: str) -> OsProcess:
        """The process of a node. Raises NotRunning."""
        process = self.lab.node(name).process
        if process is None:
            raise NotRunning(f"{name} does not run", hint=f"`qsync lab start {name}`")
        return process

    def end_background(self, *names: str) -> None:
        """End the activities at these nodes."""
        for name in names:
            end = self.background.pop(name, None)
            if end is not None:
                end()
