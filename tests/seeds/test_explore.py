"""Every order of events of small clusters: nothing breaks, and no broken rule goes unnoticed."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.main import run as command
from qsync.sim.explore import fingerprint
from qsync.sim.explore.acts import Delivery, ExplorerAct
from qsync.sim.explore.alike import Alike
from qsync.sim.explore.cast import ActResult, BrokenProperty, StateTable
from qsync.sim.explore.clone import clone
from qsync.sim.explore.host import ExploredNode
from qsync.sim.explore.ids import Renaming, renamings
from qsync.sim.explore.minutes import minutes
from qsync.sim.explore.roll import Letter, last_term
from qsync.sim.explore.scope import Scope
from qsync.sim.explore.scopes import CORE_SETS, SCOPES
from qsync.sim.explore.search import SearchResult, StateSearch
from qsync.sim.explore.world import ExploredWorld
from qsync.sim.mutants.catalogue import CATALOGUE
from qsync.sim.scopes import EXPLORED, SETS
from qsync.sim.trace import STEPS_HEADING

pytestmark = pytest.mark.pure
"""The explorer copies and replaces parts of a cluster, as `qsync sim --explore` says."""

PAGE = Path(__file__).parents[2] / "docs/reference/explore.md"
LONG = [name for name in CORE_SETS["all"] if name not in CORE_SETS["quick"]]

# Which property (protocol.md section 9) it is that some broken rules break.
BREAKS = {
    "vote_not_persisted": {5},
    "answers_before_ballot": {5},
    "ack_before_durable": {7},
    "quorum_minus_one": {7},
    "confirm_older_term": {7},
    "rollback_inherited": {2, 3, 4, 7},
    "stretch_rule_leader": {2},
    "stretch_rule_carried": {2},
    "read_without_round": {3},
    "retry_applies_twice": {9},
    "sessions_forgotten": {9},
    "validation_skipped": {12},
    "condition_ignored": {12},
    "refused_after_append": {12},
    "votes_twice": {5},
    "lease_twice_the_promise": {3},
    "cut_at_once": {4},
    "rolled_back_said_at_once": {4},
    "rollback_beyond_confirmed": {2},
    "session_opened_twice": {9},
    "operation_never_ends": {13},
    "operator_forgotten": {13},
    "promotion_told_early": {13},
    "quorum_below_majority": {7},
    "rollback_in_two_steps": {2},
    "stale_taken_for_new": {9},
    "superseded_speaks": {16},
    "superseded_leads": {16},
    "generation_drops_pending": {3},
    "generation_keeps_terms": {1},
    "feature_enabled_alone": {18},
    "outdated_is_sent_on": {18},
}

FIRST = {
    kill: [name for name in CORE_SETS["quick"] if kill in SCOPES[name].kills] or [wider.name]
    for wider in SCOPES.values()
    for kill in wider.kills
}
"""By mutant: the quick scopes that must notice it; or else a long one."""

SMALL = Scope(
    name="small",
    claim="for the tests of the search itself",
    bounds={"campaigns": 1, "writes": 1, "duplicates": 1},
    prelude="",
    reaches=frozenset({"told committed", "elected"}),
    alike=((1, 2, 3),),
    ordered=True,
    slow_disk=False,
    records=False,
)


def complaint(search: StateSearch, explored: SearchResult) -> str:
    assert explored.broken is not None
    return "\n".join([explored.broken.text, *minutes(search, explored.trace)])


def exhaust(name: str) -> None:
    scope = SCOPES[name]
    search = StateSearch(scope)
    explored = search.run()
    assert explored.broken is None, complaint(search, explored)
    assert explored.exhausted
    missing = scope.reaches - set(explored.happened)
    assert not missing, f"nothing is proved: {missing} never happened"
    # The present code may differ a little from what the page was written about, not by much.
    states = int(stated(name)["states"].replace(",", ""))
    assert states / 2 < explored.states < states * 2, f"state {explored.states} in {PAGE.name}"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", CORE_SETS["quick"])
def test_no_property_breaks_in_any_state_of_a_quick_scope(name: str) -> None:
    exhaust(name)


@pytest.mark.soak
@pytest.mark.timeout(36_000)
@pytest.mark.parametrize("name", LONG)
def test_no_property_breaks_in_any_state_of_a_long_scope(name: str) -> None:
    exhaust(name)


@pytest.mark.parametrize("name", SCOPES)
def test_the_page_states_every_scope_and_its_bounds(name: str) -> None:
    bounds = ", ".join(f"{what} {often}" for what, often in SCOPES[name].bounds.items() if often)
    row = stated(name)
    assert row["bounds"] == bounds
    assert row["shows that"] == SCOPES[name].claim
    assert int(row["states"].replace(",", "")) > 0


def stated(name: str) -> dict[str, str]:
    """The row of a scope in its page, by the heads of the columns."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    heads = next(row for row in rows if row[0] == "scope")
    (found,) = [row for row in rows if row[0] == f"`{name}`"]
    return dict(zip(heads, found, strict=True))


