"""A round of answers from two clusters: one is judged, and the nodes of the other stand apart."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from rich.console import Console

from admin.cluster import ask, documents, membership, sides, surveys
from admin.cluster.surveys import ClusterHealth, ClusterSurvey
from admin.doctor import checks
from admin.doctor.facts import Facts
from cli.render.status import status as render
from qsync.errors import QsyncError, Unavailable
from qsync.status import decode
from qsync.status.record import NodeStatus
from tests.answers import placed, synchro

GOES_ON = "this node is superseded: its history continues in cluster new"
AT = {id: f"127.0.0.1:330{id}" for id in (1, 2, 3, 4)}


def node(id: int, cluster: str, members: Sequence[int], **more: object) -> NodeStatus:
    """One of a cluster that its first member leads."""
    leads = id == members[0]
    answer: dict[str, object] = {
        "id": id,
        "name": f"n{id}",
        "uuid": f"u{id}",
        "replicaset": {"uuid": cluster},
        "address": AT[id],
        "status": "running",
        "role": "leader" if leads else "follower",
        "term": 9,
        "leader": members[0],
        "ro": not leads,
        "last": 100,
        "written": 100,
        "confirmed": 100,
        "nodes": [[n, f"n{n}", AT[n]] for n in members],
        "peers": [{"id": n, "name": f"n{n}", "status": "up"} for n in members if n != id],
        "synchro": synchro(quorum=len(members) // 2 + 1),
    }
    return decode.status(placed(answer | more))


def superseded(id: int, **more: object) -> NodeStatus:
    """One of the three of the cluster that is no more."""
    told = {"status": "superseded", "role": "follower", "leader": None, "term": 3}
    reasons = {"ro_reasons": [{"why": "superseded", "text": GOES_ON}]}
    return node(id, "old", (1, 2, 3), **told | reasons | more)


def asked(
    monkeypatch: pytest.MonkeyPatch, there: dict[str, NodeStatus], *seeds: str
) -> ClusterSurvey:
    """The survey of these seeds where nodes answer at these addresses, and at no others."""

    def statuses(addresses: Sequence[str], _: float) -> dict[str, NodeStatus | QsyncError]:
        return {each: there.get(each, Unavailable(f"{each}: refused")) for each in addresses}

    monkeypatch.setattr(ask, "statuses", statuses)
    return surveys.survey(seeds)


RECOVERED = {AT[1]: node(1, "new", (1, 4)), AT[2]: superseded(2), AT[4]: node(4, "new", (1, 4))}


@pytest.mark.parametrize("seeds", [(2,), (2, 1), (1, 2), (4, 2)])
def test_the_cluster_that_goes_on_is_judged_whichever_node_is_asked(
    monkeypatch: pytest.MonkeyPatch, seeds: tuple[int, ...]
) -> None:
    found = asked(monkeypatch, RECOVERED, *(AT[id] for id in seeds))
    assert [(each.id, each.replicaset.uuid) for each in found.samples] == [(1, "new"), (4, "new")]
    assert [each.name for each in found.apart] == ["n2"]
    assert not found.silent, "who was a member of the former one only is not missed"
    verdict = surveys.judge(found)
    assert verdict.health is ClusterHealth.HEALTHY
    assert "2 of 2 voters" in verdict.sentence


FULL = {"ro_reasons": [{"why": "disk", "text": "the log cannot be written: no room"}]}


def test_a_voter_that_cannot_write_its_log_is_missing_in_the_quorum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is connected, and acks nothing."""
    there = {AT[id]: node(id, "c", (1, 2, 3)) for id in (1, 2, 3)}
    there[AT[3]] = node(3, "c", (1, 2, 3), disk={"error": "no room"}, **FULL)
    verdict = surveys.judge(asked(monkeypatch, there, AT[1]))
    assert (verdict.margin, verdict.can_commit) == (0, True)
    assert verdict.sentence == (
        "Degraded: n3: cannot write to its disk: no room; n1 leads term 9 and commits with 2 of 3 "
        "voters (quorum 2); losing any one of them stops writes."
    )
    there[AT[2]] = node(2, "c", (1, 2, 3), **FULL)
    verdict = surveys.judge(asked(monkeypatch, there, AT[1]))
    assert (verdict.margin, verdict.health) == (-1, ClusterHealth.DOWN)
    assert "1 of n2, n3 must come back" in verdict.sentence


def knows(found: NodeStatus, *members: tuple[int, str]) -> NodeStatus:
    """The node, with this configuration in its log."""
    return replace(found, members=tuple((id, uuid, "voter") for id, uuid in members))


