"""Members come, go and move on real nodes while clients write; what was acknowledged stays."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import qsync
from admin.checker.bundles import check_bundle
from admin.checker.kernels.configurations import QUORUMS, REMOVED, STEPS
from admin.checker.kernels.samples import MEET
from admin.checker.verdict import Result
from admin.cluster import membership, membership_plan, settling, surveys
from admin.cluster.membership import WantedChange
from admin.evidence.bundle import Bundle
from admin.lab import lab
from admin.lab.ports import LOOPBACK, free_ports
from cli.main import run
from qsync.member import MemberAction, MemberRole
from tests.live.real import Writer, running, until

pytestmark = pytest.mark.slow


@contextmanager
def under_load(found: lab.Lab) -> Iterator[list[Writer]]:
    """Two clients insert all the while; at the end every acknowledged row is read back."""
    stop = threading.Event()
    writers = [Writer(found, number, stop) for number in (1, 2)]
    for each in writers:
        each.start()
    try:
        until(lambda: all(each.acked for each in writers), "both write")
        yield writers
        before = [len(each.acked) for each in writers]
        until(
            lambda: all(len(w.acked) > b for w, b in zip(writers, before, strict=True)),
            "they write on",
        )
    finally:
        stop.set()
        for each in writers:
            each.join()
    for each in writers:
        assert each.error is None
        assert not each.unknown
        with qsync.connect(found.addresses, timeout=20) as db:
            low = each.number * 1_000_000
            rows = db.space("things").select([low], iterator="ge", limit=len(each.acked) + 1)
            there = {row[0] for row in rows}
            assert {low + value for value in each.acked} <= there


def voters(found: lab.Lab) -> set[str]:
    survey = surveys.survey(found.addresses)
    names = {id: name for each in survey.samples for id, name, _ in each.nodes}
    assert survey.leader is not None
    return {names[id] for id, _ in survey.leader.voters}


def member(*words: str, target: Path) -> None:
    assert run(["member", *words, "--target", str(target), "--timeout", "60s"]) == 0


@contextmanager
def one_more(found: lab.Lab) -> Iterator[tuple[lab.Lab, lab.LabNode]]:
    """The lab with a node that waits to be a member."""
    grown, node = lab.add_node(found)
    grown.start(node)
    try:
        yield grown, node
    finally:
        grown.stop_all()


def standing(node: lab.LabNode) -> str:
    return next(
        each.standing for each in surveys.survey([node.address]).samples if each.id == node.id
    )


def test_a_node_comes_and_the_leader_goes_under_load(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        running(tmp_path / "three", nodes=3) as found,
        one_more(found) as (grown, fourth),
        under_load(found),
    ):
        member("add", fourth.address, target=found.dir)
        assert voters(grown) == {"n1", "n2", "n3", "n4"}
        leader = surveys.survey(grown.addresses).leader
        assert leader is not None
        member("remove", leader.name, target=found.dir)
        assert voters(grown) == {"n1", "n2", "n3", "n4"} - {leader.name}
        gone = grown.node(leader.name)
        until(lambda: standing(gone) == "removed", "it knows that it was removed")
        capsys.readouterr()
        assert run(["status", str(found.dir)]) == 0
        assert f"{gone.name} was removed from the cluster" in capsys.readouterr().out


def test_the_evidence_of_a_cluster_that_grew_and_shrank_breaks_nothing(tmp_path: Path) -> None:
    """Three voters, five, three: nodes say how they are at each size, and are stopped at last."""
    bundle = tmp_path / "evidence"

    def judged(*asked: str, facts: int) -> None:
        assert run(["dump", str(found.dir), "--out", str(bundle)]) == 0
        checked = check_bundle(bundle).checked
        known = {each.verdict.invariant: each.verdict for each in checked}
        assert [each.describe() for each in known.values() if each.result is Result.FAIL] == []
        for id_ in (STEPS, QUORUMS, REMOVED, *asked):
            assert known[id_].result is Result.PASS, known[id_]
        assert known[STEPS].facts == facts

    with running(tmp_path / "three", nodes=3) as found:
        with one_more(found) as (four, fourth), one_more(four) as (five, fifth):
            for node in (fourth, fifth):
                member("add", node.address, target=found.dir)
            assert len(voters(five)) == 5
            judged(MEET, facts=4)  # each is a learner first
            for node in (fourth, fifth):
                member("remove", node.name, target=found.dir)
            assert len(voters(five)) == 3
            judged(MEET, facts=6)
        found.stop_all()
        shutil.rmtree(bundle)
        judged(facts=6)
        assert Bundle.open(bundle).manifest.voters == 3


def test_a_learner_receives_and_does_not_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(tmp_path / "one", nodes=1) as found, one_more(found) as (grown, second):
        member("add", second.address, "--learner", target=found.dir)
        assert voters(grown) == {"n1"}
        add = ["member", "add", "--target", str(found.dir)]
        assert run([*add, second.address]) == 2
        assert (
            "n2 is a member already: learner (to change that: qsync member set-role n2 voter)"
            in (capsys.readouterr().err)
        )
        assert run([*add, found.nodes[0].address, "--learner"]) == 2
        assert "n1 is a member already: voter" in capsys.readouterr().err
        grown.kill(second)
        with qsync.connect([found.nodes[0].address], timeout=20) as db:
            db.space("things").insert([1, "one disk is enough"])
        grown.start(second)
        settling.wait_answers(second.address, timeout=20)
        with qsync.connect([second.address], timeout=20) as db:
            until(
                lambda: db.space("things").get(1, consistency="local") is not None,
                "the learner has it",
            )
        member("set-role", "n2", "voter", target=found.dir)
        assert voters(grown) == {"n1", "n2"}


def test_a_dry_run_counts_what_is_left_of_an_addition_that_has_begun(tmp_path: Path) -> None:
    with running(tmp_path / "one", nodes=1) as found, one_more(found) as (grown, second):
        survey = surveys.survey(found.addresses)
        one = membership.newcomer(survey, second.address, timeout=20)
        grown.kill(second)
        joins = WantedChange(action=MemberAction.ADD, one=one, role=MemberRole.JOINING)
        membership.change(survey, joins, timeout=20)
        now = surveys.survey(found.addresses)
        joining = replace(one, role=MemberRole.JOINING.value)
        told = membership_plan.would(now, WantedChange(action=MemberAction.ADD, one=joining))
        assert (told["changes"], told["voters"], told["voters_after"]) == (1, 1, 2)
        assert (told["quorum"], told["quorum_after"], told["heard"]) == (1, 2, 1)


def test_a_member_moves_with_its_directory(tmp_path: Path) -> None:
    with running(tmp_path / "three", nodes=3) as found:
        leader = surveys.survey(found.addresses).leader
        assert leader is not None
        one = next(each for each in found.nodes if each.name != leader.name)
        found.kill(one)
        (port,) = free_ports(1)
        text = one.config.read_text("utf-8").replace(one.address, f"{LOOPBACK}:{port}")
        one.config.write_text(text, "utf-8")
        member("move", one.name, f"{LOOPBACK}:{port}", "--force", target=found.dir)
        found.start(one)
        until(
            lambda: (
                f"{LOOPBACK}:{port}"
                in {each.address for each in surveys.survey([leader.address]).samples}
            ),
            "it is found at its new address",
        )
        survey = settling.wait_writable([leader.address], timeout=20)
        assert surveys.judge(survey).margin == 1
