"""The faults of a drill that a node does to itself, at its fault points."""

from admin.cluster import fault_points
from admin.drills.acts import Acts, seconds
from admin.drills.journal import UndoStep
from admin.drills.model import Step
from admin.drills.words import Undo
from qsync.faultpoints import Point

FSYNC_S = 0.2
"""How much longer an fsync takes, unless told otherwise."""


def stall_fsync(acts: Acts, step: Step, nodes: list[str]) -> None:
    """Every commit of the log is late."""
    _arm(acts, step, nodes, Point.SLOW_FSYNC, seconds(step.options, "delay", FSYNC_S))


def fail_fsync(acts: Acts, step: Step, nodes: list[str]) -> None:
    """Commits of the log fail."""
    _arm(acts, step, nodes, Point.FAIL_FSYNC, 0.0)


def jump_clock(acts: Acts, step: Step, nodes: list[str]) -> None:
    """The wall clock is wrong from now on."""
    ahead = seconds(step.options, "ahead", 0.0) - seconds(step.options, "behind", 0.0)
    _arm(acts, step, nodes, Point.CLOCK_JUMP, ahead)


def lose(acts: Acts, step: Step, nodes: list[str]) -> None:
    """Some messages to peers are not sent."""
    _arm(acts, step, nodes, LOSSES[str(step.options.get("what", "confirm"))], 0.0)


def disarm(acts: Acts, _: Step, nodes: list[str]) -> None:
    """Nothing of this any more."""
    for name in nodes:
        fault_points.disarm(acts.lab.node(name).address)
        acts.journal.settle(UndoStep(undo=Undo.DISARM, node=name))


LOSSES = {"confirm": Point.LOSE_CONFIRM, "rollback": Point.LOSE_ROLLBACK}


def _arm(acts: Acts, step: Step, nodes: list[str], point: Point, amount: float) -> None:
    times = int(seconds(step.options, "times", 0.0))
    for name in nodes:
        acts.owe(UndoStep(undo=Undo.DISARM, node=name))
        fault_points.arm(acts.lab.node(name).address, point, seconds=amount, times=times)
