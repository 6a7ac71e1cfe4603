"""Whole clusters in virtual time: the properties hold for fixed seeds, broken rules are caught."""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest

from admin.soak.judge import JudgedSeed, SeedConclusion, judge
from admin.soak.pool import judged
from qsync.sim import run
from qsync.sim.canon import PROPERTIES
from qsync.sim.plan import EVENTS, Plan
from qsync.sim.swarm import OPERATIONS
from qsync.sim.variety import COMMON, HABITS, LOSSES, VARIETY
from qsync.sim.world import World

HERE = Path(__file__).parent
BLOCK = 10
FIRST_SEEDS = range(1, 61, BLOCK)
SHORT_EVENTS = 1800

# How many seeds it may take until a broken rule breaks a property.
BUDGETS = {
    "vote_not_persisted": 150,
    "ack_before_durable": 5,
    "quorum_minus_one": 5,
    "confirm_older_term": 20,
    "rollback_inherited": 40,
    "stretch_rule_leader": 40,
    "stretch_rule_carried": 120,
    "read_without_round": 150,
    "retry_applies_twice": 5,
    "sessions_forgotten": 5,
    "validation_skipped": 40,
    "condition_ignored": 40,
    "refused_after_append": 40,
    "operation_never_ends": 240,
    "operator_forgotten": 10,
}

CLIENTS_NOTICE = {
    "linearizable registers",
    "linearizable counters",
    "linearizable bank",
    "strict-serializable lists",
    "failures-have-no-effect notes",
    "failures-have-no-effect registers",
}

# What a mutant breaks, so that it is not caught by accident: numbers of protocol.md section 9.
BREAKS: Mapping[str, AbstractSet[int | str]] = {
    "vote_not_persisted": {2, 5},
    "ack_before_durable": {7},
    "quorum_minus_one": {7},
    "confirm_older_term": {2, 7},
    "rollback_inherited": {2, 3, 4, 7},
    "stretch_rule_leader": {2, 4},
    "stretch_rule_carried": {2, 4, 8},
    "read_without_round": {3},
    "retry_applies_twice": {9},
    "sessions_forgotten": {9},
    # These leave the log in order: only the history of the clients gives them away.
    "validation_skipped": CLIENTS_NOTICE,
    "condition_ignored": CLIENTS_NOTICE,
    "refused_after_append": CLIENTS_NOTICE | {9},
    # These cause no violation: a client waits without end.
    "operation_never_ends": {11, 13},
    "operator_forgotten": {13},
}


