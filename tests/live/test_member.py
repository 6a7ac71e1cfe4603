"""`qsync member`: a lost disk is seen as a stranger, and a new directory gets its place."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from admin.cluster import surveys
from admin.doctor import checks
from admin.doctor.facts import gather
from admin.lab import lab
from cli.main import run
from tests.live.real import put, running, until

pytestmark = pytest.mark.slow


@pytest.fixture
def three(tmp_path: Path) -> Iterator[lab.Lab]:
    """Nobody is named by the leader alone."""
    with running(tmp_path / "three", nodes=3, replication__replace="manual") as found:
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
    assert "refused: it does not answer" in capsys.readouterr().err

    three.wipe(lost)
    three.start(lost)
    surveys.wait_answers(lost.address, timeout=30)
    until(lambda: not surveys.survey(three.addresses).silent, "all answer")
    assert standing(three, capsys)[lost.name] == "stranger"
    assert run(["status", str(three.dir)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"`qsync member replace {lost.name}`" in said
    assert f"Degraded: {lost.name} is a stranger: its directory is new" in said
    (named,) = checks.run(gather(three.addresses), checks.chosen(["all-named"]))
    assert [each.subject for each in named.findings] == [lost.name]

    assert run(["member", "replace", leader.name, *target, "--dry-run"]) == 0
    assert "refused: it leads" in capsys.readouterr().err
    assert run(["member", "replace", leader.name, *target]) == 4
    assert run(["member", "replace", lost.name, *target, "--dry-run"]) == 0
    assert "2 changes of the configuration, voters 3 -> 2 -> 3" in capsys.readouterr().err
    assert run(["member", "replace", lost.name, *target, "--timeout", "30s"]) == 0
    assert f"{lost.name} is named; the voters are n1, n2, n3" in capsys.readouterr().err
    assert set(standing(three, capsys).values()) == {"voter"}
    assert run(["member", "replace", lost.name, *target, "--dry-run"]) == 0
    assert "nothing: it is a voter already" in capsys.readouterr().err
