"""`qsync member`: a lost disk is seen as a stranger, and a new directory gets its place."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import qsync
from admin.cluster import fault_points, settling, surveys
from admin.doctor import checks
from admin.doctor.facts import gather
from admin.lab import lab
from cli.main import run
from qsync.faults import Fault
from tests.live.real import PATIENT, put, running, until

pytestmark = pytest.mark.slow


@pytest.fixture
def three(tmp_path: Path) -> Iterator[lab.Lab]:
    """Nobody is named by the leader alone."""
    manual = PATIENT | {"replication__replace": "manual"}
    with running(tmp_path / "three", nodes=3, **manual) as found:
        put(found, [1, "one"])
        yield found


def standing(found: lab.Lab, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    capsys.readouterr()
    assert run(["member", "list", str(found.dir), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["members"]
    return {each["name"]: each["standing"] for each in told}


def test_a_lost_disk_is_a_stranger_until_it_is_named(
    three: lab.Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    target = ["-t", str(three.dir)]
    leader = surveys.survey(three.addresses).leader
    assert leader is not None
    lost = next(each for each in three.nodes if each.name != leader.name)
    assert set(standing(three, capsys).values()) == {"voter"}
    three.kill(lost)
    assert standing(three, capsys)[lost.name] == "silent"
    assert run(["member", "replace", lost.name, *target, "--dry-run"]) == 0
    assert "is not connected: start it on its new directory first" in capsys.readouterr().err
    consumers_of_the_log(three, lost.name, leader.name, capsys)

    three.wipe(lost)
    three.start(lost)
    settling.wait_answers(lost.address, timeout=30)
    until(lambda: not surveys.survey(three.addresses).silent, "all answer")
    assert standing(three, capsys)[lost.name] == "stranger"
    assert run(["status", str(three.dir)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"`qsync member replace {lost.name}`" in said
    assert f"Degraded: {lost.name} is a stranger: its directory is new" in said
    (named,) = checks.run(gather(three.addresses), checks.chosen(["all-named"]))
    assert [each.subject for each in named.findings] == [lost.name]

    assert run(["member", "replace", leader.name, *target, "--dry-run"]) == 0
    assert "refused: a leader does not replace itself" in capsys.readouterr().err
    assert run(["member", "replace", leader.name, *target]) == 4
    assert run(["member", "replace", lost.name, *target, "--dry-run"]) == 0
    assert "2 changes of the configuration, voters 3 -> 2 -> 3" in capsys.readouterr().err
    assert run(["member", "replace", lost.name, *target, "--timeout", "30s"]) == 0
    assert f"{lost.name} is named; the voters are n1, n2, n3" in capsys.readouterr().err
    assert set(standing(three, capsys).values()) == {"voter"}
    assert run(["member", "replace", lost.name, *target, "--dry-run"]) == 0
    assert "nothing: it is a voter already" in capsys.readouterr().err


def consumers_of_the_log(
    three: lab.Lab, away: str, leader: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A member that is away is let go, one that runs is not, and a reader is forgotten."""
    target = ["-t", str(three.dir)]
    with qsync.connect(three.addresses) as db:
        db.consumers.register("mailer", about="on host 7")
    assert run(["member", "gc", "list", str(three.dir)]) == 0
    assert "mailer               subscriber" in capsys.readouterr().out
    assert run(["member", "gc", "drop", leader, *target]) == 4
    assert run(["member", "gc", "drop", "nobody", *target]) == 2
    assert run(["member", "gc", "drop", away, *target, "--dry-run"]) == 0
    assert "then it needs a snapshot to go on" in capsys.readouterr().err
    for name in (away, "mailer"):
        assert run(["member", "gc", "drop", name, *target]) == 0
    there = surveys.survey(three.addresses).samples[0].gc.consumers
    uuid = {each.about: each.name for each in there if each.kind == "replica"}

    def shown() -> dict[str, bool]:
        run(["member", "gc", "list", str(three.dir), "--json"])
        told = json.loads(capsys.readouterr().out)["consumers"]
        return {each["name"]: each["let_go"] for each in told}

    capsys.readouterr()
    until(lambda: shown() == {each: each == uuid[away] for each in uuid.values()}, "it is seen")


def configurations(node: lab.LabNode) -> list[tuple[str, object]]:
    """What its timeline says of changes, oldest first: voters, or why one was rolled back."""
    lines = (node.dir / "timeline.jsonl").read_text().splitlines()
    told = [json.loads(line) for line in lines]
    return [
        (each["event"], each["voters"] if each["event"] == "configuration" else each["why"])
        for each in told
        if each["event"] in ("configuration", "rollback")
    ]


def test_a_change_that_takes_the_leaders_quorum_is_taken_back(tmp_path: Path) -> None:
    """Two nodes; the new directory of the lost one dies before it has the change that names it."""
    slow = {"election__timeout": "20s", "replication__timeout": "3s"}
    patient = slow | {"replication__synchro_timeout": "60s", "node__faults": "true"}
    with running(tmp_path / "two", nodes=2, replication__replace="manual", **patient) as found:
        put(found, [1, "one"])
        leads = surveys.survey(found.addresses).leader
        assert leads is not None
        leader = found.node(leads.name)
        lost = next(each for each in found.nodes if each is not leader)
        found.kill(lost)
        found.wipe(lost)
        found.start(lost)
        settling.wait_answers(lost.address, timeout=30)
        fault_points.arm(lost.address, Fault.SLOW_FSYNC, seconds=2.0, lasts=120.0)
        target = ["-t", str(found.dir), "--timeout", "60s"]
        replacing = threading.Thread(target=run, args=(["member", "replace", lost.name, *target],))
        replacing.start()
        alone, both = ("configuration", [leader.id]), ("configuration", [1, 2])
        until(lambda: configurations(leader)[-2:] == [alone, both], "the new directory is named")
        found.kill(lost)
        refused = ("rollback", "configuration")
        until(lambda: refused in configurations(leader), "it is taken back", timeout=60)
        replacing.join()
        assert configurations(leader)[-1] == alone
        put(found, [2, "two"])
