"""Verbs of a drill for an operator's requests to nodes: promote and demote."""

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from typing_extensions import override

from admin.cluster import leadership
from admin.drills.live import LiveCluster
from admin.drills.model import Step
from admin.drills.verbs.verb import StepVerb, VerbSpec
from qsync.core.inputs import DemoteAsked, PromoteAsked
from qsync.errors import QsyncError
from qsync.faults import Fault
from qsync.wire.verbs import DemoteRequest, PromoteRequest

if TYPE_CHECKING:
    from admin.drills.simulated import Members, SimulatedCluster

LEAD_S_MAX = 15.0
"""How long a promote or demote may take."""


class LeadershipVerb(StepVerb):
    """Asks several nodes at the same moment; one of them has to succeed."""

    def request(self) -> PromoteRequest | DemoteRequest:
        """The request that is sent to each node."""
        raise NotImplementedError

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        def ask(name: str) -> QsyncError | None:
            address = cluster.place.node(name).address
            try:
                leadership.perform(address, self.request(), timeout=LEAD_S_MAX)
            except QsyncError as error:
                return error
            return None

        with ThreadPoolExecutor(len(nodes)) as pool:
            errors = [each for each in pool.map(ask, nodes) if each is not None]
        if len(errors) == len(nodes):
            raise errors[0]


class PromoteVerb(LeadershipVerb):
    """Asks nodes to lead. A node may refuse if another one leads by then."""

    spec = VerbSpec(
        name="promote",
        about="an operator's request to lead; of several nodes at once one has to succeed",
        faults=(Fault.PROMOTE,),
    )

    @override
    def request(self) -> PromoteRequest:
        return PromoteRequest(1, LEAD_S_MAX)

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        for node in nodes:
            if node.reachable:
                node.operate("promote", lambda ticket: PromoteAsked(ticket=ticket))


class DemoteVerb(LeadershipVerb):
    """Asks the leader to empty its limbo and to hand leadership to a node of its choice."""

    spec = VerbSpec(
        name="demote",
        about="an operator's request to step down",
        faults=(Fault.DEMOTE,),
    )

    @override
    def request(self) -> DemoteRequest:
        return DemoteRequest(1, 0, LEAD_S_MAX)

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        for node in nodes:
            if node.reachable:
                node.operate("demote", lambda ticket: DemoteAsked(ticket=ticket, to=None))


VERBS: tuple[StepVerb, ...] = (PromoteVerb(), DemoteVerb())
