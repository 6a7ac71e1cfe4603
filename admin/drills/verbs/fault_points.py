"""Verbs of a drill for what a node does to itself, at its fault points."""

from functools import partial
from typing import TYPE_CHECKING

from typing_extensions import override

from admin.cluster import fault_points
from admin.drills.live import LiveCluster
from admin.drills.model import Step
from admin.drills.values import DURATION, NUMBER, one_of
from admin.drills.verbs.verb import Remedy, StepVerb, VerbSpec
from admin.lab.lab import Lab
from qsync.faults import Fault

if TYPE_CHECKING:
    from admin.drills.simulated import Members, SimulatedCluster


PointSpec = partial(VerbSpec, undone_by="disarm", needs_points=True)


class PointVerb(StepVerb):
    """Arms a fault point of each node, until `disarm`. Which one: its only fault."""

    def point(self, _: Step) -> Fault:
        """The one that a step means."""
        (only,) = self.spec.faults
        return only

    def seconds(self, _: Step) -> float:
        """How much slower, or how far ahead."""
        return 0.0

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        times = int(step.number("times"))
        for name in nodes:
            cluster.owe(self.spec.undone_by, name)
            fault_points.arm(
                cluster.lab.node(name).address,
                self.point(step),
                seconds=self.seconds(step),
                times=times,
            )


class StallFsyncVerb(PointVerb):
    """A disk that is slow, not broken."""

    spec = PointSpec(
        name="stall_fsync",
        about="every commit of its log takes `delay` longer (0.2 s)",
        options={"delay": DURATION, "times": NUMBER},
        faults=(Fault.SLOW_FSYNC,),
    )

    DELAY_S = 0.2

    @override
    def seconds(self, step: Step) -> float:
        return step.number("delay", self.DELAY_S)

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        for node in nodes:
            usual = cluster.world.swarm.platter.write_delay
            node.disk.slowness = 1.0 + self.seconds(step) / usual
            cluster.count_writes(node, int(step.number("times")))


class FailFsyncVerb(PointVerb):
    """A disk that says no."""

    spec = PointSpec(
        name="fail_fsync",
        about="commits of its log fail, so many `times` or until `disarm`",
        options={"times": NUMBER},
        faults=(Fault.FAIL_FSYNC,),
    )

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        for node in nodes:
            node.disk.broken = True
            cluster.count_writes(node, int(step.number("times")))


class JumpClockVerb(PointVerb):
    """Its timers keep the machine's clock."""

    spec = PointSpec(
        name="jump_clock",
        about="its wall clock is `ahead` or `behind` from now on",
        options={"ahead": DURATION, "behind": DURATION},
        faults=(Fault.CLOCK_JUMP,),
    )

    @override
    def seconds(self, step: Step) -> float:
        return step.number("ahead") - step.number("behind")

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        for node in nodes:
            node.clocks.wall_ahead = self.seconds(step)


class LoseVerb(PointVerb):
    """The followers hear of a fate from the next leader, if at all."""

    spec = PointSpec(
        name="lose",
        about="messages to peers with a later `confirm` or `rollback` (`what`) are not sent",
        options={"what": one_of("confirm", "rollback"), "times": NUMBER},
        faults=(Fault.LOSE_CONFIRM, Fault.LOSE_ROLLBACK),
    )

    @override
    def point(self, step: Step) -> Fault:
        rollback = step.options.get("what") == "rollback"
        return Fault.LOSE_ROLLBACK if rollback else Fault.LOSE_CONFIRM

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        """A fault point of the node itself."""
        for node in nodes:
            cluster.points(node).arm(self.point(step))


class DisarmVerb(Remedy):
    """The end of whatever its fault points do."""

    spec = VerbSpec(
        name="disarm",
        about="ends whatever the fault points of the node do",
        needs_points=True,
    )
    needs_process = True

    @override
    def undo(self, lab: Lab, node: str) -> None:
        found = lab.node(node)
        if found.process is not None:  # what was armed went with its process
            fault_points.disarm(found.address)

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        for node in nodes:
            cluster.disarm(node)


VERBS: tuple[StepVerb, ...] = (
    StallFsyncVerb(),
    FailFsyncVerb(),
    JumpClockVerb(),
    LoseVerb(),
    DisarmVerb(),
)
