"""Checks one run, and then its evidence, as `qsync check` does with what `qsync sim` keeps."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from admin.checker.bundles import check_bundle
from admin.evidence.manifest import NoEvidence
from admin.soak.coverage import reached
from admin.soak.judge import JudgedSeed, SeedFinding, failed, look
from admin.soak.keep import bundle_of, played
from qsync.sim.plan import Plan

UNREADABLE = "evidence"
"""The name of the check that evidence can be judged at all."""
KEPT = Path("evidence")
"""Where the command that a finding gives keeps the bundle."""


def judge(plan: Plan, *, covers: bool = False) -> JudgedSeed:
    """Run a plan and check everything, its evidence too. `covers`: note the states it reached."""
    with TemporaryDirectory(prefix="qsync-soak-") as folder:
        done = played(plan, Path(folder))
        judged = look(done)
        if covers:
            judged = replace(judged, reached=reached(done))
        if judged.finding is not None:
            return judged
        return replace(judged, finding=_shown(bundle_of(plan, Path(folder)), plan))


def _shown(bundle: Path, plan: Plan) -> SeedFinding | None:
    again = f"{plan.command()} --bundle {KEPT} && qsync check {bundle_of(plan, KEPT)}"
    try:
        checked = check_bundle(bundle).checked
    except (ValueError, NoEvidence) as error:
        text = f"its evidence cannot be checked: {error}"
        return SeedFinding(check=UNREADABLE, number=None, text=text, evidence=(), again=again)
    return failed((each.verdict for each in checked), by="evidence shows", again=again)
