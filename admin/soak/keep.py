"""A run that is judged, and leaves its bundle of evidence behind."""

from pathlib import Path

from admin.evidence.simulated import keep, stage
from admin.soak.judge import JudgedSeed, asserted, look
from qsync.sim.plan import Plan
from qsync.sim.run import Run, play, told


def kept(plan: Plan, *, folder: Path, check: bool) -> JudgedSeed:
    """For `qsync check --quick FOLDER/seed-N`. The bundle of a broken run ends where it broke."""
    done = played(plan, folder)
    return look(done) if check else asserted(done)


def played(plan: Plan, folder: Path) -> Run:
    """The same, not judged."""
    world = stage(plan)
    report = play(world)
    keep(world, report, folder / f"seed-{plan.seed}")
    return told(world, report)