def regressions() -> list[tuple[int, int | None, int]]:
    """Seed, nodes and events of every line of seeds.txt."""
    found = []
    for line in (HERE / "seeds.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            seed, nodes, events, _why = line.split(maxsplit=3)
            found.append((int(seed), None if nodes == "-" else int(nodes), int(events)))
    return found


def plans(seeds: Iterable[int], *, events: int = EVENTS, mutant: str | None = None) -> list[Plan]:
    return [Plan(seed=seed, events=events, mutant=mutant) for seed in seeds]


def complaint(found: JudgedSeed) -> str:
    assert found.finding is not None
    again = f"again: {found.report.plan.command()}"
    return "\n".join([found.describe(), *found.finding.evidence, again])


@pytest.mark.parametrize("first", FIRST_SEEDS, ids=lambda first: f"{first}-{first + BLOCK - 1}")
def test_every_property_holds_for_fixed_seeds(first: int) -> None:
    conclusions = []
    for found in map(judge, plans(range(first, first + BLOCK), events=SHORT_EVENTS)):
        assert found.finding is None, complaint(found)
        conclusions.append(found.conclusion)
    assert conclusions.count(SeedConclusion.HELD) >= BLOCK * 3 // 4


@pytest.mark.parametrize(("seed", "nodes", "events"), regressions())
def test_a_seed_that_once_failed_holds(seed: int, nodes: int | None, events: int) -> None:
    found = judge(Plan(seed=seed, nodes=nodes, events=events))
    assert found.finding is None, complaint(found)


@pytest.mark.timeout(300)
def test_the_fixed_seeds_are_not_idle() -> None:
    """A run in which nothing happens proves nothing."""
    total: dict[str, int] = {}
    facts, seeds = 0, 2 * BLOCK
    for found in map(judge, plans(range(1, seeds + 1), events=SHORT_EVENTS)):
        facts += found.facts
        for name, count in found.report.counts.items():
            total[name] = total.get(name, 0) + count
    assert total["terms led"] > 2 * seeds
    assert total["rolled back"] > 0
    assert total["orders of operators"] > 2 * seeds
    assert total["orders about members"] > seeds
    assert total["changes of members"] > seeds
    assert total["confirmed"] > 30 * seeds
    assert facts > 20 * seeds
    for operation in OPERATIONS:
        assert total[f"{operation} ok"] > 0, operation
    assert total["schema ok"] > 0
    assert total["stranger asked"] > 0
    assert total["asked early"] > 0
    for trouble in ("resettle", "kill", "power_cut", "pause", "isolate", "halves", "fail_fsync"):
        assert total[f"fault {trouble}"] > 0, trouble


def test_what_sets_a_cluster_apart_is_drawn() -> None:
    """Also lost directories, which are replaced: without them nobody would notice who counts."""
    seen: set[str] = set()
    for seed in range(1, 101):
        drawn = World(Plan(seed=seed)).swarm
        seen |= {*drawn.variety.names, *drawn.variety.kinds, f"{drawn.nodes} nodes"}
    assert seen >= {*VARIETY, *HABITS, *LOSSES, *(f"{nodes} nodes" for nodes in (1, 2, 3, 4, 5, 7))}


def test_a_plan_without_variety_is_the_common_cluster() -> None:
    for seed in range(1, 41):
        drawn = World(Plan(seed=seed, without=COMMON)).swarm
        assert drawn.nodes in {3, 5}
        assert not drawn.variety.names
        assert not drawn.nemesis.active & set(LOSSES)


def test_a_lost_directory_is_replaced_and_votes() -> None:
    shown = run.run(Plan(seed=1, nodes=5, only=("wipe",)))
    assert shown.report.held, shown.report.describe()
    assert "wipe" in shown.report.strikes.values()
    assert shown.report.counts["replaced"] > 0


def test_the_same_seed_is_the_same_run() -> None:
    one, two = (run.run_seed(7, events=SHORT_EVENTS) for _ in range(2))
    assert one.digest == two.digest
    assert one.digest != run.run_seed(8, events=SHORT_EVENTS).digest


def test_a_run_does_not_depend_on_the_hash_seed() -> None:
    program = (
        "from qsync.sim import run\n"
        f"print([run.run_seed(seed, events={SHORT_EVENTS}).digest for seed in (3, 5, 17)])\n"
    )
    printed = []
    for hash_seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            cwd=HERE.parent.parent,
            capture_output=True,
            text=True,
            check=True,
        )
        printed.append(done.stdout)
    assert printed[0] == printed[1]


def test_jobs_change_nothing_but_the_time() -> None:
    four = plans(range(1, 5), events=500)
    alone = {each.report.seed: each.report.digest for each in judged(four, judge)}
    together = {each.report.seed: each.report.digest for each in judged(four, judge, jobs=2)}
    assert alone == together


def test_every_budget_is_of_a_mutant_and_says_what_it_breaks() -> None:
    assert sorted(BUDGETS) == sorted(BREAKS)
    assert BUDGETS.keys() <= set(run.mutant_names())


@pytest.mark.timeout(300)
@pytest.mark.pure
@pytest.mark.parametrize("mutant", BUDGETS)
def test_a_broken_rule_is_caught_within_its_budget(mutant: str) -> None:
    seeds = range(1, BUDGETS[mutant] + 1)
    found = (each.finding for each in map(judge, plans(seeds, mutant=mutant)) if each.finding)
    # An assertion in the code may end such a run: that is no broken property.
    first = next((each for each in found if each.check != PROPERTIES[0]), None)
    assert first, f"{mutant} broke nothing that we noticed in {BUDGETS[mutant]} seeds"
    assert (first.number or first.check) in BREAKS[mutant], first.text


def test_a_replay_shows_every_event_and_what_clients_did() -> None:
    shown = run.run(Plan(seed=7, events=500))
    lines = shown.trace.lines()
    assert len(lines) == shown.report.events
    assert len({line.index("n1") for line in lines if " n1 " in line}) == 1
    kinds = {line.type for line in shown.history}
    assert {"invoke", "ok"} <= kinds
    invoked = sum(line.type == "invoke" for line in shown.history)
    assert 2 * invoked == len(shown.history)