def test_a_node_that_took_the_id_of_a_removed_one_is_the_one_that_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The removed one still runs, and the seeds name it; the new one is known to the others."""
    now, known = [(1, "u1"), (3, "u4")], [[1, "n1", AT[1]], [3, "n4", AT[4]]]
    one = knows(node(1, "c", (1, 3), nodes=known), *now)
    new = node(3, "c", (1, 3), name="n4", uuid="u4", address=AT[4], nodes=known)
    gone = knows(node(3, "c", (1, 2, 3), standing="removed"), (1, "u1"), (2, "u2"))
    there = {AT[1]: one, AT[3]: gone, AT[4]: knows(new, *now)}
    for seeds in ((1, 3), (3, 1), (4, 1, 3), (1, 3, 4)):
        found = asked(monkeypatch, there, *(AT[id] for id in seeds))
        assert [each.name for each in found.samples] == ["n1", "n4"]


def test_a_removed_node_does_not_say_who_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was told of node 2, which was removed after it, and stopped."""
    there = {AT[id]: knows(node(id, "c", (1, 4)), (1, "u1"), (4, "u4")) for id in (1, 4)}
    gone = node(3, "c", (1, 2, 3), standing="removed", leader=None)
    found = asked(monkeypatch, there | {AT[3]: gone}, AT[1], AT[3])
    assert [each.name for each in found.samples] == ["n1", "n3", "n4"]
    assert not found.silent
    alone = asked(monkeypatch, {AT[3]: gone}, AT[3])
    assert [each.name for each in alone.silent] == ["n1", "n2"], "nobody else says who is there"


@pytest.mark.parametrize("late", [{"standing": "removed"}, {"last": 50}])
def test_a_member_is_where_the_newest_log_says(
    monkeypatch: pytest.MonkeyPatch, late: dict[str, object]
) -> None:
    """Node 2 has moved. Node 3 was removed before that, or is behind: its list is of before."""
    known = [[1, "n1", AT[1]], [2, "n2", AT[4]], [3, "n3", AT[3]]]
    there = {AT[id]: node(id, "c", (1, 2, 3), nodes=known) for id in (1, 2)}
    found = asked(monkeypatch, there | {AT[3]: node(3, "c", (1, 2, 3), **late)}, AT[1], AT[3])
    assert surveys.node_address(found, "n2") == AT[4]
    assert {each.name: each.address for each in membership.members(found)} == {
        "n1": AT[1],
        "n2": AT[4],
        "n3": AT[3],
    }


def test_who_stands_apart_is_named_in_words_and_in_json(monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(monkeypatch, RECOVERED, AT[1], AT[2])
    words = f"n2 ({AT[2]}) is superseded: its history continues in cluster new"
    console = Console(width=120, no_color=True)
    for width in (120, 50):
        with console.capture() as said:
            console.print(render(found, surveys.judge(found), width=width))
        assert f"! {words}" in said.get()
        assert "n2  " not in said.get(), "it has no row in the table"
    document = documents.survey_members(found, surveys.judge(found))
    assert document["apart"] == [
        {
            "name": "n2",
            "id": 2,
            "uuid": "u2",
            "address": AT[2],
            "cluster": "old",
            "status": "superseded",
            "message": words,
        }
    ]
    nodes = document["nodes"]
    assert isinstance(nodes, list)
    assert [each["name"] for each in nodes] == ["n1", "n4"]


def test_the_doctor_says_of_a_superseded_node_one_thing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(monkeypatch, RECOVERED, AT[1], AT[2])
    results = checks.run(Facts(survey=found))
    told = [(each.name, finding) for each in results for finding in each.findings]
    wrong = [(name, finding.subject) for name, finding in told if finding.severity.wrong]
    assert wrong == [("none-superseded", "n2")]


def test_where_all_are_superseded_the_cluster_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {AT[id]: superseded(id) for id in (1, 2, 3)}
    found = asked(monkeypatch, there, AT[2])
    assert [each.id for each in found.samples] == [1, 2, 3]
    verdict = surveys.judge(found)
    assert verdict.health is ClusterHealth.DOWN
    assert not verdict.can_commit
    assert verdict.sentence == (
        "Down: n1, n2, n3 are superseded: their history continues in cluster new."
    )
    results = checks.run(Facts(survey=found))
    wrong = {each.name for each in results if any(f.severity.wrong for f in each.findings)}
    assert wrong == {"none-superseded"}, "and nobody is told to promote one of them"


def test_a_node_of_another_cluster_is_no_member(monkeypatch: pytest.MonkeyPatch) -> None:
    three = {AT[id]: node(id, "ours", (1, 2, 3)) for id in (1, 2)}
    there = three | {AT[3]: node(3, "theirs", (3,))}
    found = asked(monkeypatch, there, AT[1])
    assert [each.id for each in found.samples] == [1, 2]
    assert [(each.name, each.why) for each in found.silent] == [
        ("n3", "a node of cluster theirs answers there")
    ]
    assert surveys.judge(found).health is ClusterHealth.DEGRADED
    assert sides.sentence(found.apart[0]) == f"n3 ({AT[3]}) is of another cluster: theirs"
    (result,) = checks.run(Facts(survey=found), checks.chosen(["one-cluster"]))
    assert "n3 theirs" in result.findings[0].text


def test_the_first_seed_says_which_cluster_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {AT[1]: node(1, "a", (1,)), AT[2]: node(2, "b", (2,))}
    found = asked(monkeypatch, there, AT[2], AT[1])
    assert [each.name for each in found.samples] == ["n2"]
    assert [each.name for each in found.apart] == ["n1"]


def test_a_stranger_is_of_no_other_cluster() -> None:
    ours, new = node(1, "ours", (1, 2)), node(2, "", (1, 2), stranger=True)
    assert sides.parted([new, ours]) == ([new, ours], [])
    assert sides.parted([]) == ([], [])