def test_every_scope_says_what_must_happen_in_it() -> None:
    for scope in SCOPES.values():
        assert scope.reaches, scope.name


# ---------------------------------------------------------------------------------- broken rules


def test_every_scope_kills_a_mutant() -> None:
    assert not [name for name, scope in SCOPES.items() if not scope.kills]
    assert not {mutant for scope in SCOPES.values() for mutant in scope.kills} - CATALOGUE.keys()


@pytest.mark.timeout(300)
@pytest.mark.pure
@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        pytest.param(name, kill, marks=[] if name in FIRST[kill] else pytest.mark.soak)
        for name, scope in SCOPES.items()
        for kill in sorted(scope.kills)
    ],
)
def test_a_scope_notices_each_broken_rule_that_it_names(name: str, mutant: str) -> None:
    search = StateSearch(SCOPES[name], mutant)
    explored = search.run(states_max=300_000)
    if explored.broken is None:
        assert explored.exhausted, f"{mutant} breaks nothing in {explored.states} states"
        # A mutant may prevent what the scope is about: then the scope proves nothing, and says so.
        assert SCOPES[name].reaches - set(explored.happened)
        return
    assert explored.broken.number in BREAKS.get(mutant, range(15)), complaint(search, explored)
    lines = minutes(search, explored.trace)
    assert lines[0] == STEPS_HEADING
    if explored.trace:
        assert len(lines) == 1 + SCOPES[name].nodes + len(explored.trace)


@pytest.mark.pure
@pytest.mark.parametrize("mutant", ["confirm_older_term", "stretch_rule_leader"])
def test_no_trace_is_shorter_than_the_one_that_is_found(mutant: str) -> None:
    """The plain search, without symmetry and without partial orders, needs as many steps."""
    scope = next(each for each in SCOPES.values() if mutant in each.kills)
    found = StateSearch(scope, mutant).run()
    plain = StateSearch(without_symmetry(scope), mutant, reduce=False).run()
    assert len(found.trace) == len(plain.trace)


# ------------------------------------------------------------------------------- nothing is missed


def without_symmetry(scope: Scope) -> Scope:
    known = {name: getattr(scope, name) for name in Scope.__dataclass_fields__}
    return Scope(**(known | {"alike": ()}))


class Recorder(StateSearch):
    """Keeps every world."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.seen: list[ExploredWorld] = []

    def _check(self, way: int, world: ExploredWorld) -> None:
        super()._check(way, world)
        self.seen.append(world)


def test_orders_that_are_left_out_lead_to_no_other_state() -> None:
    reduced = StateSearch(SMALL).run()
    plain = StateSearch(SMALL, reduce=False).run()
    assert reduced.exhausted
    assert reduced.states == plain.states
    assert reduced.transitions < plain.transitions
    assert set(reduced.happened) == set(plain.happened)


def test_every_state_is_alike_to_one_that_was_explored() -> None:
    reduced = StateSearch(SMALL).run()
    plain = Recorder(without_symmetry(SMALL))
    explored = plain.run()
    assert explored.exhausted
    assert 5 * reduced.states < explored.states < 6 * reduced.states
    cast = StateTable(renamings(SMALL.nodes, SMALL.alike))
    states = {number: cast.state(host) for number, host in plain.cast.hosts.items()}
    letters = {number: cast.letter(letter) for number, letter in plain.cast.letters.items()}
    alike = Alike(cast, ordered=SMALL.ordered)
    keys = {alike.key(translated(world, states, letters)).digest for world in plain.seen}
    assert len(keys | {alike.key(translated(plain.first(), states, letters)).digest}) == (
        reduced.states
    )


def translated(
    world: ExploredWorld, states: dict[int, int], letters: dict[int, int]
) -> ExploredWorld:
    hosts = tuple(states[each] for each in world.hosts)
    return ExploredWorld(hosts, world.left, tuple(letters[each] for each in world.net))


class Audited(StateTable):
    """Keeps some of the hosts that were taken for another one, and lets both do the same."""

    def __init__(self, known: list[Renaming]) -> None:
        super().__init__(known)
        self.compared = 0
        self.differences: list[str] = []
        self._twins: dict[int, list[ExploredNode]] = {}
        self._done: dict[int, list[tuple[int, ActResult | BrokenProperty]]] = {}
        self._comparing = False

    def _met(self, number: int, host: ExploredNode) -> None:
        if number not in self.hosts or self._comparing:
            super()._met(number, host)
        elif len(self._twins.setdefault(number, [])) < 2:
            twin = clone(host)
            self._twins[number].append(twin)
            for act, known in self._done.get(number, []):
                self._compare(twin, act, known)

    def turn(self, state: int, act: int) -> ActResult | BrokenProperty:
        before = self.turns
        known = super().turn(state, act)
        if self.turns > before:
            self._done.setdefault(state, []).append((act, known))
            for twin in self._twins.get(state, []):
                self._compare(twin, act, known)
        return known

    def _compare(self, twin: ExploredNode, act: int, known: ActResult | BrokenProperty) -> None:
        self._comparing = True
        again = self.perform(clone(twin), act)
        self._comparing = False
        self.compared += 1
        if again != known:
            self.differences.append(f"{self.acts[act].describe()}: {known}, {again}")


AUDITED = [
    "election-crash",
    "rollback-confirm",
    "session-retry",
    "lost-disk",
    "reads",
    "two-changes",
]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", AUDITED)
def test_states_that_are_taken_for_one_behave_alike(name: str) -> None:
    scope = SCOPES[name]
    cast = Audited(renamings(scope.nodes, scope.alike))
    StateSearch(scope, cast=cast).run(states_max=2500)
    assert cast.compared > 100
    assert not cast.differences


def test_the_audit_notices_a_field_that_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = fingerprint.LEFT_OUT | {("Progress", "match"): "a mistake"}
    monkeypatch.setattr(fingerprint, "LEFT_OUT", missing)
    scope = SCOPES["rollback-confirm"]
    cast = Audited(renamings(scope.nodes, scope.alike))
    StateSearch(scope, cast=cast).run(states_max=2500)
    assert cast.differences


def test_what_is_left_out_is_there() -> None:
    """A field that was renamed since would silently count again."""
    search = StateSearch(SCOPES["session-retry"])
    search.run(states_max=300)
    found: set[tuple[str, str]] = set()
    for host in search.cast.hosts.values():
        for kind, name in fields_below(host, set()):
            found.add((kind, name))
    # No write is, in this scope, nor a hand-over.
    under_way = {("Write", name) for name in ("id", "cut_reason", "cut_answered")}
    under_way.add(("LeadershipTransfer", "timeout"))
    assert not set(fingerprint.LEFT_OUT) - found - under_way


def fields_below(thing: object, seen: set[int]) -> Iterator[tuple[str, str]]:
    """Class (and every base) and name of every attribute of an object, and of what is in it."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    slots = [name for base in type(thing).__mro__ for name in getattr(base, "__slots__", ())]
    held = {name: getattr(thing, name) for name in slots if hasattr(thing, name)}
    held |= getattr(thing, "__dict__", {})
    for name, inside in held.items():
        for base in type(thing).__mro__:
            yield base.__name__, name
        if type(inside).__module__.startswith(("qsync", "election")):
            yield from fields_below(inside, seen)
        elif isinstance(inside, dict | list | tuple):
            for each in inside.values() if isinstance(inside, dict) else inside:
                yield from fields_below(each, seen)


