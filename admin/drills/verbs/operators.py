"""Verbs of a drill for an operator's requests to nodes: promote and demote."""

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from admin.cluster import leadership
from admin.cluster.leadership import ClusterVerb
from admin.drills.live import LiveCluster
from admin.drills.model import Step
from admin.drills.verbs.verb import StepVerb, VerbSpec
from qsync.core.inputs import DemoteAsked, PromoteAsked
from qsync.errors import QsyncError
from qsync.faults import Fault

if TYPE_CHECKING:
    from admin.drills.simulated import Members, SimulatedCluster

LEAD_S_MAX = 15.0
"""How long a promote or demote may take."""


class LeadershipVerb(StepVerb):
    """Asks several nodes at the same moment; one of them has to succeed."""

    verb: ClassVar[ClusterVerb]

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        def ask(name: str) -> QsyncError | None:
            address = cluster.place.node(name).address
            try:
                leadership.perform(address, self.verb, timeout=LEAD_S_MAX)
            except QsyncError as error:
                return error
            return None

        with ThreadPoolExecutor(len(nodes)) as pool:
            errors = [each for each in pool.map(ask, nodes) if each is not None]
        if len(errors) == len(nodes):
            raise errors[0]


class PromoteVerb(LeadershipVerb):
    """Asks nodes to lead. A node may refuse if another one leads by then."""

    verb = ClusterVerb.PROMOTE
    spec = VerbSpec(
        name="promote",
        about="an operator's request to lead; of several nodes at once one has to succeed",
        faults=(Fault.PROMOTE,),
    )

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        for node in nodes:
            if node.reachable:
                node.operate("promote", lambda ticket: PromoteAsked(ticket=ticket))


class DemoteVerb(LeadershipVerb):
    """Asks the leader to empty its limbo and to hand leadership to a node of its choice."""

    verb = ClusterVerb.DEMOTE
    spec = VerbSpec(
        name="demote",
        about="an operator's request to step down",
        faults=(Fault.DEMOTE,),
    )

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        for node in nodes:
            if node.reachable:
                node.operate("demote", lambda ticket: DemoteAsked(ticket=ticket, to=None))


VERBS: tuple[StepVerb, ...] = (PromoteVerb(), DemoteVerb())
