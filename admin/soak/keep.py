"""Runs a plan and keeps its bundle of evidence."""

from pathlib import Path

from admin.evidence.simulated import keep, stage
from admin.soak.judge import JudgedSeed, asserted, look
from qsync.sim.plan import Plan
from qsync.sim.run import Run, play, told


def kept(plan: Plan, *, folder: Path, check: bool) -> JudgedSeed:
    """Run, check, and keep `FOLDER/seed-N`; the bundle of a failing run ends at the failure."""
    done = played(plan, folder)
    return look(done) if check else asserted(done)


def played(plan: Plan, folder: Path) -> Run:
    """Run and keep the bundle, without a check. The result includes how it came to rest."""
    world = stage(plan)
    report = play(world)
    keep(world, report, bundle_of(plan, folder))
    return told(world, report)


def bundle_of(plan: Plan, folder: Path) -> Path:
    """Return the name of the bundle of a run."""
    return folder / f"seed-{plan.seed}"
