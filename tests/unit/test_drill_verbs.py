"""Verbs of drills: each is whole in its class, what it breaks has a name, and a remedy."""

from pathlib import Path

import pytest

from admin.drills import restoring
from admin.drills.verbs.catalogue import VERBS, remedy
from admin.drills.verbs.verb import StepVerb, Takes
from admin.lab import lab
from qsync.errors import ConfigError
from qsync.faultpoints import POINTS

REAL_ONLY = {"back_up", "archive", "destroy", "restore", "pause_load", "resume_load"}
"""The simulator has no places for backups, and its cluster never is another one."""
VERB = pytest.mark.parametrize("verb", VERBS.values(), ids=list(VERBS))


@VERB
def test_a_verb_does_something_to_real_nodes_and_to_simulated_ones(verb: StepVerb) -> None:
    assert type(verb).live is not StepVerb.live
    assert verb.in_simulator is (verb.spec.name not in REAL_ONLY)


@VERB
def test_what_undoes_a_verb_is_a_verb_that_mends(verb: StepVerb) -> None:
    if verb.spec.undone_by is not None:
        assert verb.spec.faults
        mends = remedy(verb.spec.undone_by).spec
        assert mends.takes is Takes.NOTHING or verb.spec.takes is Takes.NODES


def test_what_mends_nothing_is_no_remedy() -> None:
    for word in ("eat", "kill"):
        with pytest.raises(ConfigError, match="there is no remedy"):
            remedy(word)


def test_nothing_is_destroyed_that_no_backup_brings_back(tmp_path: Path) -> None:
    alone = lab.create(tmp_path / "alone", name="alone", nodes=1)
    with pytest.raises(ConfigError, match="nothing could be restored afterwards"):
        restoring.check_restorable(alone)
    assert restoring.points(alone.dir, since=0.0) == ()


def test_every_fault_point_has_a_verb() -> None:
    assert set(POINTS) <= {fault for verb in VERBS.values() for fault in verb.spec.faults}
