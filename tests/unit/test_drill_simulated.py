"""The same drill files in the simulator: exact, and a failure is seen."""

from dataclasses import replace

import pytest

from admin.drills import preflight, reader, simulating
from admin.drills.model import Condition, Drill, Step
from admin.drills.record import RunEnd
from qsync.errors import ConfigError


def test_what_only_real_processes_have_is_refused_by_name() -> None:
    drill = reader.load(reader.find("leader-kill"))
    until = Step(verb="until", condition=Condition(probe="limbo_len", below=1.0))
    with pytest.raises(ConfigError, match="the simulator has no limbo_len"):
        simulating.simulate(replace(drill, method=(*drill.method, until)), nodes=3)


@pytest.mark.parametrize("nodes", [3, 5])
def test_a_simulated_drill_is_the_same_again_from_the_same_seed(nodes: int) -> None:
    drill = reader.load(reader.find("leader-kill"))
    first, again = (simulating.simulate(drill, nodes=nodes) for _ in range(2))
    assert first.end is RunEnd.PASSED, first.why
    assert first.acked > 0
    assert (first.digest, first.labels) == (again.digest, again.labels)
    assert simulating.simulate(replace(drill, seed=2), nodes=nodes).digest != first.digest


def simulated() -> list[str]:
    """The drills of the catalogue that need no real processes."""
    found = {name: reader.load(reader.find(name)) for name in reader.own_names()}
    return [name for name, drill in found.items() if not preflight.not_simulated(drill)]


@pytest.mark.parametrize("name", simulated())
def test_drills_of_the_catalogue_pass_in_the_simulator(name: str) -> None:
    run = simulating.simulate(reader.load(reader.find(name)), nodes=3)
    assert run.end is RunEnd.PASSED, run.why


def test_what_does_not_come_in_virtual_time_fails_a_simulated_drill() -> None:
    drill = reader.load(reader.find("leader-kill"))
    until = Step(
        verb="until", condition=Condition(probe="healthy"), options={"within": 3.0}, label="x"
    )
    kill = next(step for step in drill.method if step.verb == "kill")
    run = simulating.simulate(replace(drill, method=(kill, until)), nodes=3)
    assert run.end is RunEnd.FAILED
    assert run.why == "not within 3 virtual s: healthy"


def test_a_step_that_took_too_long_fails_a_simulated_drill() -> None:
    drill = reader.load(reader.find("leader-kill"))
    strict = replace(drill, expect=replace(drill.expect, limits={"writable": 0.0001}))
    run = simulating.simulate(strict, nodes=3)
    assert run.end is RunEnd.FAILED
    assert run.why is not None
    assert run.why.startswith("writable took")


def without_fault(name: str, verb: str) -> Drill:
    """The same drill, but that step is left out."""
    drill = reader.load(reader.find(name))
    return replace(drill, method=tuple(step for step in drill.method if step.verb != verb))


@pytest.mark.parametrize(
    ("name", "verb"),
    [("confirm-lost", "lose"), ("rollback-lost", "lose"), ("fsync-fails", "fail_fsync")],
)
def test_a_fault_point_strikes_in_the_simulator_because_it_is_armed(name: str, verb: str) -> None:
    run = simulating.simulate(without_fault(name, verb), nodes=3)
    assert run.end is RunEnd.FAILED
    assert run.why is not None
    assert "struck on" in run.why


def test_slow_links_make_simulated_writes_late() -> None:
    slow = Step(verb="slow", on=("all",), options={"with": "all", "delay": 0.2})
    acked = []
    for method in ((), (slow,)):
        wait = Step(verb="wait", options={"for": 10.0})
        drill = reader.load(reader.find("slow-link"))
        run = simulating.simulate(replace(drill, method=(*method, wait)), nodes=3)
        assert run.end is RunEnd.PASSED, run.why
        acked.append(run.acked)
    assert acked[1] < acked[0] * 0.7
