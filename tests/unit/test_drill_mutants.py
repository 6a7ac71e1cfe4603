"""A node with a broken rule does not pass: every drill of the catalogue catches a mutant."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from admin.drills import planning, reader, simulating
from admin.drills.model import Step
from admin.drills.mutants import BY_THE_LOAD, CAUGHT, SEEDS_MAX
from admin.drills.record import End
from qsync.errors import ConfigError

ROOT = Path(__file__).parents[2]


def test_every_drill_can_be_simulated_and_has_a_mutant_that_it_catches() -> None:
    drills = [reader.load(reader.find(name)) for name in reader.own_names()]
    assert CAUGHT.keys() == {each.name for each in drills if not planning.not_simulated(each)}
    assert CAUGHT.keys() == set(reader.own_names())


@pytest.mark.parametrize(("name", "mutant"), CAUGHT.items())
def test_a_drill_catches_its_mutant(name: str, mutant: str) -> None:
    drill = reader.load(reader.find(name))
    seeds = range(drill.seed, drill.seed + SEEDS_MAX)
    drills = (replace(drill, seed=each) for each in seeds)
    runs = (simulating.simulate(each, nodes=3, mutant=mutant) for each in drills)
    run = next((each for each in runs if each.end is End.FAILED), None)
    assert run is not None
    assert run.why is not None
    assert run.why.startswith("property "), run.why


@pytest.mark.parametrize("mutant", sorted(set(CAUGHT.values()) - BY_THE_LOAD))
def test_without_the_faults_of_a_drill_the_mutant_is_not_noticed(mutant: str) -> None:
    drill = reader.load(reader.find("leader-kill"))
    quiet = replace(drill, targets={}, method=(Step(verb="wait", options={"for": 6.0}),))
    assert simulating.simulate(quiet, nodes=3, mutant=mutant).end is End.PASSED


def test_an_unknown_mutant_is_refused() -> None:
    with pytest.raises(ConfigError, match="there is no mutant 'kind_one'"):
        simulating.simulate(reader.load(reader.find("leader-kill")), nodes=3, mutant="kind_one")


def test_the_command_exits_with_6_when_a_mutant_is_caught_and_0_without_it() -> None:
    command = [sys.executable, "-m", "qsync", "drill", "run", "confirm-lost", "--simulate"]
    done = {
        mutant: subprocess.run(
            [*command, *mutant], capture_output=True, text=True, timeout=120, cwd=ROOT, check=False
        )
        for mutant in ((), ("--mutant", CAUGHT["confirm-lost"]), ("--mutant", "nobody"))
    }
    assert [each.returncode for each in done.values()] == [0, 6, 2], done
    _, caught, unknown = done.values()
    assert "property 7" in caught.stdout
    assert "qsync sim --mutant list" in unknown.stderr
