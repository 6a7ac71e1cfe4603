"""`qsync drill list`: every drill below what it breaks first."""

import json
from dataclasses import replace

import pytest

from admin.drills import kinds, reader
from admin.drills.kinds import DrillKind
from admin.drills.model import Step
from admin.drills.verbs.catalogue import VERBS
from cli.main import run

BREAKING = [name for name, verb in VERBS.items() if verb.spec.faults]


def test_every_drill_is_listed_once_below_its_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drill", "list"]) == 0
    groups = [group.splitlines() for group in capsys.readouterr().out.split("\n\n")]
    assert [group[0] for group in groups][:3] == ["Processes:", "Links:", "Disks:"]
    listed = [line.split()[0] for group in groups for line in group[1:]]
    assert sorted(listed) == reader.names()
    assert "leader-kill" in {line.split()[0] for line in groups[0][1:]}


def test_the_list_for_scripts_says_the_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drill", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["drills"]
    found = {row["name"]: row["kind"] for row in rows}
    assert sorted(found) == reader.names()
    assert (found["disk-full-leader"], found["fsync-stall"]) == ("disks", "inside a node")


def test_a_drill_that_breaks_nothing_has_a_kind_too() -> None:
    """A file of a plugin may only wait: it is listed last."""
    broken = reader.load(reader.find("leader-kill"))
    calm = replace(broken, name="calm", method=(Step(verb="wait", options={"for": 1.0}),))
    assert kinds.by_kind([calm, broken]) == {
        DrillKind.PROCESSES: [broken],
        DrillKind.NOTHING: [calm],
    }


@pytest.mark.parametrize("verb", BREAKING)
def test_every_verb_that_breaks_something_is_of_a_kind(verb: str) -> None:
    drill = replace(reader.load(reader.find("leader-kill")), method=(Step(verb=verb),))
    assert kinds.kind_of(drill) is not DrillKind.NOTHING
