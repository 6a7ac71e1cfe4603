"""A user whose rights come and go while it writes: nothing of it is in the log without a right."""

import pytest

from admin.soak.judge import SeedConclusion, judge
from qsync.sim.mutants.rights import RIGHTS
from qsync.sim.plan import Plan
from tests.seeds.counting import counts_of

EVENTS = 1200
SEEDS = (5, 14)
"""Runs with the habit `users`."""
NOTICED = {
    "pending_grant_counts": 14,
    "pending_revocation_ignored": 14,
    "rights_unchecked": 5,
}
"""A seed that notices each broken rule."""


def test_users_come_go_and_write_in_these_runs() -> None:
    total = counts_of(SEEDS, EVENTS)
    assert total["rights judged"] > len(SEEDS)
    assert total["trusted write ACCESS_DENIED"] > len(SEEDS)
    assert total["drop user ok"]
    assert total["revoke ok"]


@pytest.mark.pure
@pytest.mark.parametrize("mutant", NOTICED)
def test_a_broken_rule_of_rights_is_noticed(mutant: str) -> None:
    found = judge(Plan(seed=NOTICED[mutant], events=EVENTS, mutant=mutant))
    assert found.conclusion is SeedConclusion.BROKEN
    assert found.finding is not None
    assert "no effect without a right" in found.describe()


def test_every_broken_rule_of_rights_is_tried_here() -> None:
    assert NOTICED.keys() == {each.name for each in RIGHTS}
