"""What every verb of a drill says of itself: how a file writes it, what it does, what undoes it."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from admin.drills.live import LiveCluster
from admin.drills.model import Step
from admin.drills.undo_log import UndoStep
from admin.drills.values import Options
from admin.lab.lab import Lab
from qsync.faults import Fault

if TYPE_CHECKING:  # a real cluster needs no simulator
    from admin.drills.simulated import Members, SimulatedCluster


class Takes(StrEnum):
    """What kind of value a file writes behind a verb."""

    NODES = "nodes"
    NOTHING = "nothing"
    DURATION = "duration"
    PROBE = "probe"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbSpec:
    """A verb as data: its name, its options, what it breaks, what undoes it."""

    name: str
    about: str
    """What it does, for the reference, the schema and editors."""
    takes: Takes = Takes.NODES
    options: Options = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    """The faults that it causes."""
    undone_by: str | None = None
    """The remedy that ends its harm; None where no harm lasts."""
    downs: bool = False
    """Whether the node takes no part in the cluster while it lasts."""
    in_turn: bool = False
    """Whether it takes the nodes down one after the other, and all are back when it is done."""
    waits: bool = False
    """Whether it only lets time pass."""
    ends_all: bool = False
    """Whether it undoes every fault."""
    needs_links: bool = False
    """Whether it needs a lab whose links go through the proxy."""
    needs_points: bool = False
    """Whether it needs nodes whose fault points may be armed."""
    needs_certificates: bool = False
    """Whether it needs a lab whose nodes speak TLS."""


class StepVerb:
    """One kind of step. `live` and `simulated` raise QsyncError when it cannot be done."""

    spec: ClassVar[VerbSpec]

    @property
    def in_simulator(self) -> bool:
        """Whether the simulator can do it, too."""
        return type(self).simulated is not StepVerb.simulated

    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        """Do it to real processes, once what undoes it is in the undo log."""
        raise NotImplementedError

    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        """Do it to a simulated cluster."""
        raise NotImplementedError


class Remedy(StepVerb):
    """A verb that ends the harm of others. The undo log names it."""

    needs_process: ClassVar[bool] = False
    """As a step it is a mistake where no process runs; otherwise there is nothing to undo then."""

    def undo(self, lab: Lab, node: str) -> None:
        """Put it right; doing it twice does no harm. `node` is empty for what concerns all links.

        Anybody does it after the runner died, so it knows nothing but the lab.
        """
        raise NotImplementedError

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        for node in nodes if self.spec.takes is Takes.NODES else [""]:
            if self.needs_process:
                cluster.running(node)
            self.undo(cluster.lab, node)
            cluster.undo_log.settle(UndoStep(undo=self.spec.name, node=node))
