"""Health URLs: the answers to a load balancer in each state of a node."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admin.metrics import health
from qsync.status import decode
from qsync.status import health as judged
from qsync.status.record import NodeStatus
from tests.answers import placed, synchro

BASE: dict[str, object] = {
    "id": 2,
    "name": "n2",
    "status": "running",
    "role": "follower",
    "leader": 1,
    "leader_name": "n1",
    "ro": True,
    "ro_reason": "election",
    "behind": 3,
}
FOLLOWER = decode.status(placed(BASE))
LEADER = decode.status(placed(BASE | {"role": "leader", "ro": False, "leader": 2, "behind": 0}))
STUCK = decode.status(
    placed(
        BASE
        | {"role": "leader", "leader": 2, "ro_reason": "synchro", "behind": 0}
        | {"ro_reasons": [{"why": "synchro", "text": "the PROMOTE at 9 is not confirmed"}]}
    )
)
STALLED = decode.status(
    placed(
        BASE
        | {"role": "leader", "ro": False, "leader": 2, "behind": 0, "election": {"timeout": 1.0}}
        | {"synchro": synchro(quorum=1, len=1, stalled=2.5)}
    )
)
LONELY = decode.status(placed(BASE | {"role": "candidate", "leader": None, "behind": None}))
SPLIT = decode.status(placed(BASE | {"status": "split_brain"}))
RECRUIT = decode.status(placed(BASE | {"status": "loading", "recruit": True}))
QUARANTINED = decode.status(placed(BASE | {"quarantined": "entry 7 does not hold"}))
HANGING = decode.status(placed(BASE | {"disk": {"busy_s": 2.0}}))
FULL = decode.status(placed(BASE | {"disk": {"error": "no room"}}))

EVERY = [FOLLOWER, LEADER, STUCK, STALLED, LONELY, HANGING, SPLIT, RECRUIT, QUARANTINED, FULL]
ALIVE = [node for node in EVERY if node is not HANGING]


def code(target: str, node: NodeStatus) -> int | None:
    found = health.answer(target, node)
    return None if found is None else found[0]


@pytest.mark.parametrize(
    ("target", "ok"),
    [
        ("/health", [FOLLOWER, LEADER, STUCK, STALLED, LONELY, HANGING]),
        ("/liveness", ALIVE),
        ("/ready", [FOLLOWER, LEADER, HANGING]),
        ("/ready?lag=3", [FOLLOWER, LEADER, HANGING]),
        ("/ready?lag=2", [LEADER]),
        ("/readiness?lag=2", [LEADER]),
        ("/leader", [LEADER, STUCK, STALLED]),
        ("/writable", [LEADER, STALLED]),
        ("/primary", [LEADER, STALLED]),
        ("/read-write", [LEADER, STALLED]),
        ("/replica", [FOLLOWER, HANGING]),
        ("/replica?lag=3", [FOLLOWER, HANGING]),
        ("/replica?lag=2", []),
    ],
)
def test_a_url_is_200_for_these_nodes_and_503_for_all_others(
    target: str, ok: list[NodeStatus]
) -> None:
    assert [node for node in EVERY if code(target, node) == 200] == ok
    assert {code(target, node) for node in EVERY if node not in ok} == {503}


@pytest.mark.parametrize(
    ("target", "node", "why"),
    [
        ("/replica?lag=2", FOLLOWER, "it is 3 entries behind, more than 2"),
        ("/replica", LEADER, "this node leads"),
        ("/replica", LONELY, "it follows no leader"),
        ("/leader", LONELY, "no leader"),
        ("/leader", FOLLOWER, "another node leads"),
        ("/writable", STUCK, "the PROMOTE at 9 is not confirmed"),
        ("/health", SPLIT, "status is split_brain"),
        ("/health", QUARANTINED, "quarantined: entry 7 does not hold"),
        ("/liveness", HANGING, "a write of its log has not ended for 2 s"),
        ("/ready", STALLED, "nothing has been confirmed for 2.5 s"),
        ("/ready", FULL, "cannot write to its disk: no room"),
    ],
)
def test_a_refusal_says_why(target: str, node: NodeStatus, why: str) -> None:
    found = health.answer(target, node)
    assert found is not None
    assert (found[0], found[1]["why"]) == (503, why)


@pytest.mark.parametrize(
    "query", ["lag=", "lag=-1", "lag=1s", "lag=¼", "log=1", "lag=1&x=2", "lag"]
)
def test_a_question_that_is_not_understood_is_400_and_not_a_wrong_answer(query: str) -> None:
    found = health.answer(f"/replica?{query}", FOLLOWER)
    assert found is not None
    assert found[0] == 400
    assert "lag" in str(found[1]["error"])


@pytest.mark.parametrize("node", EVERY)
def test_who_is_alive_is_judged_in_one_place(node: NodeStatus) -> None:
    assert (code("/liveness", node) == 200) == judged.judge(node).alive


@given(st.text(max_size=40))
def test_no_target_breaks_it(text: str) -> None:
    assert code(text, FOLLOWER) in {None, 200, 400, 503}
    assert code("/replica?" + text, FOLLOWER) in {None, 200, 400, 503}
