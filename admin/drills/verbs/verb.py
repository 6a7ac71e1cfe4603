"""The declaration of a drill verb: its syntax in a file, its effect, and its remedy."""

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
    """The kind of value of a verb in a file."""

    NODES = "nodes"
    NOTHING = "nothing"
    DURATION = "duration"
    PROBE = "probe"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbSpec:
    """A verb as data: its name, its options, its faults, its remedy."""

    name: str
    about: str
    """Its effect, as text for the reference, the schema and editors."""
    takes: Takes = Takes.NODES
    options: Options = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    """The faults that it causes."""
    undone_by: str | None = None
    """The remedy that ends its fault; None if the fault ends by itself."""
    downs: bool = False
    """Whether the node is down in the meantime."""
    in_turn: bool = False
    """Whether it stops the nodes one after the other, and all are back at its end."""
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
    """One kind of step. `live` and `simulated` raise QsyncError if it fails."""

    spec: ClassVar[VerbSpec]

    @property
    def in_simulator(self) -> bool:
        """Whether the simulator can do it too."""
        return type(self).simulated is not StepVerb.simulated

    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        """Execute it on real processes, after the undo log has the fault."""
        raise NotImplementedError

    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        """Execute it on a simulated cluster."""
        raise NotImplementedError


class Remedy(StepVerb):
    """A verb that ends the faults of other verbs. The undo log names it."""

    needs_process: ClassVar[bool] = False
    """As a step it is an error if no process runs; otherwise there is nothing to undo then."""

    def undo(self, lab: Lab, node: str) -> None:
        """Undo the fault; idempotent. `node` is empty for faults of all links.

        Another process may call it after the runner died, so it uses only the lab.
        """
        raise NotImplementedError

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        for node in nodes if self.spec.takes is Takes.NODES else [""]:
            if self.needs_process:
                cluster.running(node)
            self.undo(cluster.lab, node)
            cluster.undo_log.settle(UndoStep(undo=self.spec.name, node=node))
