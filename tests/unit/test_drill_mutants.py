"""A node with a broken rule does not pass: every drill of the catalogue catches a mutant."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from admin.drills import preflight, reader, simulating
from admin.drills.model import Drill, Step
from admin.drills.record import RunEnd
from admin.drills.reference import BY_THE_LOAD
from qsync.errors import ConfigError
from qsync.sim.mutants.catalogue import CATALOGUE

SEEDS_MAX = 40
DRILLS = {name: reader.load(reader.find(name)) for name in reader.own_names()}
ROOT = Path(__file__).parents[2]
QUIET_S = 10.0
"""Longer than a drill takes until it catches its mutant: the load alone has at least its chance."""


def test_every_drill_but_a_restore_can_be_simulated_and_has_a_mutant_that_it_catches() -> None:
    real = {name for name, each in DRILLS.items() if preflight.not_simulated(each)}
    assert real == {"destroy-and-restore"}
    caught = {name for name, each in DRILLS.items() if each.catches in CATALOGUE}
    assert caught == DRILLS.keys() - real


@pytest.mark.pure
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", [name for name, each in DRILLS.items() if each.catches])
def test_a_drill_catches_its_mutant_where_its_load_alone_does_not(name: str) -> None:
    drill = DRILLS[name]
    mutant = drill.catches
    assert mutant is not None
    seeds = range(drill.seed, drill.seed + SEEDS_MAX)
    caught = (each for each in (replace(drill, seed=seed) for seed in seeds) if fails(each, mutant))
    # The clients may notice by luck: of the same seed, the run in which nothing is broken does not.
    by_what_it_breaks = (each for each in caught if not fails(quiet(each), mutant))
    assert next(caught if mutant in BY_THE_LOAD else by_what_it_breaks, None) is not None


@pytest.mark.pure
@pytest.mark.parametrize("mutant", sorted(BY_THE_LOAD))
def test_what_is_caught_by_the_load_is_caught_where_nothing_is_broken(mutant: str) -> None:
    assert fails(quiet(reader.load(reader.find("leader-kill"))), mutant)


def fails(drill: Drill, mutant: str) -> bool:
    """It ends with a broken property; nothing else may end it."""
    run = simulating.simulate(drill, nodes=3, mutant=mutant)
    if run.end is RunEnd.PASSED:
        return False
    assert run.why is not None
    assert run.why.startswith("property "), run.why
    return True


def quiet(drill: Drill) -> Drill:
    """The drill with its seed, its load and its options, of which nothing breaks anything."""
    return replace(drill, targets={}, method=(Step(verb="wait", options={"for": QUIET_S}),))


def test_an_unknown_mutant_is_refused() -> None:
    with pytest.raises(ConfigError, match="there is no mutant 'kind_one'"):
        simulating.simulate(reader.load(reader.find("leader-kill")), nodes=3, mutant="kind_one")


@pytest.mark.pure
def test_the_command_exits_with_6_when_a_mutant_is_caught_and_0_without_it() -> None:
    command = [sys.executable, "-m", "qsync", "drill", "run", "confirm-lost", "--simulate"]
    done = {
        mutant: subprocess.run(
            [*command, *mutant], capture_output=True, text=True, timeout=120, cwd=ROOT, check=False
        )
        for mutant in (
            (),
            ("--mutant", str(DRILLS["confirm-lost"].catches)),
            ("--mutant", "nobody"),
        )
    }
    assert [each.returncode for each in done.values()] == [0, 6, 2], done
    _, caught, unknown = done.values()
    assert "property 7" in caught.stdout
    assert "qsync sim --mutant list" in unknown.stderr
