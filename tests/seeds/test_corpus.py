"""Seeds that reached what few others do: they are run again, and still hold."""

import json
from pathlib import Path

from admin.soak import corpus
from admin.soak.corpus import SEEDS_MAX
from admin.soak.judge import SeedConclusion
from admin.soak.pool import judged
from qsync.sim.plan import Plan

FILE = Path(__file__).parent / "corpus.json"
SHARE = 0.5
"""Of what the seeds were kept for, so much they still reach; below it draw them again."""


def test_the_seeds_of_the_corpus_hold_and_still_reach_what_is_rare() -> None:
    kept: dict[str, list[str]] = json.loads(FILE.read_text(encoding="utf-8"))["seeds"]
    assert 0 < len(kept) <= SEEDS_MAX
    found = list(judged([Plan(seed=int(seed)) for seed in kept], corpus.judge, jobs=2))
    broken = [each for each in found if each.conclusion is SeedConclusion.BROKEN]
    again = [f"{each.describe()}\n  again: {each.report.plan.command()}" for each in broken]
    assert not broken, "\n".join(again)
    wanted = {state for states in kept.values() for state in states}
    reached = frozenset[str]().union(*(each.reached for each in found))
    assert len(wanted & reached) >= SHARE * len(wanted), "make corpus"
