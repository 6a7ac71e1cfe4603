"""Verbs of a drill for membership: nodes are removed, and added again."""

import time
from typing import TYPE_CHECKING

from typing_extensions import override

from admin.cluster import membership, surveys
from admin.cluster.membership import WantedChange
from admin.cluster.surveys import ClusterSurvey
from admin.drills.live import LiveCluster
from admin.drills.model import Step
from admin.drills.verbs.crashing import OPTION, crashing, simulated_crashing
from admin.drills.verbs.verb import Remedy, StepVerb, VerbSpec
from admin.lab.lab import Lab
from election.messages import Replica
from qsync.core.inputs import ChangeAsked
from qsync.core.member_change import AddMember, RemoveMember
from qsync.errors import NotLeader, QsyncError
from qsync.faults import Fault
from qsync.member import Member, MemberAction, MemberRole

if TYPE_CHECKING:
    from admin.drills.simulated import Members, SimulatedCluster
    from qsync.sim.kernel.machine import MemberMachine

CHANGE_S_MAX = 20.0
"""The time limit of a change before it is requested again."""
PAUSE_S = 0.2
TRIES_S = 30.0
"""How long a change is requested again if it is refused or its leader is lost."""


class RemoveMemberVerb(StepVerb):
    """The node continues to run, but is not a member."""

    spec = VerbSpec(
        name="remove",
        about="removes the node from the configuration, while `crash` dies; a leader hands over",
        options=OPTION,
        faults=(Fault.REMOVE_MEMBER,),
        undone_by="add",
        downs=True,
    )

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        for node in cluster.owe(self.spec.undone_by, *nodes):
            with crashing(cluster, step):
                _until_done(cluster.lab, node.name, wanted=False)

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        for node in nodes:
            with simulated_crashing(cluster, step):
                _ordered(cluster, node, RemoveMember(replica=Replica(node.me)))


class AddMemberVerb(Remedy):
    """The step ends when it votes again."""

    spec = VerbSpec(
        name="add",
        about="makes the node a member, while `crash` dies; it votes as soon as it has the log",
        options=OPTION,
    )

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        with crashing(cluster, step):
            super().live(cluster, step, nodes)

    @override
    def undo(self, lab: Lab, node: str) -> None:
        if lab.node(node).process is None:
            lab.start(lab.node(node))
        until_member(lab, node)

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        for node in nodes:
            place = Member(
                Replica(node.me),
                node.instance,
                MemberRole.JOINING,
                f"n{node.me}",
                str(node.node.config.address),
            )
            with simulated_crashing(cluster, step):
                _ordered(cluster, node, AddMember(member=place))


def until_member(lab: Lab, name: str) -> None:
    """Repeat the request until the running node is a voter. Raises QsyncError."""
    _until_done(lab, name, wanted=True)


def _ordered(
    cluster: "SimulatedCluster", node: "MemberMachine", change: AddMember | RemoveMember
) -> None:
    """Repeat the request to leaders, like a real client, until the change is confirmed."""
    wanted, asked = isinstance(change, AddMember), dict[int, float]()
    verb = "add" if wanted else "remove"

    def done() -> bool:
        for leader in cluster.leading():
            machine = leader.core.machine
            followed = machine.replicated_log.configurations.followed
            votes = followed is not None and node.me in followed.replicas
            if votes is wanted and machine.operations.changes.is_decided:
                return True
            now = cluster.world.clockwork.now
            if leader.reachable and now - asked.get(machine.term, -PAUSE_S) >= PAUSE_S:
                asked[machine.term] = now
                leader.operate(
                    f"{verb} {node.me}",
                    lambda ticket: ChangeAsked(ticket=ticket, change=change),
                )
        return False

    cluster.until(done, TRIES_S, f"n{node.me}: {verb}")


def _until_done(lab: Lab, name: str, *, wanted: bool) -> None:
    """Repeat the request until the change is made: the node that is asked may die meanwhile."""
    deadline = time.monotonic() + TRIES_S
    while True:
        try:
            found = surveys.survey(lab.addresses)
            if _votes(found, lab.node(name).id) is wanted:
                return
            _ask(found, lab, name, wanted=wanted)
        except QsyncError:
            if time.monotonic() > deadline:
                raise
        time.sleep(PAUSE_S)


def _ask(found: ClusterSurvey, lab: Lab, name: str, *, wanted: bool) -> None:
    node = lab.node(name)
    if wanted:
        one = membership.newcomer(found, node.address, timeout=CHANGE_S_MAX)
        action = MemberAction.ADD
    else:
        one = next(each for each in membership.members(found) if each.id == node.id)
        action = MemberAction.REMOVE
    change = WantedChange(action=action, one=one)
    membership.perform(found, change, timeout=CHANGE_S_MAX, progress=lambda _: None)


def _votes(found: ClusterSurvey, id: int) -> bool:
    if found.leader is None:
        raise NotLeader("there is no leader, and only a leader knows the voters")
    return id in {each for each, _ in found.leader.voters}


VERBS: tuple[StepVerb, ...] = (RemoveMemberVerb(), AddMemberVerb())
