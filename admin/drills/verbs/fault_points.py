"""Verbs of a drill for the fault points of a node."""

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
    """Arms a fault point of each node, until `disarm`. The fault point is its only fault."""

    def point(self, _: Step) -> Fault:
        """The fault point of a step."""
        (only,) = self.spec.faults
        return only

    def seconds(self, _: Step) -> float:
        """The delay, or the clock offset."""
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
    """A slow disk, without errors."""

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
    """A disk with write errors."""

    spec = PointSpec(
        name="fail_fsync",
        about="commits of its log fail, this many `times` or until `disarm`",
        options={"times": NUMBER},
        faults=(Fault.FAIL_FSYNC,),
    )

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        for node in nodes:
            node.disk.broken = True
            cluster.count_writes(node, int(step.number("times")))


class JumpClockVerb(PointVerb):
    """Its timers still use the machine's clock."""

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
    """The followers learn the outcome from the next leader, if at all."""

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
    """Ends the effect of all its fault points."""

    spec = VerbSpec(
        name="disarm",
        about="disarms all fault points of the node",
        needs_points=True,
    )
    needs_process = True

    @override
    def undo(self, lab: Lab, node: str) -> None:
        found = lab.node(node)
        if found.process is not None:  # armed fault points ended with its process
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
