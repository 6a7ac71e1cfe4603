"""What a run reached, and which few seeds are kept because together they reach what is rare."""

from dataclasses import replace
from pathlib import Path

import pytest

from admin.soak import corpus
from admin.soak.corpus import Corpus
from admin.soak.coverage import TracedNodes
from admin.soak.judge import JudgedSeed
from qsync.errors import ConfigError
from qsync.sim.plan import Plan
from qsync.sim.trace import TraceColumns
from tests.unit.test_soak import run_of


def judged(seed: int, *states: str) -> JudgedSeed:
    return replace(run_of(Plan(seed=seed)), reached=frozenset(states))


def sight(node: int, role: str, term: int, *, last: int = 5, written: int = 5) -> TraceColumns:
    return TraceColumns(node, role, term, last, written, 5, 5)


def test_the_seeds_that_are_kept_reach_everything_that_is_rare(tmp_path: Path) -> None:
    found = Corpus(tmp_path / "corpus.json", "")
    for seed, states in enumerate(("ab", "a", "ac", "abcd", "a", "e"), start=1):
        found.add(judged(seed, *states))
    assert found.chosen() == {4: ["d"], 6: ["e"]}
    assert found.states == len("abcde")


def test_a_corpus_is_read_again_and_belongs_to_its_options(tmp_path: Path) -> None:
    path = tmp_path / "corpus.json"
    first = Corpus(path, "")
    assert first.load() == []
    first.add(judged(7, "a", "b"))
    first.save()
    assert Corpus(path, "").load() == [7]
    with pytest.raises(ConfigError, match="no corpus of runs with the options '--nodes 5'"):
        Corpus(path, "--nodes 5").load()


@pytest.mark.parametrize(
    "text", ["", "garbage", "[]", "7", '{"schema": "qsync/corpus/1"}', '{"schema": 1, "seeds": 3}']
)
def test_what_is_no_corpus_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match="no corpus of runs"):
        Corpus(path, "").load()
    assert path.read_text() == text


def test_a_run_reaches_the_same_every_time_and_says_it_in_words() -> None:
    one, two = (corpus.judge(Plan(seed=7, events=600)) for _ in range(2))
    assert one.reached == two.reached
    assert any(each.startswith("roles ") for each in one.reached)
    assert any(" ok, while the leader " in each for each in one.reached)


def test_roles_are_counted_and_a_leader_of_a_term_that_is_over_is_none_of_them() -> None:
    stage = TracedNodes()
    assert stage.leading == "nobody leads"
    for each in (sight(1, "L", 2), sight(2, "F", 2), sight(3, ".", 1)):
        stage.saw(each)
    assert (stage.roles, stage.leading) == (".1F1L1", "the leader rests")
    stage.saw(sight(1, "L", 2, last=6))
    assert stage.leading == "the leader writes"
    stage.saw(sight(1, "L", 2, last=6, written=6))
    assert stage.leading == "the leader waits"
    stage.saw(sight(2, "C", 3))
    assert (stage.roles, stage.leading) == (".1C1l1", "one leads a term that is over")
    stage.saw(sight(2, "L", 3))
    assert (stage.roles, stage.leading) == (".1L1l1", "2 lead")
