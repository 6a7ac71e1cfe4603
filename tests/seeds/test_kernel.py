"""The simulated kernel: nodes and clients are stopped in it, crowded and asked as by people."""

import platform
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from admin.soak.judge import SeedConclusion, judge
from qsync.core.consistency import Consistency
from qsync.core.inputs import PromoteAsked
from qsync.sim.kernel import mutants, process
from qsync.sim.kernel.broken_retention import RETENTION
from qsync.sim.kernel.machine import MemberMachine
from qsync.sim.kernel.process import KernelProcess
from qsync.sim.plan import Plan
from qsync.sim.run import play
from qsync.sim.spaces import REGISTERS
from qsync.sim.world import World
from qsync.wire.verbs import GetRequest, ReadLevel

SHORT_EVENTS = 1200
CALLS_APART = 37
QUIET = 400
FOUR_COLUMNS = 4
PAGE = Path(__file__).parents[2] / "docs/reference/mutants.md"
CROWD = 2000
CALLS_IN_A_TIMEOUT = 4000


# How many seeds it may take until a broken rule of the node or the client is noticed.
BUDGETS = {
    "told_before_durable": 10,
    "sends_before_durable": 3,
    "stale_clock": 3,
    "late_is_rolled_back": 10,
    "never_dials_again": 10,
    "doubt_forgotten": 15,
    "doubt_unsaid": 10,
    "retry_renumbered": 10,
}

SELDOM = {
    "told_remembered": 13,
    "left_read_repeated": 141,
    "left_write_sent": 13,
    "left_number_reused": 25,
    "left_transaction_committed": 25,
    "left_commit_denied": 25,
    "left_feed_moves": 25,
}
"""A whole run of this seed notices it."""
IN_A_CROWD = "no_turn_limit"
IN_DOUBT = {
    "answered_forgotten",
    "left_renumbered",
    "under_way_undoubted",
    "unknown_forgotten",
}
"""A play of one client notices these (tests/unit/test_client_doubts.py)."""
UNNOTICED = {"silence_unnoticed", "client_in_any_cluster", *mutants.LIFELONG}


def plan(seed: int, events: int = SHORT_EVENTS) -> Plan:
    return Plan(seed=seed, events=events)


def led(world: World) -> MemberMachine:
    """A node leads and has accepted writes."""
    while True:
        world.step()
        for node in world.nodes:
            if node.leads and len(world.trace) > QUIET:
                return node


@pytest.mark.parametrize("life", range(12))
def test_a_leader_may_die_between_any_two_calls_into_its_kernel(life: int) -> None:
    died = Counter[int]()
    world = World(Plan(seed=3, events=QUIET, strikes=()))
    world.start()
    machine = led(world)

    def kill(process: KernelProcess) -> None:
        died[process.calls] += 1
        machine.stop(power=False)

    at = machine.process.calls + CALLS_APART * life + 1
    machine.process.strike = (at, kill)
    while machine.up:
        world.step()
    world.clockwork.after(0.1, machine.start_again)
    end = len(world.trace) + QUIET
    while len(world.trace) < end:
        world.step()
    world.heal()
    while world.unrest() is not None:
        world.step()
    assert died == {at: 1}


def elections_in_a_crowd(mutant: str | None, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many there are when one client asks its leader more than that can serve in one go."""
    world = World(Plan(seed=3, events=QUIET, strikes=(), mutant=mutant))
    world.start()
    led(world)
    world.heal()
    while world.unrest() is not None:
        world.step()
    before, patience = len(world.invariants.leaders), world.swarm.timing.election_timeout
    monkeypatch.setattr(process, "CALL_S", patience / CALLS_IN_A_TIMEOUT)
    nothing = ReadLevel(Consistency.LOCAL)
    world.programs[0].crowd(CROWD, lambda id: GetRequest(id, REGISTERS, 0, [1], nothing))
    end = world.clockwork.now + 4 * patience
    while world.clockwork.now < end:
        world.step()
    return len(world.invariants.leaders) - before


@pytest.mark.pure
@pytest.mark.parametrize("mutant", [None, IN_A_CROWD])
def test_a_client_that_asks_for_more_than_a_turn_deposes_nobody(
    mutant: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bool(elections_in_a_crowd(mutant, monkeypatch)) is bool(mutant)


def test_the_page_has_every_mutant_of_node_and_client_and_its_budget() -> None:
    rows = [line.split(" | ") for line in PAGE.read_text("utf-8").splitlines() if " | " in line]
    said = {row[0].strip("| `"): row[3].strip(" |") for row in rows if len(row) == FOUR_COLUMNS}
    assert {name: said[name] for name in BUDGETS} == {
        name: str(budget) for name, budget in BUDGETS.items()
    }
    of_retention = RETENTION.keys()  # tests/seeds/test_kernel_retention.py
    assert {*mutants.NODES, *mutants.CLIENTS} == {
        *BUDGETS,
        *SELDOM,
        IN_A_CROWD,
        *IN_DOUBT,
        *UNNOTICED,
        *of_retention,
    }


def test_an_operator_is_answered_over_a_connection_of_his_own() -> None:
    world = World(Plan(seed=3, events=QUIET, strikes=()))
    world.start()
    leader = led(world)
    other = next(each for each in world.nodes if each is not leader)
    leader_term = leader.core.machine.term
    other.operate("promote", lambda ticket: PromoteAsked(ticket=ticket))
    waited = False
    for _ in range(4 * QUIET):
        world.step()
        waited = waited or bool(other.waiting())
    assert waited
    assert not other.waiting()
    assert other.core.machine.term > leader_term


def test_what_shipped_code_does_is_told_as_of_any_other_run() -> None:
    world = World(plan(9))
    report = play(world)
    assert report.held
    assert report.acked > 0
    assert report.counts["terms led"] > 0


@pytest.mark.pure
@pytest.mark.parametrize("mutant", BUDGETS)
def test_a_broken_rule_of_node_or_client_is_noticed(mutant: str) -> None:
    seeds = range(1, BUDGETS[mutant] + 1)
    found = (judge(replace(plan(seed), mutant=mutant)) for seed in seeds)
    assert any(each.conclusion is SeedConclusion.BROKEN for each in found)


def test_a_seed_is_the_same_on_a_machine_of_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here clients ask for the status, and how long an answer is decides when it arrives."""
    plan = Plan(seed=5009, events=300)
    here = play(World(plan))
    monkeypatch.setattr(platform, "node", lambda: "another.name" * 10)
    assert play(World(plan)).digest == here.digest


@pytest.mark.pure
@pytest.mark.parametrize("mutant", SELDOM)
def test_a_broken_rule_that_few_runs_meet_is_noticed(mutant: str) -> None:
    whole = Plan(seed=SELDOM[mutant])
    assert judge(whole).conclusion is SeedConclusion.HELD
    assert judge(replace(whole, mutant=mutant)).conclusion is SeedConclusion.BROKEN
