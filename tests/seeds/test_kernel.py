"""Shipped nodes and clients on a simulated kernel: they keep their promises, seed by seed."""

from collections import Counter
from dataclasses import replace

import pytest

from admin.soak.judge import Conclusion, judge
from qsync.sim.kernel.machine import Machine
from qsync.sim.kernel.process import Process
from qsync.sim.kernel.world import KernelWorld
from qsync.sim.plan import Plan
from qsync.sim.run import play, run

SHORT_EVENTS = 1200
BLOCK = 4
CALLS_APART = 37
LIVES = 12
QUIET = 400


# How many seeds it may take until a broken rule of the node or the client is noticed.
BUDGETS = {
    "told_before_durable": 10,
    "never_dials_again": 10,
    "doubt_forgotten": 10,
    "doubt_unsaid": 10,
    "retry_renumbered": 10,
}

# A client's connection was half open from the beginning, and it asked nobody else for ever; one of
# a single node waited for the end of its handshake for ever.
ONCE_FAILED = (5082, 700_037)


def plan(seed: int, events: int = SHORT_EVENTS) -> Plan:
    return Plan(seed=seed, events=events, kernel=True)


@pytest.mark.parametrize("first", range(1, 21, BLOCK))
def test_shipped_nodes_and_clients_keep_their_promises_under_every_strike(first: int) -> None:
    found = [judge(plan(seed)) for seed in range(first, first + BLOCK)]
    broken = [each.describe() for each in found if each.conclusion is Conclusion.BROKEN]
    assert not broken, "\n".join(broken)
    assert sum(each.report.acked for each in found) > 0


@pytest.mark.parametrize("seed", ONCE_FAILED)
def test_a_seed_that_once_failed_holds(seed: int) -> None:
    found = judge(Plan(seed=seed, kernel=True))
    assert found.finding is None, found.describe()


def test_the_same_seed_gives_the_same_run() -> None:
    once, again = run(plan(7, 600)), run(plan(7, 600))
    assert once.trace.lines() == again.trace.lines()
    assert once.history == again.history


def led(world: KernelWorld) -> Machine:
    """Somebody leads and has taken writes."""
    while True:
        world.step()
        for node in world.nodes:
            if node.leads and len(world.trace) > QUIET:
                return node


def test_a_leader_may_die_between_any_two_calls_into_its_kernel() -> None:
    died = Counter[int]()
    for life in range(LIVES):
        world = KernelWorld(Plan(seed=3, events=QUIET, kernel=True, strikes=()))
        world.start()
        machine = led(world)

        def kill(process: Process, machine: Machine = machine) -> None:
            died[process.calls] += 1
            machine.stop(power=False)

        calls = machine.process.calls
        machine.process.strike = (calls + CALLS_APART * life + 1, kill)
        while machine.up:
            world.step()
        world.clockwork.after(0.1, machine.start_again)
        end = len(world.trace) + QUIET
        while len(world.trace) < end:
            world.step()
        world.heal()
        while world.unrest() is not None:
            world.step()
    assert len(died) == LIVES


def test_what_shipped_code_does_is_told_as_of_any_other_run() -> None:
    world = KernelWorld(plan(9))
    report = play(world)
    assert report.held
    assert report.acked > 0
    assert report.counts["terms led"] > 0


@pytest.mark.parametrize("mutant", BUDGETS)
def test_a_broken_rule_of_node_or_client_is_noticed(mutant: str) -> None:
    seeds = range(1, BUDGETS[mutant] + 1)
    found = (judge(replace(plan(seed), mutant=mutant)) for seed in seeds)
    assert any(each.conclusion is Conclusion.BROKEN for each in found)
