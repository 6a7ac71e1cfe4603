"""A node with a broken rule does not pass: every drill of the catalogue catches a mutant."""

from dataclasses import replace

import pytest

from admin.drills import planning, reader, simulating
from admin.drills.model import Step
from admin.drills.mutants import BY_THE_LOAD, CAUGHT
from admin.drills.record import End
from qsync.errors import ConfigError


def test_every_drill_that_can_be_simulated_has_a_mutant_that_it_catches() -> None:
    drills = [reader.load(reader.find(name)) for name in reader.own_names()]
    assert CAUGHT.keys() == {each.name for each in drills if not planning.not_simulated(each)}


@pytest.mark.parametrize(("name", "mutant"), CAUGHT.items())
def test_a_drill_catches_its_mutant(name: str, mutant: str) -> None:
    run = simulating.simulate(reader.load(reader.find(name)), nodes=3, mutant=mutant)
    assert run.end is End.FAILED
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
