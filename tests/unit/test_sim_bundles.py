"""`qsync sim --bundle` leaves evidence that `qsync check --quick` judges."""

import json
from pathlib import Path

import pytest

from cli.main import run


def test_every_seed_leaves_a_bundle_that_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--events", "1500", "--jobs", "1", "--bundle", str(tmp_path)]
    assert run(["sim", "--seeds", "46-47", *given]) == 0
    capsys.readouterr()
    folders = sorted(str(each) for each in tmp_path.iterdir())
    assert [Path(each).name for each in folders] == ["seed-46", "seed-47"]
    assert run(["check", "--quick", "--json", *folders]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "pass"


# A leader was deposed in the very batch in which it was elected; a space was dropped and came back.
ONCE_DOUBTED = (3, 14)


@pytest.mark.parametrize("seed", ONCE_DOUBTED)
def test_a_run_of_shipped_code_leaves_a_bundle_that_holds(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--kernel", "--last", "1", "--bundle", str(tmp_path)]
    assert run(["sim", "--replay", str(seed), *given]) == 0
    capsys.readouterr()
    assert run(["check", "--quick", "--json", str(tmp_path / f"seed-{seed}")]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "pass"


def test_a_replayed_seed_of_a_mutant_leaves_what_proves_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mutant = ["--mutant", "quorum_minus_one", "--events", "1500", "--bundle", str(tmp_path)]
    seed = next(s for s in range(1, 30) if run(["sim", "--replay", str(s), "--last", "1", *mutant]))
    capsys.readouterr()
    assert run(["check", "--quick", "--json", str(tmp_path / f"seed-{seed}")]) == 6
    (file,) = json.loads(capsys.readouterr().out)["files"]
    failed = {each["id"] for each in file["invariants"] if each["status"] == "fail"}
    assert "quorum-before-confirm" in failed
