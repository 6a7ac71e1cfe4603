"""Why: read-only, waiting, what promote would do. Sentences with node, rule, numbers, next step."""

from admin.box import why
from admin.cluster.surveys import ClusterSurvey
from admin.cluster.unreachable import UnreachableNode
from qsync.status import decode
from qsync.status.record import BoxInfo, NodeStatus
from tests.answers import placed
from tests.unit.test_box_info import WHOLE


def sample(id: int, *, leads: bool = False, last: int = 10, **more: object) -> NodeStatus:
    answer: dict[str, object] = {
        "id": id,
        "name": f"n{id}",
        "role": "leader" if leads else "follower",
        "mode": "candidate",
        "term": 4,
        "last": last,
        "nodes": [[each, f"n{each}", f"h:{each}"] for each in (1, 2, 3)],
        **more,
    }
    return decode.status(placed(answer))


def silent(*ids: int) -> tuple[UnreachableNode, ...]:
    return tuple(UnreachableNode(id=id, name=f"n{id}", address=f"h:{id}", why="gone") for id in ids)


def info(**more: object) -> BoxInfo:
    return decode.box_info({**WHOLE, **more})


def test_a_follower_is_read_only_because_somebody_else_leads() -> None:
    reasons = [
        {"why": "election", "text": "node 2 leads in term 4", "lifts": "write to the leader"}
    ]
    election = {"state": "follower", "term": 4, "leader": 2, "leader_name": "n2"}
    answer = why.read_only(
        info(ro=True, ro_reason="election", ro_reasons=reasons, election=election)
    )
    assert answer.sentence == "n1 is read-only (election): node 2 leads in term 4."
    assert answer.next == ("write to the leader, n2",)
    assert answer.numbers["term"] == 4


def test_who_may_write_is_told_so() -> None:
    assert why.read_only(info()).sentence == "n1 is not read-only: it leads term 4."


def test_a_waiting_transaction_names_the_acks_it_lacks_from_whom_and_since_when() -> None:
    found = ClusterSurvey(samples=(sample(1, leads=True), sample(2), sample(3)))
    answer = why.waiting(info(), found)
    assert "0.25 s" in answer.sentence
    assert "1 of 2 acks, 1 more needed from n2" in answer.sentence
    assert answer.facts == ("acked by n1", "n2 lacks it by 1 entry: slow")
    assert (answer.numbers["acks"], answer.numbers["needed"]) == (1, 1)


def test_who_hangs_is_told_with_what_it_says_of_itself() -> None:
    hangs = sample(2, disk={"busy_s": 7.7})
    answer = why.waiting(info(), ClusterSurvey(samples=(sample(1, leads=True), hangs, sample(3))))
    assert answer.facts[1] == "n2 lacks it by 1 entry: a write of its log has not ended for 7.7 s"


def test_a_voter_without_a_connection_is_to_be_started() -> None:
    synchro = WHOLE["synchro"]
    assert isinstance(synchro, dict)
    queue = dict(synchro["queue"])
    gone = {"id": 2, "name": "n2", "acked": 8, "behind": 1, "connected": False}
    queue["waiting"] = {**queue["waiting"], "missing": [gone]}
    found = ClusterSurvey(samples=(sample(1, leads=True),), silent=silent(2, 3))
    rollback = {**synchro, "queue": queue, "timeout": 5.0, "policy": "rollback"}
    answer = why.waiting(info(synchro=rollback), found)
    assert answer.next[0] == "start or reconnect n2"
    assert "rolled back in 4.75 s" in answer.next[1]


def test_nothing_waits_in_an_empty_limbo() -> None:
    found = ClusterSurvey(samples=(sample(1, leads=True), sample(2), sample(3)))
    answer = why.waiting(info(synchro={"quorum": 2, "queue": {"len": 0}}), found)
    assert "Nothing waits" in answer.sentence


def test_without_a_leader_the_missing_majority_is_named() -> None:
    found = ClusterSurvey(samples=(sample(1, synchro={"queue": {"len": 3}}),), silent=silent(2, 3))
    answer = why.waiting(None, found)
    assert "1 of 3 voters answer, 2 make a majority" in answer.sentence
    assert "n1 holds 3" in answer.sentence
    assert answer.next == ("bring back 1 of n2, n3",)


def test_a_promotion_is_told_in_numbers_with_every_candidate() -> None:
    found = ClusterSurvey(samples=(sample(1, leads=True), sample(2), sample(3, last=4)))
    plan: dict[str, object] = {
        "term": 4,
        "term_after": 5,
        "pending": 3,
        "confirms": 3,
        "rolls_back": 0,
        "refused": None,
    }
    answer = why.promotion("promote", found.samples[1], found, plan)
    assert "term 4 -> 5; 3 pending, 3 of them confirmed first, 0 rolled back" in answer.sentence
    assert "n1 stops writing" in answer.sentence
    assert answer.facts[2] == "n3 (term 4, last 4): 6 entries behind the longest log"


def test_a_promotion_without_a_majority_is_not_told_as_if_it_would_happen() -> None:
    found = ClusterSurvey(samples=(sample(1),), silent=silent(2, 3))
    plan: dict[str, object] = {"term": 4, "term_after": 5}
    answer = why.promotion("promote", found.samples[0], found, plan)
    assert answer.sentence.startswith("promote of n1 would fail: no majority answers; with one: ")
    assert answer.next == ("bring back 1 of n2, n3: no majority answers",)


def test_demoting_a_node_that_does_not_lead_would_change_nothing() -> None:
    plan: dict[str, object] = {"term": 4, "term_after": 4, "refused": None, "leads": False}
    found = ClusterSurvey(samples=(sample(1, leads=True), sample(2), sample(3)))
    answer = why.promotion("demote", found.samples[1], found, plan)
    assert answer.sentence == "demote of n2 would change nothing: it does not lead."


def test_a_refused_promotion_names_whom_to_promote_instead() -> None:
    found = ClusterSurvey(samples=(sample(1, leads=True), sample(2, mode="voter"), sample(3)))
    plan: dict[str, object] = {"term": 4, "term_after": 4, "refused": "election mode is voter"}
    answer = why.promotion("promote", found.samples[1], found, plan)
    assert answer.sentence == "promote of n2 would be refused: election mode is voter."
    assert "n2 (term 4, last 10): election mode is voter" in answer.facts
    assert answer.next == ("promote n1 or n3 instead",)
