"""`qsync soak` as a person runs it: it ends, is interrupted, goes on, and shows what broke."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import typed

QSYNC = [sys.executable, "-m", "qsync"]
ROOT = Path(__file__).parents[2]
PATIENCE_S = 150.0

pytestmark = pytest.mark.timeout(200)


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*QSYNC, *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


def test_what_held_is_not_run_again(tmp_path: Path) -> None:
    words = ("soak", "--events", "300", "--jobs", "2", "--resume", str(tmp_path / "s"), "--json")
    first = run(*words, "--seeds", "1-6")
    assert first.returncode == 0, first.stderr
    told = json.loads(first.stdout)
    assert (told["schema"], told["run"], told["known"]) == ("qsync/soak/1", 6, 0)
    assert told["broken"] == []
    again = json.loads(run(*words, "--seeds", "1-8").stdout)
    assert (again["seeds"], again["run"], again["known"]) == (8, 2, 6)


def test_runs_whose_evidence_was_not_checked_are_run_again_with_it(tmp_path: Path) -> None:
    words = ("soak", "--events", "300", "--jobs", "1", "--resume", str(tmp_path / "s"), "--json")
    run(*words, "--seeds", "1-2")
    for known in (0, 3):
        done = run(*words, "--seeds", "1-3", "--evidence")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["known"] == known


def test_what_is_said_at_the_end_is_a_line_of_words() -> None:
    done = run("soak", "--events", "300", "--jobs", "1", "--seeds", "3-4")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("2/2 seeds, "), "and no escaped carriage return"


@pytest.mark.pure
def test_a_failure_is_one_line_that_runs_it_again() -> None:
    words = ("--seeds", "1-30", "--events", "700", "--shrink", "15", "--jobs", "1")
    found = run("soak", *words, "--mutant", "retry_applies_twice")
    assert found.returncode == 6
    (line,) = found.stdout.splitlines()
    assert line.startswith("qsync sim --replay ")
    assert "--nodes" in line
    assert "property 9, exactly once" in found.stderr
    again = run(*line.split()[1:])
    assert again.returncode == 6
    assert "property 9, exactly once" in again.stderr


def test_an_interrupted_soak_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "soak.json"
    words = ("soak", "--seeds", "1-100000", "--events", "300", "--jobs", "2", "--resume", str(path))
    with subprocess.Popen(
        [*QSYNC, *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        end = time.monotonic() + PATIENCE_S
        while not path.exists():
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert out == ""
    assert "is saved" in err
    (ledger,) = json.loads(path.read_text())["ledgers"]
    assert ledger["held"] or ledger["inconclusive"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--seeds", "9-1"), "ends before it begins"),
        (("--without", "gremlins"), "there is no 'gremlins'"),
        (("--strikes", "three"), "--strikes wants numbers"),
        pytest.param(("--mutant", "gremlin"), "there is no mutant", marks=pytest.mark.pure),
    ],
)
def test_what_cannot_be_run_is_a_usage_error(words: tuple[str, str], why: str) -> None:
    refused = typed.run("soak", *words)
    assert refused.code == 2
    assert why in refused.stderr


def test_a_calm_life_proves_nothing() -> None:
    calm = typed.run("sim", "--seeds", "1-2", "--events", "300", "--strikes", "none")
    assert calm.code == 6
    assert "inconclusive" in calm.stderr
