"""Shipped nodes and clients under every choice of a scope: no property breaks."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cli.main import run as command
from qsync.faults import Fault
from qsync.sim.chosen.choices import Question
from qsync.sim.chosen.play import PlayedRun, play
from qsync.sim.chosen.scopes import CHOSEN, QUICK
from qsync.sim.chosen.search import ChosenSearch, Taken
from qsync.sim.run import mutant_names
from qsync.sim.trace import HEADING

pytestmark = pytest.mark.pure
"""The explorer copies and replaces parts of a cluster, as `qsync sim --explore` says."""

PAGE = Path(__file__).parents[2] / "docs/reference/explore.md"
NAMES = [scope.name for scope in QUICK]
LONG = [name for name in CHOSEN if name not in NAMES]


def exhaust(name: str) -> None:
    scope = CHOSEN[name]
    found = ChosenSearch(scope).run()
    assert found.broken is None, "\n".join([found.broken.text, *found.broken.lines])
    assert found.exhausted
    missing = scope.reaches - set(found.happened)
    assert not missing, f"nothing is proved: {missing} never happened"
    runs = int(stated(name)["runs"].replace(",", ""))
    assert runs / 2 < found.runs < runs * 2, f"state {found.runs} runs in {PAGE.name}"


def stated(name: str) -> dict[str, str]:
    """The row of a scope in its page, by the heads of the columns."""
    text = PAGE.read_text(encoding="utf-8")
    lines = text[text.index("<!-- nodes -->") : text.index("<!-- end of nodes -->")].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    (found,) = [row for row in rows if row[0] == f"`{name}`"]
    return dict(zip(rows[0], found, strict=True))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", NAMES)
def test_no_property_breaks_in_any_run_of_a_quick_scope_of_nodes(name: str) -> None:
    exhaust(name)


@pytest.mark.soak
@pytest.mark.timeout(36_000)
@pytest.mark.parametrize("name", LONG)
def test_no_property_breaks_in_any_run_of_a_long_scope_of_nodes(name: str) -> None:
    exhaust(name)


@pytest.mark.parametrize("name", CHOSEN)
def test_the_page_states_every_scope_of_nodes_and_its_bounds(name: str) -> None:
    scope, row = CHOSEN[name], stated(name)
    bounds = ", ".join(f"{fault} {often}" for fault, often in scope.bounds.items())
    assert row["faults"] == (bounds if scope.faults == 1 else f"{bounds}; {scope.faults} in all")
    assert row["of"] == scope.victims.value
    assert row["shows that"] == scope.claim


def test_every_scope_of_nodes_kills_a_mutant() -> None:
    assert not [name for name, scope in CHOSEN.items() if not scope.kills]
    assert not {mutant for scope in CHOSEN.values() for mutant in scope.kills} - {*mutant_names()}


@pytest.mark.timeout(300)
@pytest.mark.pure
@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        pytest.param(name, kill, marks=pytest.mark.soak if name in LONG else [])
        for name, scope in CHOSEN.items()
        for kill in sorted(scope.kills)
    ],
)
def test_a_scope_of_nodes_notices_each_broken_rule_that_it_names(name: str, mutant: str) -> None:
    found = ChosenSearch(CHOSEN[name], mutant).run()
    assert found.broken is not None, f"{mutant} breaks nothing in {found.runs} runs"
    assert found.broken.lines[0] == HEADING


# ------------------------------------------------------------------------- how runs are looked for


class Recorder(ChosenSearch):
    """Keeps what was asked in the run without any fault, and everything that was chosen."""

    def __init__(self, name: str) -> None:
        super().__init__(CHOSEN[name])
        self.first: tuple[Question, ...] = ()
        self.chosen: list[Taken] = []

    def _await(self, more: Taken, played: PlayedRun, faults: int) -> None:
        super()._await(more, played, faults)
        self.first = self.first or played.questions
        self.chosen.append(more)


def test_a_leader_may_die_at_every_call_whose_place_is_another() -> None:
    search = Recorder("node-write")
    search.run(runs_max=1)
    kills = [taken for taken in search.chosen if taken[-1][1] == 1]
    assert len(kills) == len({each.place for each in search.first}) > 10
    stops = [taken for taken in search.chosen if taken[-1][1] == 3]
    assert len(stops) == len(search.first) > 100


def test_calls_of_one_place_lead_to_the_same_end() -> None:
    """The ways there differ by microseconds, so that two things may change places on them."""
    scope = replace(CHOSEN["node-write"], bounds={Fault.KILL: 1})
    questions, ends = play(scope, {}).questions, dict[object, object]()
    compared = 0
    for number, question in enumerate(questions[:60]):
        end = play(scope, {number: 1}).happened
        compared += question.place in ends
        assert ends.setdefault(question.place, end) == end, number
    assert compared > 10


def test_equal_choices_are_equal_runs() -> None:
    scope = CHOSEN["node-write"]
    assert play(scope, {7: 1}) == play(scope, {7: 1})
    assert play(scope, {7: 1}).pictures != play(scope, {}).pictures


def test_runs_with_fewer_faults_come_first() -> None:
    search = Recorder("node-write-two")
    found = search.run(runs_max=30)
    assert not found.exhausted
    assert found.depth == 1
    assert any(len(taken) > 1 for taken in search.chosen)


# ------------------------------------------------------------------------------------ the command


def test_the_command_explores_shipped_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["sim", "--explore", "node-write-late", "--json"]) == 0
    (scope,) = json.loads(capsys.readouterr().out)["scopes"]
    assert scope["exhausted"]
    assert scope["runs"] > 1
    assert command(["sim", "--explore", "node-write-late", "--states-max", "3"]) == 7


@pytest.mark.pure
def test_the_command_prints_the_run_that_a_mutant_breaks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ["sim", "--explore", "node-write-late", "--mutant", "retry_applies_twice"]
    assert command(given) == 6
    lines = capsys.readouterr().out.splitlines()
    assert "property 9" in lines[0]
    assert lines[1] == HEADING
    assert command(["sim", "--explore", "figure-8", "--mutant", "stale_clock"]) == 2