def test_letters_that_are_dropped_would_have_done_nothing() -> None:
    scope = SCOPES["stale-promote"]
    search = StateSearch(scope)
    search.run(states_max=3000)
    cast, tried = search.cast, 0
    states = list(cast.hosts.items())
    for letter in list(cast.letters.values()):
        last = last_term(letter.message, scope.unheard)
        for number, host in states:
            if host.me == letter.receiver and 0 < last < host.platter.ballot.term and tried < 2000:
                assert turned(cast, number, letter) == ActResult(number, (), ())
                tried += 1
    assert tried > 500


def turned(cast: StateTable, state: int, letter: Letter) -> ActResult | BrokenProperty:
    delivery = Delivery(letter.sender, letter.message, late=False)
    return cast.turn(state, cast.act(ExplorerAct(letter.receiver, "deliver", delivery)))


def test_no_turn_changes_the_state_that_it_began_with() -> None:
    search = StateSearch(SCOPES["session-retry"])
    search.run(states_max=1500)
    for number, host in list(search.cast.hosts.items()):
        assert search.cast.state(host) == number


# ------------------------------------------------------------------------------------ the command


def test_the_limit_of_states_stops_the_search(capsys: pytest.CaptureFixture[str]) -> None:
    assert not StateSearch(SMALL).run(states_max=50).exhausted
    assert command(["sim", "--explore", "figure-8", "--states-max", "50"]) == 7
    assert "more than 50 states" in capsys.readouterr().err


def test_the_command_prints_states_and_transitions(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["sim", "--explore", "replaced-disk"]) == 0
    words = capsys.readouterr().out.split()
    assert words[0] == "replaced-disk"
    assert words[2] == "states"
    assert words[4] == "transitions"


@pytest.mark.pure
def test_the_command_prints_the_shortest_trace_of_a_mutant(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ["sim", "--explore", "figure-8", "--mutant", "confirm_older_term"]
    assert command(given) == 6
    lines = capsys.readouterr().out.splitlines()
    assert "property 7" in lines[0]
    assert lines[1] == STEPS_HEADING
    assert lines[-1].endswith("from 1: AppendResponse t2 1")
    assert command([*given, "--json"]) == 6
    found = json.loads(capsys.readouterr().out.splitlines()[0])
    assert found["schema"] == "qsync/explore/1"
    assert found["broken"]["trace"] == lines[1:]


def test_the_command_lists_scopes_and_refuses_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["sim", "--explore", "list"]) == 0
    assert capsys.readouterr().out.split() == [*SETS, *EXPLORED]
    assert command(["sim", "--explore", "nothing"]) == 2
    assert command(["sim", "--explore", "quick", "--mutant", "nothing"]) == 2
