"""Each safety rule switched off in the simulator is noticed by the checker, from evidence alone."""

from pathlib import Path

import pytest

from admin.checker.bundles import check_bundle
from admin.checker.verdict import Result
from admin.evidence.simulated import record
from qsync.sim.plan import EVENTS, Plan

PAGE = Path(__file__).parents[2] / "docs/reference/planted-faults.md"
SEEDS_MAX = 60
"""So many seeds, from the given one on, must be enough."""
NOTICED: dict[str, tuple[int, int, str]] = {
    "vote_not_persisted": (1, 1500, "vote-durable"),
    "ack_before_durable": (1, 1500, "ack-durable"),
    "quorum_minus_one": (1, 1500, "quorum-before-confirm"),
    "confirm_older_term": (1, 1500, "confirms-forward"),
    "rollback_inherited": (1, 1500, "rollback-legal"),
    "stretch_rule_leader": (1, 1500, "confirms-forward"),
    "stretch_rule_carried": (37, 1500, "stretches-whole"),
    "read_without_round": (45, EVENTS, "reads-fresh"),
    "retry_applies_twice": (1, 1500, "once"),
    "sessions_forgotten": (1, 1500, "once"),
    "validation_skipped": (37, 1500, "linearizable"),
    "condition_ignored": (1, 1500, "linearizable"),
    "refused_after_append": (1, 1500, "failures-gone"),
    "two_voters_at_once": (8, 1500, "configuration-steps"),
    "change_undecided": (30, 1500, "configuration-steps"),
}
"""By mutant: the first seed and the events of a run, and an invariant that must fail."""


@pytest.mark.pure
@pytest.mark.parametrize("mutant", sorted(NOTICED))
def test_a_broken_rule_is_noticed_from_evidence_alone(mutant: str, tmp_path: Path) -> None:
    first, events, wanted = NOTICED[mutant]
    for seed in range(first, first + SEEDS_MAX):
        plan = Plan(seed=seed, events=events, mutant=mutant)
        _, bundle = record(plan, tmp_path, judged=False)
        checked = check_bundle(bundle.path).checked
        if wanted in {e.verdict.invariant for e in checked if e.verdict.result is Result.FAIL}:
            return
    pytest.fail(f"{wanted} did not fail in {SEEDS_MAX} seeds")


def test_the_page_about_planted_faults_names_what_notices_each_mutant() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = {
        line.split("`")[1]: line.split("`")[3] for line in text.splitlines() if _of_mutant(line)
    }
    assert rows == {name: wanted for name, (_, _, wanted) in NOTICED.items()}


def _of_mutant(line: str) -> bool:
    return line.startswith("| `") and line.split("`")[1] in NOTICED
