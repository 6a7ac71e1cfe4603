"""What a demotion would do, in numbers: also when it is said who shall lead instead."""

import pytest

from admin.cluster import leadership
from admin.cluster.surveys import ClusterSurvey
from admin.cluster.unreachable import UnreachableNode
from qsync.status import decode
from qsync.status.record import NodeStatus
from tests.answers import placed

PLAN: dict[str, object] = {
    "node": 1,
    "term": 4,
    "term_after": 5,
    "pending": 2,
    "confirms": 2,
    "rolls_back": 0,
    "refused": None,
    "hands_over_to": 2,
}


def sample(id: int, **more: object) -> NodeStatus:
    nodes = [[each, f"n{each}", f"h:{each}"] for each in (1, 2, 3, 4, 5)]
    return decode.status(placed({"id": id, "name": f"n{id}", "nodes": nodes, **more}))


FOUND = ClusterSurvey(
    samples=(sample(1), sample(2), sample(3), sample(4, mode="voter")),
    silent=(UnreachableNode(id=5, name="n5", address="h:5", why="gone"),),
)


def test_a_demotion_goes_to_whom_it_was_asked_for() -> None:
    plan = leadership.toward(PLAN, 3, FOUND)
    assert (plan["hands_over_to"], plan["term_after"], plan["confirms"]) == (3, 5, 2)
    assert leadership.in_words(plan, FOUND).endswith("hands over to n3")
    # Also where the leader by itself would hand over to nobody.
    alone = PLAN | {"hands_over_to": None, "term_after": 4}
    assert leadership.toward(alone, 3, FOUND) == plan


@pytest.mark.parametrize(
    ("heir", "why"),
    [(1, "is the one that leads"), (4, "election mode is voter"), (5, "does not answer")],
)
def test_who_cannot_take_over_is_said_before_anybody_tries(heir: int, why: str) -> None:
    plan = leadership.toward(PLAN, heir, FOUND)
    assert why in str(plan["refused"])
    assert plan["hands_over_to"] is None
    assert leadership.in_words(plan, FOUND).startswith("refused: ")


def test_a_refusal_of_the_leader_itself_comes_first() -> None:
    refused = PLAN | {"refused": "split brain"}
    assert leadership.toward(refused, 5, FOUND)["refused"] == "split brain"


def test_where_nobody_leads_there_is_nothing_to_demote_and_nobody_to_hand_over_to() -> None:
    plan = PLAN | {"leads": False, "node": 2, "hands_over_to": None, "term_after": 4}
    assert leadership.in_words(plan, FOUND).startswith("nothing, it does not lead: ")
    toward = leadership.toward(plan, 3, FOUND)
    assert toward["refused"] == "node 2 does not lead, so it cannot hand over: promote node 3"
