"""Seeds that nobody has run yet: other ones for every commit. Their evidence is checked, too."""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from admin.soak import code
from admin.soak.evidence import judge
from admin.soak.judge import JudgedSeed, SeedConclusion
from admin.soak.pool import judged
from qsync.sim.plan import Plan

ROOT = Path(__file__).parents[2]
PARTS, COUNT, EVENTS = 4, 3, 1200
WHOLE = 400
"""So many whole runs take five minutes on one processor."""
EACH = 1000
"""So far apart are the seeds of two commits."""
DIGITS = 9


def base() -> tuple[str, int]:
    """Where they begin: by the commit, or without one by the sources."""
    asked = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=True)
        name, digits = "commit", done.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        name, digits = "sources", code.version()
    return f"{name} {digits}", int(digits[:DIGITS], 16) * EACH


def plans(first: int) -> Iterator[Plan]:
    yield from (Plan(seed=seed, events=EVENTS) for seed in range(first, first + COUNT))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("part", range(PARTS))
def test_promises_are_kept_for_seeds_of_this_commit_alone(part: int) -> None:
    name, begin = base()
    first = begin + part * COUNT
    sys.stdout.write(f"seeds {first} to {first + COUNT - 1}, of {name}\n")
    held(judged(plans(first), judge, jobs=1))


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_promises_are_kept_in_hundreds_of_whole_runs_of_this_commit() -> None:
    name, begin = base()
    first = begin + PARTS * COUNT
    sys.stdout.write(f"seeds {first} to {first + WHOLE - 1}, of {name}\n")
    held(judged((Plan(seed=seed) for seed in range(first, first + WHOLE)), judge, jobs=1))


def held(runs: Iterable[JudgedSeed]) -> None:
    found = list(runs)
    broken = [each for each in found if each.conclusion is SeedConclusion.BROKEN]
    said = [f"{each.describe()}\n  again: {each.command}" for each in broken]
    assert not broken, "\n".join(said)
    assert sum(each.report.acked for each in found) > 0


def test_two_commits_share_no_seed() -> None:
    assert PARTS * COUNT + WHOLE <= EACH
    _, first = base()
    assert first % EACH == 0
