"""Nodes and clients under one kind of trouble at a time: each is survived by itself."""

import pytest

from admin.soak.judge import SeedConclusion, judge
from qsync.sim.plan import Plan
from qsync.sim.swarm import NAMES

EVENTS = 600
SEEDS = (1, 2, 3, 4)
DISKS = ("swap", "wipe")
"""Only some clusters can lose a disk: not those of two, nor where few campaign."""


@pytest.mark.parametrize("kind", NAMES)
def test_one_kind_of_trouble_breaks_no_promise(kind: str) -> None:
    nodes = 5 if kind in DISKS else None
    plans = [Plan(seed=seed, nodes=nodes, events=EVENTS, only=(kind,)) for seed in SEEDS]
    found = [judge(plan) for plan in plans]
    broken = [each.describe() for each in found if each.conclusion is SeedConclusion.BROKEN]
    assert not broken, "\n".join(broken)
    assert {name for each in found for name in each.report.strikes.values()} == {kind}
    assert sum(each.report.acked for each in found) > 0
