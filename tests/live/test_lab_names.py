"""Labs that live anywhere are found by their names, listed and ended: none is lost."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from admin.drills.preflight import tag_of
from admin.lab import lab
from admin.lab import names as lab_names
from cli.main import run
from cli.targets import resolve

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine without labs, before and after."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yield tmp_path
    assert run(["lab", "down", "--all", "--remove"]) == 0


def up(*args: object) -> int:
    """A lab of one node."""
    return run(["lab", "up", "--nodes", "1", "--direct", *map(str, args)])


def listed(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    capsys.readouterr()
    assert run(["lab", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["labs"]
    return {each["name"]: each["dir"] for each in found}


def test_a_lab_with_a_name_and_a_directory_is_found_by_both(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert up("--name", "big", "--dir", state / "d") == 0
    assert listed(capsys) == {"big": str(state / "d")}
    assert resolve("big") == list(lab.load(state / "d").addresses)
    assert run(["lab", "ps", "--name", "big", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["dir"] == str(state / "d")


def test_a_name_that_another_lab_has_is_refused(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert up("--name", "big", "--dir", state / "d") == 0
    assert up("--name", "big", "--dir", state / "e") == 2
    assert f"another lab called big, in {state / 'd'}" in capsys.readouterr().err
    assert not lab_names.exists(state / "e")
    # Again with the same pair it is the same lab, and so it is with the name alone.
    assert run(["lab", "up", "--name", "big", "--dir", str(state / "d")]) == 0
    assert run(["lab", "up", "--name", "big"]) == 0
    assert listed(capsys) == {"big": str(state / "d")}


def test_a_lab_with_a_directory_alone_goes_by_the_name_of_that_unless_it_is_taken(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert up("--dir", state / "a" / "pets") == 0
    assert up("--dir", state / "b" / "pets") == 0
    assert listed(capsys) == {"pets": str(state / "a" / "pets")}
    assert run(["lab", "down", "--dir", str(state / "b" / "pets")]) == 0


def test_a_lab_that_is_deleted_gives_its_name_back(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert up("--name", "big", "--dir", state / "d") == 0
    assert run(["lab", "down", "--name", "big", "--remove"]) == 0
    assert listed(capsys) == {}
    assert not (state / "d").exists()
    assert up("--name", "big") == 0
    assert listed(capsys) == {"big": str(lab_names.home() / "big")}


def test_all_labs_are_ended_at_once(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert up() == 0
    assert up("--name", "big", "--dir", state / "d") == 0
    assert run(["lab", "down", "--all", "--remove", "--json"]) == 0
    told = capsys.readouterr().out.splitlines()[-1]
    assert [each["name"] for each in json.loads(told)["labs"]] == ["big", "lab"]
    assert listed(capsys) == {}


def test_a_lab_may_be_broken_unless_it_was_made_otherwise(state: Path) -> None:
    assert up("--dir", state / "d") == 0
    assert up("--dir", state / "p", "--set", "cluster.tag=production") == 0
    assert tag_of(lab.load(state / "d").nodes[0]) == "lab"
    assert 'faults: "true"' in lab.load(state / "d").nodes[0].config.read_text()
    assert tag_of(lab.load(state / "p").nodes[0]) == "production"
    assert "faults" not in lab.load(state / "p").nodes[0].config.read_text()


def test_a_drill_on_an_address_is_refused_with_where_drills_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["drill", "run", "leader-kill", "--target", "127.0.0.1:3301"]) == 2
    said = capsys.readouterr().err
    assert "127.0.0.1:3301 is an address" in said
    assert "`qsync lab list` names the labs" in said
