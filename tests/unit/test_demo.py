"""The demo is the drill of its name: with the given duration, shown as events."""

import pytest

from admin.cluster.surveys import ClusterSurvey
from admin.drills.demo import DemoCamera, DemoPicture, DemoPlan, drill
from admin.drills.model import Step
from admin.drills.runner import DrillPhase, RunView
from admin.workload.tally import WriteTally
from qsync.status.members import ElectionStatus
from qsync.status.record import NodeStatus


def survey(leader: str, term: int) -> ClusterSurvey:
    said = NodeStatus(
        id=1,
        name=leader,
        uuid="u",
        listen="a",
        asked=1,
        election=ElectionStatus(state="leader", term=term),
        ro=False,
    )
    return ClusterSurvey(samples=(said,))


def test_the_demo_lasts_as_long_as_wanted_and_kills_after_two_fifths_of_it() -> None:
    method = drill(DemoPlan(seconds=10.0)).method
    assert [(step.verb, step.number("for")) for step in method] == [
        ("wait", pytest.approx(4.0)),
        ("kill", 0.0),
        ("wait", pytest.approx(2.5)),
        ("start", 0.0),
        ("wait", pytest.approx(3.5)),
    ]


def test_a_demo_that_kills_nobody_only_waits_and_a_long_one_is_not_stopped() -> None:
    found = drill(DemoPlan(seconds=3600.0, kill=False, clients=9, seed=4))
    assert {step.verb for step in found.method} == {"wait"}
    assert found.guards.time_limit > 3600.0
    assert (found.load.clients, found.seed) == (9, 4)


def test_pictures_of_a_demo_tell_who_was_killed_who_leads_and_what_goes_on() -> None:
    shown: list[DemoPicture] = []
    camera = DemoCamera(DemoPlan(), shown.append)

    def look(found: ClusterSurvey, phase: DrillPhase) -> DemoPicture:
        camera.next_look = 0.0
        camera.look(RunView(nodes=(), phase=phase, survey=found, tally=WriteTally()))
        return shown[-1]

    assert look(survey("n1", 1), DrillPhase.WORKING).phase == "working"
    camera.performed(Step(verb="kill"), ("n1",))
    dead = look(ClusterSurvey(samples=()), DrillPhase.WORKING)
    assert (dead.phase, dead.sentence) == ("n1 is dead", "Nobody answers.")
    camera.performed(Step(verb="start"), ("n1",))
    assert look(survey("n2", 2), DrillPhase.WORKING).phase == "n1 is back"
    last = look(survey("n2", 2), DrillPhase.HEALING)
    assert last.phase == "healing"
    assert [event.partition("s  ")[2] for event in last.events] == [
        "n1 leads term 1",
        "n1, leader of term 1, killed with SIGKILL",
        "n1 started again",
        "n2 leads term 2",
    ]
